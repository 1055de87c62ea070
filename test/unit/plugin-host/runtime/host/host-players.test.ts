// What a plugin gets to know of sessions and players, and what it may ask of them.

import { beforeEach, describe, expect, test } from "vitest";
import type { OwnNodeEvent, PlayerWish, SentEvent } from "../../../../../src/bridge/plugin-players.ts";
import { createLogger } from "../../../../../src/log/log.ts";
import type { ClientEvent, NodeEvent, PlayerChange, TrackMarker } from "../../../../../src/plugin-api/plugin.ts";
import { currentOwners } from "../../../../../src/plugin-host/runtime/current-work.ts";
import { HostPlayers } from "../../../../../src/plugin-host/runtime/host/host-players.ts";
import { settle } from "../../../../support/fake-workers.ts";
import { buildTrack } from "../../../../support/track-builder.ts";

const OWNER = ["key bot", "key bot, user 1"];
const PLAYER = { sessionId: "s", guildId: "7" };
const TRACK = buildTrack({ title: "Harbour", sourceName: "songs", identifier: "1" });
const MIRROR = buildTrack({ sourceName: "tunes", identifier: "2" });

let wishes: PlayerWish[];
let sent: SentEvent[];
let lines: string[];
let result: unknown;
let players: HostPlayers;

beforeEach(() => {
  [wishes, sent, lines, result] = [[], [], [], undefined];
  players = new HostPlayers({
    log: createLogger((_level, message) => lines.push(message)),
    ask: async (wish) => {
      wishes.push(structuredClone(wish));
      return result as never; // as the test says
    },
    send: (event) => sent.push(structuredClone(event)),
  });
});

describe("listeners", () => {
  test("each gets every event in order, with tracks as sources know them, as work for the player's client", () => {
    const heard: NodeEvent[] = [];
    const owners: unknown[] = [];
    players.addListener((event) => heard.push(event));
    players.addListener(() => owners.push(currentOwners().all));
    const started = { type: "trackStarted", ...PLAYER, playId: 3, track: TRACK, mirror: MIRROR } as const;
    const created = { type: "playerCreated", ...PLAYER } as const;
    players.tell([created, started].map((event: OwnNodeEvent) => ({ event, owner: OWNER })));
    expect(heard).toMatchObject([
      created,
      {
        ...PLAYER,
        playId: 3,
        track: { title: "Harbour", sourceName: "songs", identifier: "1", encoded: TRACK.encoded },
        mirror: { sourceName: "tunes", identifier: "2" },
      },
    ]);
    expect(owners).toEqual([[OWNER], [OWNER]]);
  });

  test("one that throws or rejects is in the log, and keeps nobody else from hearing", async () => {
    const heard: string[] = [];
    players.addListener(() => {
      throw new Error("a bug");
    });
    players.addListener(async () => Promise.reject(new Error("another")));
    players.addListener(({ type }) => heard.push(type));
    players.tell([{ event: { type: "playerDestroyed", ...PLAYER }, owner: OWNER }]);
    await settle();
    expect(heard).toEqual(["playerDestroyed"]);
    expect(lines).toEqual(Array(2).fill("a listener failed: unexpected error in its plugin"));
  });

  test("what listeners have started is waited for, whether it fails or not", async () => {
    const events: string[] = [];
    let fail: (error: Error) => void = () => undefined;
    const gate = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    players.addListener(() => gate);
    players.tell([{ event: { type: "playerCreated", ...PLAYER }, owner: OWNER }]);
    const quiet = players.quiet().then(() => events.push("quiet"));
    await settle();
    expect(events).toEqual([]);
    fail(new Error("a bug"));
    await quiet;
    await players.quiet();
    expect(events).toEqual(["quiet"]);
  });

  test("more than twenty are refused", () => {
    for (let count = 0; count < 20; count++) players.addListener(() => undefined);
    expect(() => players.addListener(() => undefined)).toThrow("more than 20 listeners");
  });
});

describe("the handle of a player", () => {
  test("asks for its state, whose tracks are as in events", async () => {
    result = {
      kept: ["a"],
      player: { isPaused: true, volume: 50, playing: { playId: 1, track: TRACK, mirror: undefined, positionMs: 900 } },
    };
    expect(await players.handle("s", "7").state()).toMatchObject({
      kept: ["a"],
      player: { isPaused: true, volume: 50, playing: { positionMs: 900, track: { sourceName: "songs" } } },
    });
    result = { kept: undefined, player: undefined };
    expect(await players.handle("s", "7").state()).toEqual({ kept: undefined, player: undefined });
    result = undefined;
    expect(await players.handle("gone", "7").state()).toBeUndefined();
    expect(wishes[2]).toEqual({ kind: "state", sessionId: "gone", guildId: "7" });
  });

  test("passes on markers, changes and values that are valid", async () => {
    const player = players.handle("s", "7");
    await player.setMarkers(3, [{ positionMs: 1.5, skipToMs: 20, note: { a: [1] } }, { positionMs: 30 }]);
    await player.update({ playId: 3, positionMs: 0, isPaused: false, volume: 1000, isStopped: false });
    await player.keep({ b: null });
    await player.keep(undefined);
    const markers = [
      { positionMs: 1.5, skipToMs: 20, note: { a: [1] } },
      { positionMs: 30, skipToMs: undefined, note: null },
    ];
    expect(wishes).toEqual([
      { kind: "setMarkers", ...PLAYER, playId: 3, markers },
      {
        kind: "update",
        ...PLAYER,
        change: { playId: 3, positionMs: 0, isPaused: false, volume: 1000, isStopped: false },
      },
      { kind: "keep", ...PLAYER, json: '{"b":null}' },
      { kind: "keep", ...PLAYER, json: undefined },
    ]);
  });

  test.each<[string, TrackMarker]>([
    ["a negative position", { positionMs: -1 }],
    ["NaN", { positionMs: Number.NaN }],
    ["an end that is none", { positionMs: 1, skipToMs: Number.POSITIVE_INFINITY }],
    ["a long note", { positionMs: 1, note: "x".repeat(1024) }],
  ])("refuses a marker with %s", async (_what, marker) => {
    await expect(players.handle("s", "7").setMarkers(1, [marker])).rejects.toThrow();
    expect(wishes).toEqual([]);
  });

  test("refuses more markers than a track can have", async () => {
    const markers = Array.from({ length: 1501 }, (_, positionMs) => ({ positionMs }));
    await expect(players.handle("s", "7").setMarkers(1, markers)).rejects.toThrow("a list of at most 1500");
    expect(wishes).toEqual([]);
  });

  test.each<PlayerChange>([{ positionMs: -1 }, { volume: 1001 }, { volume: 0.5 }, { isPaused: "yes" as never }])(
    "refuses the change %j",
    async (change) => {
      await expect(players.handle("s", "7").update(change)).rejects.toThrow(/^update: /);
      expect(wishes).toEqual([]);
    },
  );

  test("is not for what are no ids", () => {
    expect(() => players.handle("s", "")).toThrow("player: guildId is a text of 1 to 20 digits");
    expect(() => players.handle(7 as never, "7")).toThrow("player: sessionId is a text");
    expect(players.handle("s", "-7")).toMatchObject({ guildId: "-7" });
  });

  test("refuses to keep what is large", async () => {
    await expect(players.handle("s", "7").keep("x".repeat(4095))).rejects.toThrow("at most 4096 characters");
    await players.handle("s", "7").keep("x".repeat(4094));
    expect(wishes).toHaveLength(1);
  });
});

describe("events for clients", () => {
  test("one with a type of the plugin's own is sent", () => {
    players.sendEvent({ ...PLAYER, type: "SegmentSkipped", members: { segment: { start: 1 } } });
    expect(sent).toEqual([{ ...PLAYER, eventType: "SegmentSkipped", members: { segment: { start: 1 } } }]);
  });

  test.each<[string, Partial<ClientEvent>]>([
    ["for no guild", { guildId: "seven" }],
    ["for a long guild", { guildId: "7".repeat(21) }],
    ["for no session", { sessionId: undefined as never }],
    ["for a long session", { sessionId: "s".repeat(101) }],
    ["of the node", { type: "TrackEndEvent" }],
    ["of lyrics", { type: "LyricsLineEvent" }],
    ["that is no name", { type: "a b" }],
    ["without a type", { type: "" }],
    ["with another op", { members: { op: "ready" } }],
    ["with another guild", { members: { guildId: "8" } }],
    ["without members", { members: [] as never }],
    ["that is large", { members: { text: "x".repeat(64 * 1024) } }],
    ["that is no JSON", { members: { big: 1n as never } }],
  ])("one %s is refused", (_what, wrong) => {
    expect(() => players.sendEvent({ ...PLAYER, type: "Own", members: {}, ...wrong })).toThrow();
    expect(sent).toEqual([]);
  });
});
