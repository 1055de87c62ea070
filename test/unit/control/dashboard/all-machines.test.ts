import { describe, expect, test } from "vitest";
import { CONTRACT_VERSION } from "../../../../src/cluster/machine.ts";
import type { ReportedMachine } from "../../../../src/control/cluster/machine-reports.ts";
import { withOtherMachines } from "../../../../src/control/dashboard/all-machines.ts";
import type { PlayerRow, StateMessage, ViewMessage } from "../../../../src/control/dashboard/live-messages.ts";
import type { MachineView } from "../../../../src/control/dashboard/machine-views.ts";
import { diagnosisOf, incidentOf, playerRow, stateMessage } from "../../../support/dashboard-messages.ts";

const VIEW: ViewMessage = {
  ...{ type: "view", filter: "", onlyTrouble: false, offset: 0, count: 100, focus: null },
  ...{ allMachines: true, logLevel: null },
};
const AT_MS = stateMessage([]).atMs;

function machine(name: string): ReportedMachine {
  return {
    ...{
      id: `id-${name}`,
      name,
      roles: ["audio"],
      regions: ["rotterdam"],
      version: "0.1.0",
      contract: CONTRACT_VERSION,
    },
    load: { players: 12, load: 0.25, loadPerPlayer: 0.01, hasCapacity: true, isDraining: false },
  };
}

const SELF = machine("b");

/** What is shown of this machine, `b`, and of others by their names; undefined: it does not answer. */
function joined(
  own: StateMessage,
  others: Readonly<Record<string, MachineView | undefined>>,
  { view = VIEW, agoMs = 0 } = {},
): StateMessage {
  const views = Object.entries(others).map(([name, other]) => ({
    machine: machine(name),
    view: other,
    reason: "no way",
  }));
  return withOtherMachines(own, { views, atMs: AT_MS - agoMs }, { self: SELF, gone: [], view });
}

const guildsOf = ({ players }: StateMessage) => players.rows.map(({ guildId }) => guildId);
const rowsOf = (...indices: readonly number[]): readonly PlayerRow[] => indices.map((index) => playerRow(index));

describe("the players of all machines", () => {
  test("are those of each, with its name where it is another one", () => {
    const { players } = joined(stateMessage(rowsOf(0, 1)), { a: stateMessage(rowsOf(2)) });
    expect(players).toMatchObject({ total: 3, matching: 3 });
    expect(players.rows.map(({ machine }) => machine)).toEqual([null, null, { id: "id-a", name: "a" }]);
  });

  test("begin with those that stutter, wherever they are", () => {
    const now = incidentOf({ start: AT_MS - 3000, isOver: false });
    const lately = incidentOf({ start: AT_MS - 60_000 });
    const longAgo = incidentOf({ start: AT_MS - 3_600_000 });
    const own = stateMessage([playerRow(0), playerRow(1, { lastIncident: lately })]);
    const other = stateMessage([playerRow(2, { lastIncident: longAgo }), playerRow(3, { lastIncident: now })]);
    expect(guildsOf(joined(own, { a: other }))).toEqual(rowsOf(3, 1, 0, 2).map(({ guildId }) => guildId));
  });

  test("are shown a page at a time", () => {
    const view = { ...VIEW, offset: 2, count: 2 };
    const state = joined(stateMessage(rowsOf(0, 1, 2)), { a: stateMessage(rowsOf(3, 4)) }, { view });
    expect(guildsOf(state)).toEqual(rowsOf(2, 3).map(({ guildId }) => guildId));
    expect(state.players.matching).toBe(5);
  });

  test("are where they are by now, those that move", () => {
    const streaming = playerRow(9);
    const ending = playerRow(3, { positionMs: 152_500 });
    const rows = [playerRow(1), playerRow(2, { isPaused: true }), ending, streaming, playerRow(5, { mode: "opening" })];
    const { players } = joined(stateMessage([]), { a: stateMessage(rows) }, { agoMs: 1500 });
    expect(players.rows.map(({ positionMs }) => positionMs)).toEqual([2500, 2000, 153_000, 10_500, 5000]);
  });

  test("are there once while they move from one machine to another", () => {
    expect(guildsOf(joined(stateMessage(rowsOf(0)), { a: stateMessage(rowsOf(0)) }))).toHaveLength(1);
  });
});

test("the player of a page is found on the machine that it is on", () => {
  const focus = diagnosisOf(playerRow(3), AT_MS);
  expect(joined(stateMessage([]), { a: stateMessage([]), c: stateMessage([], { focus }) }).focus).toBe(focus);
});

test("a session of several machines is one, connected where its client is, with all of its players", () => {
  const [session] = stateMessage([]).sessions;
  if (session === undefined) throw new Error("there is a session");
  const away = { ...session, isConnected: false, connection: null, players: 3, playing: 2 };
  const { sessions } = joined(stateMessage([], { sessions: [away] }), { a: stateMessage([], { sessions: [session] }) });
  expect(sessions).toEqual([{ ...session, players: session.players + 3, playing: session.playing + 2 }]);
});

describe("the list of machines", () => {
  test("is by name, with what each says, and what those that do not answer said last", () => {
    const own = stateMessage(rowsOf(0, 1), { isDraining: true });
    const { machines } = joined(own, { c: stateMessage(rowsOf(2)), a: undefined });
    expect(machines).toMatchObject([
      {
        ...{ name: "a", isThis: false, troubles: ["does not answer: no way"], players: 12, load: 0.25 },
        ...{ playing: null, cpu: null, uptimeMs: null, hasCapacity: true },
      },
      { name: "b", isThis: true, troubles: [], players: 2, playing: 2, isDraining: true, cpu: 0.17 },
      { name: "c", isThis: false, troubles: [], players: 1, playing: 1, isDraining: false, regions: ["rotterdam"] },
    ]);
  });

  test("says of each what is wrong with it", () => {
    const sinceEpochMs = AT_MS;
    const { load } = stateMessage([]);
    const unwell = stateMessage([], {
      stored: { kind: "off", reason: "no space left" },
      cluster: { status: { kind: "away", reason: "no NATS", sinceEpochMs }, machineCount: 1 },
      load: { ...load, hasCapacity: false },
    });
    const { machines } = joined(stateMessage([]), { c: unwell, d: { ...unwell, isDraining: true } });
    expect(machines?.map(({ troubles }) => troubles)).toEqual([
      [],
      [
        "does not store sessions: no space left",
        "is not joined to the cluster (away): no NATS",
        "has no capacity: new players are refused",
      ],
      ["does not store sessions: no space left", "is not joined to the cluster (away): no NATS"],
    ]);
  });

  test("has those that are gone, too", () => {
    const gone = [{ machine: machine("a"), sinceEpochMs: 5 }];
    const others = { views: [], atMs: AT_MS };
    const { machines } = withOtherMachines(stateMessage([]), others, { self: SELF, gone, view: VIEW });
    expect(machines).toMatchObject([
      { name: "a", goneSinceMs: 5, players: null, load: null, troubles: [] },
      { name: "b", goneSinceMs: null },
    ]);
  });
});
