import { afterEach, beforeEach, expect, test } from "vitest";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { PluginRest } from "../../../../src/plugin-host/manage/plugin-rest.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { PluginThreadsBench } from "../../../support/plugin-threads-bench.ts";

const ROUTE = { method: "GET", summary: "x", access: "client", query: {}, body: undefined } as const;
const ROOMS = manifestOf("rooms", {
  routes: [
    { ...ROUTE, path: "/v4/rooms/a" },
    { ...ROUTE, path: "/v4/rooms/b" },
  ],
});
const REQUEST = { segments: {}, query: { limit: 1 }, body: {}, owner: ["address test"] };
const ONLY_SONGS = allowedSources({ name: "bot", limits: { ...UNLIMITED, sources: new Set(["songs"]) } });

let clock: FakeClock;
let bench: PluginThreadsBench;
let rest: PluginRest;

beforeEach(() => {
  clock = new FakeClock();
  bench = new PluginThreadsBench(clock, [manifestOf("songs"), ROOMS]);
  rest = new PluginRest(() => bench.plugins.working);
});
afterEach(() => bench.plugins.close());

test("a route is served by the thread of its plugin, for the client and the sources that it may use", async () => {
  const [, second] = rest.list();
  expect(rest.list().map(({ manifest }) => manifest.path)).toEqual(["/v4/rooms/a", "/v4/rooms/b"]);
  const { signal } = new AbortController();
  const served = second?.serve({ ...REQUEST, allowed: ONLY_SONGS, signal });
  await settle();
  expect(bench.threadOf("rooms").all("serve")).toMatchObject([
    { route: { method: "GET", path: "/v4/rooms/b", access: "client" }, ...REQUEST, sources: ["songs"] },
  ]);
  await bench.threadOf("rooms").reply({ kind: "served", status: 200, json: { a: 1 } });
  expect(await served).toEqual({ kind: "served", status: 200, json: { a: 1 } });
});

test("a route that does not answer is given up after 15 s, and so is one whose client has gone", async () => {
  const [first] = rest.list();
  const abort = new AbortController();
  const serve = () => first?.serve({ ...REQUEST, allowed: undefined, signal: abort.signal }).catch((error) => error);
  const slow = serve();
  await settle();
  clock.advance(15_000);
  expect(await slow).toMatchObject({ code: "load-timeout" });
  const gone = serve();
  abort.abort(new Error("gone"));
  expect(await gone).toMatchObject({ message: "gone" });
});
