import { expect, test } from "vitest";
import { ApiServer } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("a client that requests one bundle after the other is rate limited, and others are answered", async () => {
  const clock = new FakeClock();
  const server = await ApiServer.start({ clock });
  const ask = async () => (await server.request("GET", "/v4/tonearm/support")).status;
  for (let count = 0; count < 10; count++) expect(await ask()).toBe(200);
  const refused = await server.request("GET", "/v4/tonearm/support");
  expect(refused).toMatchObject({ status: 429, json: { message: expect.stringContaining("wait five seconds") } });
  expect(refused.headers["retry-after"]).toBe("5");
  expect((await server.request("GET", "/v4/info")).status).toBe(200);
  clock.advance(5000);
  expect([await ask(), await ask()]).toEqual([200, 429]);
  await server.close();
});
