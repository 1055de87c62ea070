import { expect, test } from "vitest";
import {
  linesWith,
  NOTHING_KNOWN,
  type PageState,
  withConnection,
  withMessage,
} from "../../../../dashboard/state/page-state.ts";
import { playerRow, stateMessage } from "../../../support/dashboard-messages.ts";

const HELLO = { type: "hello", role: "operator", version: "1.0.0", intervalMs: 1000 } as const;

function logged(state: PageState, ...texts: readonly string[]): PageState {
  const lines = texts.map((text) => ({ atMs: 1, level: "info" as const, text }));
  return withMessage(state, { type: "log", lines });
}

test("after the hello the page is live, in the role that the node says", () => {
  expect(withMessage(NOTHING_KNOWN, HELLO)).toMatchObject({ connection: { kind: "live" }, role: "operator" });
});

test("the page remembers its node's version when a node with another version answers", () => {
  const updated = withMessage(withMessage(NOTHING_KNOWN, HELLO), { ...HELLO, version: "1.1.0" });
  expect(updated).toMatchObject({ firstVersion: "1.0.0", version: "1.1.0" });
});

test("the last state stays when the connection is lost, and is removed at a log-out", () => {
  const seen = withMessage(NOTHING_KNOWN, stateMessage([playerRow(0)]));
  expect(withConnection(seen, { kind: "lost", sinceMs: 1 }).lines).toHaveLength(1);
  const out = withConnection(withMessage(seen, HELLO), { kind: "loggedOut" });
  expect(out).toEqual({ ...NOTHING_KNOWN, firstVersion: "1.0.0", connection: { kind: "loggedOut" } });
});

test("the log keeps its last thousand lines, each with a number that stays its own", () => {
  let state = NOTHING_KNOWN;
  for (let number = 1; number <= 1100; number += 1) state = logged(state, `line ${number}`);
  expect(state.log).toHaveLength(1000);
  expect(state.log[0]).toMatchObject({ number: 101, text: "line 101" });
});

test("lines are found by their text, in any case", () => {
  const { log } = logged(NOTHING_KNOWN, "Started", "lost");
  expect(linesWith(log, " LO ").map(({ text }) => text)).toEqual(["lost"]);
  expect(linesWith(log, "")).toBe(log);
});

test("a message of a kind that is not known changes nothing", () => {
  expect(withMessage(NOTHING_KNOWN, { type: "later" } as never)).toBe(NOTHING_KNOWN);
});
