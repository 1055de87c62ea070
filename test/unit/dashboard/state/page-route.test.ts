import { expect, test } from "vitest";
import { type PageRoute, parseRoute, viewOf, writeRoute } from "../../../../dashboard/state/page-route.ts";

const ALL: PageRoute = { page: "players", filter: "", onlyTrouble: false, number: 1 };
const ROUTES: readonly PageRoute[] = [
  ALL,
  { page: "players", filter: "a & b/ü#?", onlyTrouble: true, number: 3 },
  { page: "player", sessionId: "s/1?", guildId: "1234" },
  { page: "node" },
  { page: "sources" },
  { page: "sessions" },
  { page: "log", level: "info" },
  { page: "log", level: "error" },
];

test.each(ROUTES)("an address leads back to its page: %j", (route) => {
  expect(parseRoute(writeRoute(route))).toEqual(route);
});

test.each(["", "#", "#/", "#/nothing", "#/players?page=0", "#/players?page=x", "#/players?page=1e99", "#/%zz"])(
  "%s is all players",
  (hash) => expect(parseRoute(hash)).toEqual(ALL),
);

test("an unknown log level becomes the default, and the filter's length is bounded", () => {
  expect(parseRoute("#/log?level=loud")).toEqual({ page: "log", level: "info" });
  expect(parseRoute(`#/players?q=${"x".repeat(500)}`)).toMatchObject({ filter: "x".repeat(100) });
});

test("the view requests exactly what the page shows", () => {
  const number3 = viewOf({ page: "players", filter: "a", onlyTrouble: true, number: 3 });
  expect(number3).toMatchObject({ filter: "a", onlyTrouble: true, offset: 200, count: 100, logLevel: null });
  const playerReference = { sessionId: "s", guildId: "1" };
  expect(viewOf({ page: "player", ...playerReference })).toMatchObject({
    focus: playerReference,
    filter: "1",
    offset: 0,
  });
  expect(viewOf({ page: "node" })).toMatchObject({ count: 1, focus: null, logLevel: null });
  expect(viewOf({ page: "log", level: "warn" })).toMatchObject({ count: 1, logLevel: "warn" });
});
