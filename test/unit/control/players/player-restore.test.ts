import { beforeEach, describe, expect, test } from "vitest";
import type { OwnTrackEvent } from "../../../../src/bridge/plugin-players.ts";
import type { VoiceCredentials } from "../../../../src/bridge/voice-credentials.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerIntent, TrackIntent } from "../../../../src/control/players/player-intent.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import type { OutgoingMessage } from "../../../../src/control/protocol/outgoing-message.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const CREDENTIALS: VoiceCredentials = { token: "t1", endpoint: "voice.example:443", sessionId: "s", channelId: "9" };
const STREAM = { isStream: true, isSeekable: false, length: 9223372036854775807n } as const;

let clock: FakeClock;
let workers: FakeWorkers;
let messages: OutgoingMessage[];
let told: string[];
let changeCount: number;
let memory: ByteBudget;
let player: Player;

beforeEach(() => {
  clock = new FakeClock();
  workers = new FakeWorkers(clock);
  messages = [];
  told = [];
  changeCount = 0;
  memory = new ByteBudget({ owner: "the session", limitBytes: 100_000 });
  player = new Player({
    guildId: "1",
    userId: "42",
    sessionId: "session",
    account: "address test",
    sink: { send: (message) => messages.push(message) },
    workers,
    tracks: {
      load: () => Promise.reject(new Error("no loads in this test")),
      playableInput: ({ info }) => ({ kind: "http", url: info.identifier, container: "mp3" }),
    },
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    clock,
    memory,
    isHeld: true,
    onChanged: () => {
      changeCount += 1;
    },
    onTrackEvent: (event: OwnTrackEvent) => told.push(event.type),
    logger: silentLogger,
    deadlyTracks: new DeadlyTracks(),
    sharedIncidents: new SharedIncidents({ clock, logger: silentLogger }),
    voiceConnectTimeoutMs: 5000,
  });
});

/** Of a player that plays in a voice channel, at 10 s of a track of 30 s, stored one second ago. */
function snapshotOf(track: Partial<TrackIntent> = {}, more: Partial<PlayerIntent> = {}): PlayerIntent {
  const epochMs = clock.epochMs() - 1000;
  return {
    track: { track: buildTrack(), positionMs: 10_000, epochMs, rate: 1, endMs: undefined, ...track },
    volume: 40,
    filters: {},
    isPaused: false,
    voice: { credentials: CREDENTIALS, isClosed: false },
    ...more,
  };
}

function update(change: Partial<PlayerUpdate>): Promise<void> {
  return player.update({ ...EMPTY_UPDATE, ...change }, { isReplacing: true });
}

function types(): string[] {
  return workers.commands.map(({ type }) => type);
}

/** The messages sent to the client, without regular updates. */
function events(): string[] {
  return messages.flatMap((message) => (message.op === "event" ? [message.type] : []));
}

/** The attempts to connect: with which token, and whether with patience. */
function tried(): unknown {
  return workers.all("connectVoice").map(({ credentials, isPatient }) => [credentials.token, isPatient]);
}

/** Where the track starts on a worker, `afterMs` later. */
function startedMs(snapshot: PlayerIntent, afterMs = 2000): number {
  player.restore(snapshot);
  clock.advance(afterMs);
  void player.begin();
  return workers.last("play").startMs;
}

const ALBUM = buildTrack({ length: 12_000, sourceName: "spotify" });
const MIRROR = { track: ALBUM, provider: "ytsearch:%QUERY%", score: 1, reasons: [], failure: undefined };

describe("where a restored track plays on", () => {
  const cases: readonly (readonly [string, () => PlayerIntent, number])[] = [
    ["a track that played is where it would be by now", () => snapshotOf(), 13_000],
    ["a track that played faster has moved on faster", () => snapshotOf({ rate: 1.5 }), 14_500],
    ["a track that stood still is where it was", () => snapshotOf({ rate: 0 }), 10_000],
    ["a track without a known rate counts as playing", () => snapshotOf({ rate: undefined }), 13_000],
    ["a paused track is where it was", () => snapshotOf({ rate: 0 }, { isPaused: true }), 10_000],
    [
      "a paused track without a known rate is where it was",
      () => snapshotOf({ rate: undefined }, { isPaused: true }),
      10_000,
    ],
    ["a track without a voice connection is where it was", () => snapshotOf({}, { voice: undefined }), 10_000],
    [
      "a track whose voice connection was closed is where it was",
      () => snapshotOf({}, { voice: { credentials: CREDENTIALS, isClosed: true } }),
      10_000,
    ],
    [
      "a track that cannot be skipped is where it was",
      () => snapshotOf({ track: buildTrack({ isSeekable: false }) }),
      10_000,
    ],
    [
      "a track whose mirror cannot be skipped is where it was",
      () => snapshotOf({ mirror: { ...MIRROR, track: buildTrack({ isSeekable: false }) } }),
      10_000,
    ],
    [
      "a track is not earlier for a clock that was set back",
      () => snapshotOf({ epochMs: clock.epochMs() + 60_000 }),
      10_000,
    ],
  ];

  test.each(cases)("%s", (_name, snapshot, expectedMs) => {
    expect(startedMs(snapshot())).toBe(expectedMs);
    expect(player.snapshot().track).toMatchObject({ positionMs: expectedMs, epochMs: clock.epochMs() });
  });

  test("a stream plays from now, and its position continues where it was", () => {
    expect(startedMs(snapshotOf({ track: buildTrack(STREAM) }))).toBe(0);
    expect(player.toJson().state.position).toBe(10_000);
  });

  test("a client sees the position run on while the player is held, and no connection", () => {
    player.restore(snapshotOf());
    expect(player.toJson()).toMatchObject({ state: { position: 11_000, connected: false, ping: -1 }, volume: 40 });
    clock.advance(4321);
    expect(player.toJson()).toMatchObject({ state: { position: 15_321, connected: false }, voice: CREDENTIALS });
    expect(player.snapshot().track).toMatchObject({ positionMs: 15_321, epochMs: clock.epochMs(), rate: 1 });
  });

  test("a restored track stands still from its beginning on until its worker reports", () => {
    expect(startedMs(snapshotOf())).toBe(13_000);
    clock.advance(5000);
    expect(player.toJson().state.position).toBe(13_000);
  });
});

describe("a restored track that is over by now", () => {
  const cases: readonly (readonly [string, () => PlayerIntent, number])[] = [
    ["its length", () => snapshotOf(), 30_000],
    ["its end time", () => snapshotOf({ endMs: 20_000 }), 20_000],
    ["the length of its mirror", () => snapshotOf({ mirror: MIRROR }), 12_000],
  ];

  test.each(cases)("%s ends it as finished, without a start and without audio", (_name, snapshot, endMs) => {
    const { epochMs = 0 } = snapshot().track ?? {};
    player.restore(snapshot());
    clock.advance(epochMs + endMs - 10_000 - clock.epochMs());
    void player.begin();
    expect(messages.filter(({ op }) => op === "event")).toMatchObject([
      { type: "TrackEndEvent", reason: "finished", track: { info: { position: endMs } } },
    ]);
    expect(types()).toEqual(["createPlayer", "connectVoice"]);
    expect([player.toJson().track, player.snapshot().track]).toEqual([null, undefined]);
    expect(told).toEqual(["trackEnded"]);
  });

  test.each(cases)("a millisecond before %s it plays on", (_name, snapshot, endMs) => {
    const { epochMs = 0 } = snapshot().track ?? {};
    player.restore(snapshot());
    clock.advance(epochMs + endMs - 10_000 - clock.epochMs() - 1);
    void player.begin();
    expect([workers.last("play").startMs, events()]).toEqual([endMs - 1, []]);
  });

  test("a paused track at its end, and a stream without an end, are not over", () => {
    player.restore(snapshotOf({ positionMs: 30_000, rate: 0 }, { isPaused: true }));
    void player.begin();
    expect([types().at(-1), events()]).toEqual(["play", []]);
  });

  test.each([0, -1_000_000])("a track whose length is %i is not over, wherever it is", (length) => {
    expect(startedMs(snapshotOf({ track: buildTrack({ length }), positionMs: 90_000 }))).toBe(93_000);
    expect([player.snapshot().track?.positionMs, player.toJson().state.position, events()]).toEqual([
      93_000,
      93_000,
      [],
    ]);
  });
});

describe("a held player", () => {
  test("a held player has no worker and sends its client nothing until it begins", () => {
    player.restore(snapshotOf());
    expect([workers.hasPlayer, workers.commands, messages, told]).toEqual([false, [], [], []]);
    expect([player.isHeld, player.isPlaying, player.isUnused]).toEqual([true, true, false]);
    void player.begin();
    expect([player.isHeld, events()]).toEqual([false, []]);
  });

  test("a held player that begins joins voice first, then plays, and plugins are told that its track starts", () => {
    player.restore(snapshotOf());
    void player.begin();
    expect(types()).toEqual(["createPlayer", "connectVoice", "play"]);
    expect(workers.last("createPlayer")).toMatchObject({ volume: 40 });
    expect([told, workers.admitted]).toEqual([["trackStarted"], 0]);
  });

  test("a player begins once", async () => {
    player.restore(snapshotOf({}, { voice: undefined }));
    await Promise.all([player.begin(), player.begin()]);
    await player.begin();
    expect([types(), told]).toEqual([["createPlayer", "play"], ["trackStarted"]]);
  });

  test.each(["opens", "fails", "loses its worker", "takes longer than 2 s"])(
    "a player has begun when its voice connection %s",
    async (outcome) => {
      player.restore(snapshotOf());
      let hasBegun = false;
      void player.begin().then(() => (hasBegun = true));
      await settle();
      clock.advance(1999);
      await settle();
      expect(hasBegun).toBe(false);
      if (outcome === "opens") await workers.reply("connectVoice", { isConnected: true });
      if (outcome === "fails") await workers.replyError("connectVoice", wireError());
      if (outcome === "loses its worker") workers.lose();
      if (outcome === "takes longer than 2 s") clock.advance(1);
      await settle();
      expect(hasBegun).toBe(true);
    },
  );

  test("an update begins a held player before it is applied", async () => {
    player.restore(snapshotOf());
    clock.advance(1000);
    await update({ isPaused: true, positionMs: 5000 });
    expect(types()).toEqual(["createPlayer", "connectVoice", "play", "pause", "seek"]);
    expect([workers.last("play").startMs, told, player.isHeld]).toEqual([12_000, ["trackStarted"], false]);
  });

  test("an update with noReplace plays its track when the one of the held player is over", async () => {
    player.restore(snapshotOf());
    clock.advance(60_000);
    const next = buildTrack({ title: "Next" });
    await player.update({ ...EMPTY_UPDATE, trackChange: { kind: "play", track: next } }, { isReplacing: false });
    expect(events()).toEqual(["TrackEndEvent", "TrackStartEvent"]);
    expect(player.toJson().track?.info.title).toBe("Next");
  });

  test("new voice values of an update replace those that the held player begins with", async () => {
    player.restore(snapshotOf());
    const connected = update({ voice: { ...CREDENTIALS, token: "t2" } });
    await settle();
    await workers.reply("connectVoice", { isConnected: true });
    await connected;
    expect([tried(), player.toJson().voice.token, events()]).toEqual([
      [
        ["t1", false],
        ["t2", false],
      ],
      "t2",
      [],
    ]);
  });

  test("a player that begins is patient with its voice server, and after a loss of its worker it is not", () => {
    player.restore(snapshotOf());
    workers.isRunning = false;
    void player.begin();
    workers.start();
    workers.lose();
    void player.begin();
    workers.start();
    expect(tried()).toEqual([
      ["t1", true],
      ["t1", false],
    ]);
  });

  test("a player that an update or a skip begins is not patient with its voice server", async () => {
    player.restore(snapshotOf());
    await player.skip();
    void player.begin();
    expect(tried()).toEqual([["t1", false]]);
  });

  test("a player whose client sends voice values before it has a worker is not patient with them", async () => {
    player.restore(snapshotOf());
    workers.isRunning = false;
    void player.begin();
    await update({ voice: { ...CREDENTIALS, token: "t2" } });
    workers.start();
    expect(tried()).toEqual([["t2", false]]);
  });

  test("a skip ends the track of a held player, once", async () => {
    player.restore(snapshotOf());
    await player.skip();
    expect([events(), told]).toEqual([["TrackEndEvent"], ["trackStarted", "trackEnded"]]);
    expect(player.toJson().track).toBeNull();
  });

  test("markers that are set on a held player reach its worker when it begins", () => {
    player.restore(snapshotOf());
    expect(player.setMarkers("plugin a", [{ id: 1, positionMs: 20_000 }], () => undefined)).toBe(true);
    expect([player.isHeld, workers.commands]).toEqual([true, []]);
    void player.begin();
    expect(workers.last("setMarkers").markers).toMatchObject([{ positionMs: 20_000 }]);
  });

  test("a held player that is destroyed ends its track and never begins", async () => {
    player.restore(snapshotOf());
    await player.destroy();
    expect([events(), memory.usedBytes, player.isHeld]).toEqual([["TrackEndEvent"], 0, false]);
    await player.begin();
    await expect(update({ volume: 1 })).rejects.toMatchObject({ code: "player-destroyed" });
    expect([workers.commands, workers.hasPlayer]).toEqual([[], false]);
  });

  test("a held player whose markers, diagnosis and overview are asked for has no worker", () => {
    workers.placement = undefined;
    player.restore(snapshotOf());
    expect(player.overview()).toMatchObject({ positionMs: 11_000, isConnected: false, worker: undefined });
    expect(player.diagnose()).toMatchObject({ position: 11_000, worker: null });
  });

  test("restoring a player is no change, and its beginning is", () => {
    player.restore(snapshotOf());
    expect(changeCount).toBe(0);
    void player.begin();
    expect(changeCount).toBeGreaterThan(0);
  });

  test("a held player that was not restored begins as a new one", async () => {
    await player.begin();
    expect([types(), player.isUnused, told]).toEqual([["createPlayer"], true, []]);
  });
});

function wireError() {
  return { code: "voice-connect-failed", message: "no", severity: "common", cause: "no", causeStackTrace: "" } as const;
}
