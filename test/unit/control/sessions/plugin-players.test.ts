// What plugins are told of sessions and players, and what becomes of what they ask, with real sessions and players.

import { beforeEach, describe, expect, test } from "vitest";
import type { PlayerWish } from "../../../../src/bridge/plugin-players.ts";
import type { MirrorProvider } from "../../../../src/control/players/player-providers.ts";
import { PluginPlayers } from "../../../../src/control/sessions/plugin-players.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";
import { GUILD, WatchedPlayer } from "../../../support/watched-player.ts";

const TRACK = buildTrack({ title: "Harbour" });
const MIRROR = buildTrack({ title: "Harbour (Audio)", sourceName: "tunes" });

let watched: WatchedPlayer;

beforeEach(() => {
  watched = new WatchedPlayer();
});

describe("events", () => {
  test("tell of a session, its player and its tracks in their order", async () => {
    watched.session.configure({ resuming: true, timeout: 60 });
    await watched.play(TRACK);
    watched.workers.say({ type: "trackStuck", trackId: 1, thresholdMs: 10_000 });
    await watched.play(buildTrack({ title: "Low Tide" }));
    watched.session.socketClosed(watched.socket);
    watched.session.resume(new FakeSocket());
    await watched.destroy();
    watched.session.destroy();
    await settle();
    expect(watched.types).toEqual([
      "sessionOpened",
      "playerCreated",
      "trackStarted",
      "trackStuck",
      "trackEnded",
      "trackStarted",
      "sessionParked",
      "sessionResumed",
      "trackEnded",
      "playerDestroyed",
      "sessionClosed",
    ]);
    const { id: sessionId } = watched.session;
    const [opened, , started, stuck, replaced, second] = watched.events;
    expect(opened).toEqual({ type: "sessionOpened", sessionId, userId: "42", clientName: "bot/1" });
    expect(started).toMatchObject({ sessionId, guildId: GUILD, track: { info: { title: "Harbour" } } });
    expect(stuck).toMatchObject({ thresholdMs: 10_000, track: { info: { title: "Harbour" } } });
    expect(replaced).toMatchObject({ reason: "replaced", track: { info: { title: "Harbour" } } });
    const playIds = [started, replaced, second].map((event) => event && "playId" in event && event.playId);
    expect(playIds[1]).toBe(playIds[0]);
    expect(playIds[2]).not.toBe(playIds[0]);
  });

  test("tell of an exception, and of the track that plays in place of the client's", async () => {
    const mirror = { track: MIRROR, provider: "tsearch", score: 1, reasons: [] };
    const mirrors: MirrorProvider = {
      isNeeded: () => true,
      isFor: () => false,
      forget: () => undefined,
      count: () => undefined,
      find: async () => ({ mirror }),
    };
    watched = new WatchedPlayer({ mirrors });
    await watched.play(TRACK);
    await settle();
    expect(watched.types.slice(2)).toEqual(["trackStarted", "trackMirrored"]);
    const [started, mirrored] = watched.events.slice(2);
    expect(started).toMatchObject({ mirror: undefined });
    expect(mirrored).toMatchObject({ track: TRACK, mirror: MIRROR, playId: watched.playId });
    const error = { code: "internal", message: "gone", severity: "fault", cause: "", causeStackTrace: "" } as const;
    watched.workers.say({ type: "trackException", trackId: 2, error });
    expect(watched.events.at(-1)).toMatchObject({ type: "trackException", message: "gone", severity: "fault" });
  });
});

describe("wishes", () => {
  let answers: unknown[];
  let told: object[];
  let players: PluginPlayers;

  beforeEach(() => {
    [answers, told] = [[], []];
    players = new PluginPlayers({
      sessions: watched.sessions,
      events: { tellOne: (plugin, event, owner) => void told.push({ plugin: plugin.name, owner, ...event }) },
    });
  });

  /** The answer to a wish of a plugin for the player, or for that of another session or guild. */
  async function wish(own: object): Promise<unknown> {
    const asker = {
      plugin: { name: "skipper" },
      thread: { send: (command: object) => void answers.push(command) },
    } as unknown as Parameters<PluginPlayers["onPlayerEvent"]>[1]; // what it uses of them
    const whole = { sessionId: watched.session.id, guildId: GUILD, ...own } as PlayerWish;
    players.onPlayerEvent({ type: "playerWish", askId: 9, wish: whole }, asker);
    await settle();
    const answer = answers.pop() as { type: string; askId: number; result?: unknown; error?: { message: string } };
    expect(answer.askId).toBe(9);
    return answer.type === "wishDone" ? answer.result : answer.error?.message;
  }

  test("the state has what plays, and says what is not there", async () => {
    expect(await wish({ kind: "state", sessionId: "gone" })).toBeUndefined();
    expect(await wish({ kind: "state" })).toEqual({ kept: undefined, player: undefined });
    await watched.update({ volume: 50, isPaused: true });
    expect(await wish({ kind: "state" })).toMatchObject({ player: { volume: 50, isPaused: true, playing: undefined } });
    await watched.update({ trackChange: { kind: "play", track: TRACK }, positionMs: 2000 });
    expect(await wish({ kind: "state" })).toMatchObject({
      player: { playing: { playId: watched.playId, track: TRACK, mirror: undefined, positionMs: 2000 } },
    });
  });

  test("markers are set on the track that they are meant for, and come back with their notes", async () => {
    await watched.update({ trackChange: { kind: "play", track: TRACK }, positionMs: 500 });
    const { playId } = watched;
    const markers = [{ positionMs: 1000, skipToMs: 2000, note: "one" }, { positionMs: 3000 }];
    expect(await wish({ kind: "setMarkers", playId: playId + 1, markers })).toBeUndefined();
    expect(await wish({ kind: "setMarkers", guildId: "1", playId, markers })).toBeUndefined();
    expect(watched.workers.all("setMarkers")).toEqual([]);
    expect(await wish({ kind: "setMarkers", playId, markers })).toBe(500);
    expect(watched.workers.last("setMarkers").markers).toMatchObject([
      { positionMs: 1000, skipToMs: 2000 },
      { positionMs: 3000, skipToMs: undefined },
    ]);
    watched.pass([1000]);
    await watched.update({ trackChange: { kind: "stop" } });
    const own = { plugin: "skipper", type: "markerPassed", guildId: GUILD, playId };
    expect(told).toMatchObject([
      { ...own, note: "one", outcome: "reached", owner: ["address test", "address test, user 42"] },
    ]);
  });

  test("markers with their notes are memory of the session until they are replaced, or their track ends", async () => {
    await watched.play(TRACK);
    const { memory } = watched.session;
    const before = memory.usedBytes;
    const set = (count: number): Promise<unknown> => {
      const markers = Array.from({ length: count }, (_, positionMs) => ({ positionMs, note: "x".repeat(1000) }));
      return wish({ kind: "setMarkers", playId: watched.playId, markers });
    };
    await set(2);
    expect(memory.usedBytes).toBeGreaterThan(before + 2000);
    await set(0);
    expect(memory.usedBytes).toBe(before);
    await set(1501);
    expect(memory.usedBytes).toBe(before);
    await watched.play(TRACK);
    await set(3);
    await set(1);
    const onTrack = memory.usedBytes;
    await watched.play(TRACK);
    expect(memory.usedBytes).toBeLessThanOrEqual(onTrack - 1000);
    expect(memory.usedBytes).toBe(before);
    memory.take(memory.limitBytes - memory.usedBytes - 1000, "a test");
    expect(await set(1)).toMatch(/needs .* of memory for a plugin's markers/);
  });

  test("where memory is used up, markers can be replaced by ones that are not larger, and stay if others do not fit", async () => {
    await watched.play(TRACK);
    const { memory } = watched.session;
    const before = memory.usedBytes;
    const set = (length: number): Promise<unknown> => {
      return wish({
        kind: "setMarkers",
        playId: watched.playId,
        markers: [{ positionMs: 1, note: "x".repeat(length) }],
      });
    };
    await set(100);
    const takenBytes = memory.limitBytes - memory.usedBytes;
    memory.take(takenBytes, "a test");
    expect(await set(100)).toBe(0);
    expect(await set(101)).toMatch(/needs .* of memory for a plugin's markers/);
    expect(memory.usedBytes).toBe(memory.limitBytes);
    expect(watched.workers.all("setMarkers")).toHaveLength(2);
    expect(await set(1)).toBe(0);
    expect(memory.usedBytes).toBeLessThan(memory.limitBytes);
    memory.release(takenBytes);
    await watched.update({ trackChange: { kind: "stop" } });
    expect(memory.usedBytes).toBeLessThanOrEqual(before);
  });

  test("too many markers are refused with the reason", async () => {
    await watched.play(TRACK);
    const markers = Array.from({ length: 1501 }, (_, positionMs) => ({ positionMs }));
    const answer = await wish({ kind: "setMarkers", playId: watched.playId, markers });
    expect(answer).toBe("a track can have 1500 markers; these make 1501");
  });

  test("a change is applied as a client's update, but not to another track", async () => {
    await watched.play(TRACK);
    const { playId } = watched;
    expect(await wish({ kind: "update", change: { playId: playId + 1, volume: 1 } })).toBe(false);
    expect(await wish({ kind: "update", sessionId: "gone", change: { volume: 1 } })).toBe(false);
    expect(watched.player.toJson()).toMatchObject({ volume: 100 });
    expect(await wish({ kind: "update", change: { playId, volume: 40, isPaused: true, positionMs: 5000 } })).toBe(true);
    expect(watched.player.toJson()).toMatchObject({ volume: 40, paused: true, state: { position: 5000 } });
    expect(await wish({ kind: "update", change: { playId, isStopped: true } })).toBe(true);
    expect(watched.events.at(-1)).toMatchObject({ type: "trackEnded", reason: "stopped" });
  });

  test("a change that waited until its track was over changes nothing", async () => {
    await watched.play(TRACK);
    const { playId } = watched;
    const replaced = watched.play(buildTrack({ title: "Low Tide" }));
    expect(await wish({ kind: "update", change: { playId, isStopped: true } })).toBe(true);
    await replaced;
    expect(watched.player.toJson()).toMatchObject({ track: { info: { title: "Low Tide" } } });
  });

  test("a kept value is the plugin's own, counts as memory of the session, and goes with the player", async () => {
    const before = watched.session.memory.usedBytes;
    expect(await wish({ kind: "keep", sessionId: "gone", json: "[1]" })).toBe(false);
    expect(await wish({ kind: "keep", json: '["sponsor"]' })).toBe(true);
    expect(watched.session.memory.usedBytes).toBeGreaterThan(before);
    expect(watched.session.kept.get(GUILD, "other")).toBeUndefined();
    expect(await wish({ kind: "state" })).toEqual({ kept: ["sponsor"], player: undefined });
    await wish({ kind: "keep", json: undefined });
    expect(watched.session.memory.usedBytes).toBe(before);
    await wish({ kind: "keep", json: "1" });
    await watched.play(TRACK);
    expect(await wish({ kind: "state" })).toMatchObject({ kept: 1 });
    await watched.destroy();
    expect(await wish({ kind: "state" })).toEqual({ kept: undefined, player: undefined });
    expect(watched.session.memory.usedBytes).toBe(before);
  });

  test("where memory is used up, a value can be replaced by one that is not larger", async () => {
    const { memory } = watched.session;
    await wish({ kind: "keep", json: "12345" });
    memory.take(memory.limitBytes - memory.usedBytes, "a test");
    expect(await wish({ kind: "keep", json: "54321" })).toBe(true);
    expect(await wish({ kind: "keep", json: "123456" })).toMatch(/needs .* of memory/);
    expect(await wish({ kind: "state" })).toMatchObject({ kept: 54_321 });
    await wish({ kind: "keep", json: "1" });
    expect(memory.limitBytes - memory.usedBytes).toBe(8);
  });

  test("the events of a plugin reach its client, later if it is away, as events of their own types", async () => {
    const send = (eventType: string, sessionId = watched.session.id): void => {
      const event = { sessionId, guildId: GUILD, eventType, members: { segment: { start: 1 } } };
      players.onPlayerEvent({ type: "sendEvent", event }, {} as Parameters<PluginPlayers["onPlayerEvent"]>[1]);
    };
    send("SegmentSkipped");
    send("SegmentSkipped", "gone");
    const sent = { op: "event", type: "SegmentSkipped", guildId: GUILD, segment: { start: 1 } };
    expect(watched.socket.received.filter(({ op }) => op === "event")).toEqual([sent]);
    watched.session.configure({ resuming: true, timeout: 60 });
    watched.session.socketClosed(watched.socket);
    send("ChapterStarted");
    const next = new FakeSocket();
    watched.session.resume(next);
    expect(next.received.map(({ type }) => type)).toContain("ChapterStarted");
  });
});
