import { expect, test } from "vitest";
import { loadOfMachine } from "../../../../src/observability/status/node-load.ts";

test("a machine says how many players it has, of all sessions, and that it drains", () => {
  const pool = { load: 0.25, loadPerPlayer: 0.004, hasCapacity: true };
  const sessions = [
    { players: new Map([["1", {}]]) },
    { players: new Map() },
    {
      players: new Map([
        ["2", {}],
        ["3", {}],
      ]),
    },
  ];
  const load = loadOfMachine(pool, { all: () => sessions, isDraining: true });
  expect(load).toEqual({ ...pool, players: 3, isDraining: true });
});
