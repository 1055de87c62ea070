import { describe, expect, test } from "vitest";
import {
  keepSame,
  type Movement,
  movementsOf,
  playerLines,
  positionAt,
} from "../../../../dashboard/state/player-line.ts";
import { HOSTILE_TITLE, incidentOf, playerRow, stateMessage } from "../../../support/dashboard-messages.ts";

const NOW = 1_700_000_000_000;

describe("lines", () => {
  test("say in words what a row is", () => {
    const [line] = playerLines(stateMessage([playerRow(0)]));
    expect(line).toMatchObject({
      title: "Midnight in Lisbon 0",
      author: "The Long Way",
      length: "2:30",
      requester: "mia",
      client: "night-bot/2.1",
      worker: "0",
      cost: "0.4 %",
      mode: "passed through",
      state: "playing",
      trouble: "",
    });
  });

  test("name a client that does not by its bot, and one that is not there not at all", () => {
    const [second, gone] = playerLines(stateMessage([playerRow(1), playerRow(2, { sessionId: "s9" })]));
    expect([second?.client, gone?.client]).toEqual(["bot 802", "?"]);
  });

  test.each([
    ["empty", { track: null }],
    ["paused", { isPaused: true, isConnected: false }],
    ["no voice", { isConnected: false }],
    ["opening", { mode: null }],
    ["opening", { mode: "opening" }],
    ["playing", {}],
  ] as const)("are %s with %j", (state, changes) => {
    expect(playerLines(stateMessage([playerRow(0, changes)]))[0]?.state).toBe(state);
  });

  test("players with trouble come first, those with an ongoing incident before all; the others keep their order", () => {
    const rows = [
      playerRow(0),
      playerRow(1, { lastIncident: incidentOf({ start: NOW - 60_000 }) }),
      playerRow(2, { lastIncident: incidentOf({ start: NOW - 700_000 }) }),
      playerRow(3, { lastIncident: incidentOf({ start: NOW - 60_000, isOver: false, cause: "inputStarved" }) }),
    ];
    const lines = playerLines(stateMessage(rows, { atMs: NOW }));
    expect(lines.map(({ guildId }) => guildId)).toEqual([3, 1, 0, 2].map((index) => playerRow(index).guildId));
    expect(lines.map(({ trouble }) => trouble)).toEqual([
      ...["file slow to read, now", "network slow, 50 s ago", "", ""],
    ]);
  });

  test("a line contains no more of an untrusted text than is shown", () => {
    const track = playerRow(0).track;
    const [line] = playerLines(stateMessage([playerRow(0, { track: track && { ...track, title: HOSTILE_TITLE } })]));
    expect(line?.title?.length).toBe(301);
  });

  test("that look the same are the same object, whatever their position and memory", () => {
    const before = playerLines(stateMessage([playerRow(0), playerRow(1)]));
    const moved = [playerRow(0, { positionMs: 9000, heldBytes: 7, cost: 0.0041 }), playerRow(1, { isPaused: true })];
    const [same, changed] = keepSame(before, playerLines(stateMessage(moved)));
    expect(same).toBe(before[0]);
    expect(changed).not.toBe(before[1]);
    expect(changed?.state).toBe("paused");
  });
});

describe("a position", () => {
  const movement: Movement = { atMs: 1000, positionMs: 5000, lengthMs: 8000, isMoving: true };

  test("moves with the node's clock, to the end and never back", () => {
    expect([500, 1000, 2500, 9000].map((nowMs) => positionAt(movement, nowMs))).toEqual([5000, 5000, 6500, 8000]);
  });

  test("of a stream has no end, and of a paused player stands", () => {
    expect(positionAt({ ...movement, lengthMs: null }, 9000)).toBe(13_000);
    expect(positionAt({ ...movement, isMoving: false }, 9000)).toBe(5000);
  });

  test("a position moves only while audio is rendered and sent", () => {
    const rows = [playerRow(0), playerRow(9), playerRow(2, { isConnected: false }), playerRow(3, { mode: "opening" })];
    const movements = [...movementsOf(stateMessage(rows)).values()];
    expect(movements.map(({ isMoving }) => isMoving)).toEqual([true, true, false, false]);
    expect(movements.map(({ lengthMs }) => lengthMs)).toEqual([150_000, null, 152_000, 153_000]);
  });
});
