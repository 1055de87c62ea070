import { expect, test } from "vitest";
import { NodeError } from "../../../../src/errors.ts";
import { ApiServer } from "../../../support/api-server.ts";

test.each(["cluster-away", "machine-gone"] as const)(
  "a request that fails with %s is answered with 503, the reason and a time to wait",
  async (code) => {
    const load = () => Promise.reject(new NodeError(code, "the machine of this session does not answer"));
    const server = await ApiServer.start({ load });
    const { status, headers, json } = await server.request("GET", "/v4/loadtracks?identifier=x");
    expect([status, headers["retry-after"]]).toEqual([503, "2"]);
    expect(json.message).toBe("the machine of this session does not answer");
    await server.close();
  },
);

test("other failures of the environment name no time to wait", async () => {
  const load = () => Promise.reject(new NodeError("load-busy", "too many"));
  const server = await ApiServer.start({ load });
  const { status, headers } = await server.request("GET", "/v4/loadtracks?identifier=x");
  expect([status, headers["retry-after"]]).toEqual([503, undefined]);
  await server.close();
});
