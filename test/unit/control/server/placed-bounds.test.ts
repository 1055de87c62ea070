import { afterAll, beforeEach, expect, test } from "vitest";
import { PASSWORD_HOLDER } from "../../../../src/control/access/identity.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import { ONE_PLACE, type PlayerHold, type SessionPlaces } from "../../../../src/control/cluster/session-places.ts";
import { readAnswer, writeAnswer } from "../../../../src/control/server/forwarded-form.ts";
import { PlacedRequests } from "../../../../src/control/server/placed-requests.ts";
import { passedText, RequestPassing } from "../../../../src/control/server/request-passing.ts";
import { type RouteCall, RouteCalls } from "../../../../src/control/server/route-calls.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { TaskSlicer } from "../../../../src/lib/task-slicer.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { createSessions, playersInto } from "../../../support/session-builders.ts";

const MEBIBYTE = 1024 * 1024;
const DONE = writeAnswer({ kind: "answered", status: 204, headers: {}, body: undefined });
const sessions = createSessions({ clock: systemClock, createPlayer: playersInto([]) });
const SESSION_ID = sessions.open(new FakeSocket(), {
  ...{ userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner: undefined, account: "a" },
}).id;

afterAll(() => sessions.close());

/** How often a player was changed here. */
let handled: number;
/** The players that are here. */
let list: string;
let released: Parameters<PlayerHold["release"]>[0][];

beforeEach(() => {
  handled = 0;
  list = "[]";
  released = [];
});

const PATCH: RouteCall["route"] = {
  ...{ method: "PATCH", path: "/v4/sessions/:sessionId/players/:guildId" },
  handle: () => {
    handled++;
    return { kind: "empty", status: 204 };
  },
};
const LIST: RouteCall["route"] = {
  ...{ method: "GET", path: "/v4/sessions/:sessionId/players", isPlayerList: true },
  handle: () => ({ kind: "text", text: list, contentType: "application/json", status: 200 }),
};

/** A machine with these places; `calls` carries out without them. */
function machine(places: Partial<SessionPlaces>) {
  const slicer = new TaskSlicer(systemClock);
  const context = { clock: systemClock, slicer, logger: silentLogger, written: () => undefined, sessions };
  const all: SessionPlaces = { ...ONE_PLACE, ...places };
  const calls = new RouteCalls({ context, untilReady: () => undefined, isClosing: () => false, places: all });
  const keys = { named: () => undefined };
  const passing = new RequestPassing({ context, keys, routes: [PATCH, LIST], pluginRoutes: { routes: [] } });
  return { placed: new PlacedRequests({ context, calls, passing, places: all }), calls, passing };
}

function callOf(route: RouteCall["route"], gone = new AbortController(), address = "192.0.2.1"): RouteCall {
  const guild = route === LIST ? {} : { guildId: "1" };
  return {
    ...{ route, method: route.method, target: "/", headers: {}, body: "", identity: PASSWORD_HOLDER, address },
    ...{ segments: { sessionId: SESSION_ID, ...guild }, signal: gone.signal, asker: undefined },
  };
}

function holdOn(machineId: string | undefined): SessionPlaces["holdPlayer"] {
  return () => Promise.resolve({ machineId, release: (outcome) => void released.push(outcome) });
}

test.each([PATCH, LIST])(
  "without a cluster a request is carried out at once, and not a step later: $method",
  async (route) => {
    const { placed, calls } = machine({});
    const order: string[] = [];
    const first = placed.answer(callOf(route)).then(() => order.push("placed"));
    if (route === PATCH) expect(handled).toBe(1);
    const second = calls.answer(callOf(route)).then(() => order.push("plain"));
    await Promise.all([first, second]);
    expect(order).toEqual(["placed", "plain"]);
  },
);

test("the body of a request is not looked at for a player that is here", async () => {
  let isRead = false;
  const call = {
    ...callOf(PATCH),
    get body() {
      isRead = true;
      return "";
    },
  };
  await machine({ holdPlayer: () => undefined }).placed.answer(call);
  expect(isRead).toBe(false);
});

test("places that fail at once are a failed request", async () => {
  const holdPlayer = () => {
    throw new Error("broken");
  };
  expect((await machine({ holdPlayer }).placed.answer(callOf(PATCH)))?.status).toBe(500);
});

test("a client that disconnects is waited for no longer, while its player is held until the work is over", async () => {
  const gone = new AbortController();
  let finish = (_answer: string): void => undefined;
  const callPlayer = () =>
    new Promise<string>((resolve) => {
      finish = resolve;
      gone.abort(new Error("gone"));
    });
  const { placed } = machine({ holdPlayer: holdOn("far"), callPlayer });
  await placed.answer(callOf(PATCH, gone));
  expect(released).toEqual([]);
  finish(DONE);
  await expect.poll(() => released).toEqual([{ mayBeGone: false }]);
});

test("a client that has disconnected before its player was held is served all the same", async () => {
  const gone = new AbortController();
  gone.abort(new Error("gone"));
  let count = 0;
  const callPlayer = async () => {
    count++;
    return DONE;
  };
  await machine({ holdPlayer: holdOn("far"), callPlayer }).placed.answer(callOf(PATCH, gone));
  expect(count).toBe(1);
  await expect.poll(() => released).toHaveLength(1);
});

test("the lists of machines are held for one account until they are sent", async () => {
  const body = Buffer.from(`["${"x".repeat(13 * MEBIBYTE)}"]`);
  const callPlayer = async () => writeAnswer({ kind: "answered", status: 200, headers: {}, body });
  const { placed } = machine({ callPlayer, playerMachines: () => ["b", "c"] });
  const gone = new AbortController();
  const ask = async () => (await placed.answer(callOf(LIST, gone)))?.status;
  expect([await ask(), await ask()]).toEqual([200, 503]);
  expect((await placed.answer(callOf(LIST, undefined, "192.0.2.2")))?.status).toBe(503);
  gone.abort();
  expect((await placed.answer(callOf(LIST)))?.status).toBe(200);
});

test("the lists of machines are held for another machine until they are passed back", async () => {
  const body = Buffer.from(`["${"x".repeat(13 * MEBIBYTE)}"]`);
  const callPlayer = async () => writeAnswer({ kind: "answered", status: 200, headers: {}, body });
  const { placed, passing } = machine({ callPlayer, playerMachines: () => ["b", "c"] });
  const receiver = { isHere: () => true, answer: (call: RouteCall) => placed.answer(call) };
  for (const _time of ["first", "second", "third"]) {
    expect(readAnswer(await passing.receive(passedText(callOf(LIST)), receiver))).toMatchObject({ status: 200 });
  }
});

test.each<[string, string, readonly string[], string]>([
  ["none", "[]", ["[]"], "[]"],
  ["own", "[1]", ["[]", "[]"], "[1]"],
  ["one elsewhere", "[]", ["[]", "[2]"], "[2]"],
  ["some everywhere", "[1,2]", ["[3]", "[]", "[4,5]"], "[1,2,3,4,5]"],
])("lists are joined as they are: %s", async (_what, own, others, joined) => {
  list = own;
  const callPlayer: SessionPlaces["callPlayer"] = async (index) => {
    const body = Buffer.from(others[Number(index)] ?? "");
    return writeAnswer({ kind: "answered", status: 200, headers: {}, body });
  };
  const { placed } = machine({ callPlayer, playerMachines: () => others.map((_, index) => String(index)) });
  const made = await placed.answer(callOf(LIST));
  expect([made?.status, String(made?.body)]).toEqual([200, joined]);
});

test("the first answer that is no list is the answer, whatever the others are", async () => {
  const callPlayer: SessionPlaces["callPlayer"] = async (name) =>
    writeAnswer({ kind: "answered", status: name === "b" ? 200 : 429, headers: {}, body: Buffer.from("[]") });
  const { placed } = machine({ callPlayer, playerMachines: () => ["b", "c"] });
  expect(await placed.answer(callOf(LIST))).toMatchObject({ status: 429, logged: { machine: "c" } });
});
