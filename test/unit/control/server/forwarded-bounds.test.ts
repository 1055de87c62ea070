import { beforeEach, expect, test } from "vitest";
import { PASSWORD_HOLDER } from "../../../../src/control/access/identity.ts";
import { writeAnswer, writeRequest } from "../../../../src/control/server/forwarded-form.ts";
import { ForwardedRequests } from "../../../../src/control/server/forwarded-requests.ts";
import type { MadeAnswer } from "../../../../src/control/server/made-answer.ts";
import { RequestPassing } from "../../../../src/control/server/request-passing.ts";
import type { RouteCall } from "../../../../src/control/server/route-calls.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { TaskSlicer } from "../../../../src/lib/task-slicer.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { JoinedPlaces, type TestPlaces } from "../../../support/joined-places.ts";

const MEBIBYTE = 1024 * 1024;
const PATH = "/v4/sessions/:sessionId";
const ROUTE: RouteCall["route"] = { method: "PATCH", path: PATH, handle: () => ({ kind: "empty", status: 204 }) };
const REQUEST = {
  ...{ method: "PATCH", path: PATH, segments: { sessionId: "s" }, target: "/v4/sessions/s" },
  ...{ headers: {}, key: null, address: "192.0.2.1", body: "" },
};

let places: TestPlaces;
let forwarded: ForwardedRequests;
/** What this machine does with a request that was passed on to it. */
let answerHere: (call: RouteCall) => Promise<MadeAnswer | undefined>;

beforeEach(() => {
  places = new JoinedPlaces().of("here");
  answerHere = async () => ({ status: 204, headers: {}, body: undefined });
  const context = { clock: systemClock, slicer: new TaskSlicer(systemClock), logger: silentLogger };
  const keys = { named: () => undefined };
  const passing = new RequestPassing({ context, keys, routes: [ROUTE], pluginRoutes: { routes: [] } });
  const calls = { machineOf: () => undefined };
  const placed = { answer: (call: RouteCall) => answerHere(call) };
  forwarded = new ForwardedRequests({ context, calls, placed, passing, places, isClosing: () => false });
});

/** A request of a client that disconnects when `gone` aborts. */
function ask(gone: AbortController, address = "192.0.2.1"): Promise<MadeAnswer | undefined> {
  const { path: _path, key: _key, ...sent } = REQUEST;
  const call = { ...sent, address, route: ROUTE, identity: PASSWORD_HOLDER, signal: gone.signal, asker: undefined };
  return forwarded.answer(call, "here");
}

test("a client that disconnects is waited for no longer, and its request is carried out all the same", async () => {
  const gone = new AbortController();
  let finish = (): void => undefined;
  let signal: AbortSignal | undefined;
  const finished = new Promise<void>((resolve) => {
    answerHere = (call) => {
      ({ signal } = call);
      gone.abort(new Error("gone"));
      return new Promise((answer) => {
        finish = () => {
          answer({ status: 204, headers: {}, body: undefined });
          resolve();
        };
      });
    };
  });
  await ask(gone);
  expect(signal?.aborted).toBe(false);
  finish();
  await finished;
});

test("answers of 48 MiB are held for one account until they are sent, and for another one more", async () => {
  const body = Buffer.alloc(15 * MEBIBYTE, "x");
  places.onSent = async () => writeAnswer({ kind: "answered", status: 200, headers: {}, body });
  const gone = new AbortController();
  for (let count = 0; count < 3; count++) expect((await ask(gone))?.status).toBe(200);
  const statusFor = async (address?: string) => (await ask(new AbortController(), address))?.status;
  expect(await statusFor()).toBe(503);
  expect(await statusFor("192.0.2.2")).toBe(200);
  gone.abort();
  expect(await statusFor()).toBe(200);
});

test("requests of 48 MiB are held for one account until they are carried out", async () => {
  const body = "x".repeat(4 * MEBIBYTE - 1024);
  const text = writeRequest({ ...REQUEST, body });
  const receive = (request: string) => places.call("here", request);
  let finish = (): void => undefined;
  const held = new Promise<undefined>((resolve) => {
    finish = () => resolve(undefined);
  });
  answerHere = async () => {
    await held;
    return { status: 204, headers: {}, body: undefined };
  };
  const waiting = Array.from({ length: 12 }, () => receive(text));
  await expect(receive(text)).rejects.toMatchObject({ code: "requests-busy" });
  finish();
  expect(new Set(await Promise.all(waiting)).size).toBe(1);
  expect(await receive(text)).toContain("204");
});
