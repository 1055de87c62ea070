import { expect, test } from "vitest";
import type { RestRequest } from "../../../../src/control/api/route.ts";
import { supportRoutes } from "../../../../src/control/api/support-routes.ts";
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

test("a key that requests bundles leaves some to the others", async () => {
  const routes = supportRoutes({ readSupport: async () => "text", clock: new FakeClock() });
  const ask = async (account: string): Promise<number> => {
    const request = { query: new Map(), owner: [account] } as unknown as RestRequest;
    try {
      await routes[0]!.handle(request);
      return 200;
    } catch (error) {
      return (error as { status: number }).status;
    }
  };
  for (let count = 0; count < 30; count++) await ask("key a");
  expect([await ask("key a"), await ask("key b")]).toEqual([429, 200]);
});
