import { beforeEach, expect, test } from "vitest";
import { UNLIMITED } from "../../../../../src/control/access/identity.ts";
import { V3Operations } from "../../../../../src/control/api/v3/operations.ts";
import { createV3Protocol } from "../../../../../src/control/api/v3/socket-protocol.ts";
import type { Session } from "../../../../../src/control/sessions/session.ts";
import { silentLogger } from "../../../../../src/log/log.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import type { FakeSessionPlayer } from "../../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../../support/fake-socket.ts";
import { createSessions, EMPTY_UPDATE, playersInto } from "../../../../support/session-builders.ts";

const CONTEXT = { limitsOf: () => UNLIMITED, disabledFilters: new Set<string>(), logger: silentLogger };

let players: FakeSessionPlayer[];
let session: Session;
let operations: V3Operations;

beforeEach(() => {
  players = [];
  const sessions = createSessions({ clock: new FakeClock(), createPlayer: playersInto(players) });
  session = sessions.open(new FakeSocket(), {
    userId: "1",
    clientName: undefined,
    owner: undefined,
    account: "address test",
    dialect: createV3Protocol(CONTEXT),
  });
  operations = new V3Operations(CONTEXT);
});

function say(operation: object): void {
  operations.onText(session, JSON.stringify(operation));
}

/** Lets everything that waits for promises only run its course. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A guild whose player is being destroyed until `leave` is called: operations for it wait. */
async function leavingGuild(guildId: string): Promise<{ leave: () => void }> {
  await session.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
  let leave: () => void = () => undefined;
  const player = players.at(-1)!; // made just now
  player.goodbye = new Promise((resolve) => {
    leave = resolve;
  });
  void session.destroyPlayer(guildId);
  return { leave };
}

test("above the bound waiting operations are dropped, but none that destroys a player", async () => {
  const { leave } = await leavingGuild("7");
  await session.updatePlayer("8", EMPTY_UPDATE, { isReplacing: true });
  for (let volume = 0; volume < 1000; volume++) say({ op: "volume", guildId: "7", volume });
  say({ op: "volume", guildId: "8", volume: 5 });
  say({ op: "destroy", guildId: "8" });
  await settle();
  expect(players[1]).toMatchObject({ updates: [EMPTY_UPDATE], isDestroyed: true });
  leave();
  await settle();
  expect(players[2]?.updates.map(({ volume }) => volume)).toEqual(Array.from({ length: 1000 }, (_, volume) => volume));
});

test("the end of a player that is asked for again and again waits once", async () => {
  const { leave } = await leavingGuild("7");
  say({ op: "volume", guildId: "7", volume: 1 });
  for (let count = 0; count < 5000; count++) say({ op: "destroy", guildId: "7" });
  leave();
  await settle();
  expect(players.map(({ isDestroyed }) => isDestroyed)).toEqual([true, true]);
});

test("waiting operations count in the memory of the session", async () => {
  const { leave } = await leavingGuild("7");
  const beforeBytes = session.memory.usedBytes;
  const filler = "x".repeat(10_000);
  for (let count = 0; count < 100; count++) say({ op: "volume", guildId: "7", volume: 1, filler });
  expect(session.memory.usedBytes - beforeBytes).toBeGreaterThan(1_000_000);
  session.memory.take(session.memory.limitBytes - session.memory.usedBytes, "the test");
  say({ op: "volume", guildId: "7", volume: 2 });
  leave();
  await settle();
  expect(players[1]?.updates.map(({ volume }) => volume)).toEqual(new Array(100).fill(1));
  session.memory.release(session.memory.limitBytes - beforeBytes - 1_000_000);
  expect(session.memory.usedBytes).toBeLessThan(beforeBytes + 1_000_000);
});

test("an operation with too many values, or bands, is rejected without a full check", async () => {
  const bands = new Array(257).fill({ band: 0, gain: 0.1 });
  say({ op: "equalizer", guildId: "7", bands });
  say({ op: "volume", guildId: "7", volume: 1, filler: new Array(5000).fill(0) });
  await settle();
  expect(players).toEqual([]);
  say({ op: "equalizer", guildId: "7", bands: bands.slice(1) });
  await settle();
  expect(players[0]?.updates[0]?.filters?.equalizer).toHaveLength(256);
});

test("a track that cannot be decoded makes no player", async () => {
  say({ op: "play", guildId: "7", track: "!!!", volume: 5 });
  await settle();
  expect(players).toEqual([]);
});
