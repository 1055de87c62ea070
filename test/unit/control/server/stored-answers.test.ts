import { afterEach, expect, test } from "vitest";
import type { StateReport } from "../../../../src/control/state/state-status.ts";
import { ApiServer } from "../../../support/api-server.ts";

const REPORT: StateReport = {
  status: { kind: "working" },
  ...{ sessions: 0, records: 0, writes: 0, failedWrites: 0, writtenBytes: 0 },
  restored: { sessions: 0, players: 0 },
  setAside: undefined,
};

let server: ApiServer | undefined;

afterEach(async () => {
  await server?.close();
});

test("a node that stops gives no answer to what it was asked: it would not be true of the next process", async () => {
  let onAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  let store = (): void => undefined;
  const written = (): Promise<void> => {
    onAsked();
    return new Promise((resolve) => {
      store = resolve;
    });
  };
  server = await ApiServer.start({ state: { written, report: () => REPORT } });
  const { sessionId } = await server.connect();
  const answer = server.request("PATCH", `/v4/sessions/${sessionId}`, { body: { resuming: true } });
  await asked;
  server.sessions.disconnect();
  store();
  await expect(answer).rejects.toThrow("socket hang up");
  const path = `/v4/sessions/${sessionId}/players`;
  await expect(server.request("GET", path)).rejects.toThrow("socket hang up");
});

test("what changes something is answered when it is stored, what only asks is answered at once", async () => {
  const order: string[] = [];
  let store = (): void => undefined;
  let onAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const written = (): Promise<void> => {
    onAsked();
    return new Promise((resolve) => {
      store = resolve;
    });
  };
  server = await ApiServer.start({ state: { written, report: () => REPORT } });
  const { sessionId } = await server.connect();
  const path = `/v4/sessions/${sessionId}`;
  const changed = server.request("PATCH", path, { body: { resuming: true } }).then(({ status }) => {
    order.push(`changed ${status}`);
  });
  await asked;
  const { status } = await server.request("GET", `${path}/players`);
  order.push(`asked ${status}`);
  order.push("stored");
  store();
  await changed;
  expect(order).toEqual(["asked 200", "stored", "changed 200"]);
});
