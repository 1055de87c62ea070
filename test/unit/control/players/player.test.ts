import { beforeEach, describe, expect, test, vi } from "vitest";
import { noLosses } from "../../../../src/bridge/audio-report.ts";
import type { PositionReport } from "../../../../src/bridge/position-report.ts";
import type { VoiceCredentials } from "../../../../src/bridge/voice-credentials.ts";
import type { WireError } from "../../../../src/bridge/wire-error.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import type { OutgoingMessage } from "../../../../src/control/protocol/outgoing-message.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { createLogger } from "../../../../src/log/log.ts";
import type { Track } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const GUILD_ID = "1234567890123456789";
const CREDENTIALS: VoiceCredentials = { token: "t1", endpoint: "voice.example:443", sessionId: "s", channelId: "9" };
const BROKEN: WireError = {
  code: "internal",
  message: "the file is broken",
  severity: "suspicious",
  cause: "Error: broken",
  causeStackTrace: "Error: broken",
};

let clock: FakeClock;
let workers: FakeWorkers;
let messages: OutgoingMessage[];
let loads: Map<string, Promise<LoadResult>>;
let updateTimer: UpdateTimer;
let deadlyTracks: DeadlyTracks;
let player: Player;
let memory: ByteBudget;

let logged: object[];
let faults: object[];

beforeEach(() => {
  clock = new FakeClock();
  workers = new FakeWorkers(clock);
  messages = [];
  logged = [];
  faults = [];
  loads = new Map();
  updateTimer = new UpdateTimer({ clock, intervalMs: 5000 });
  deadlyTracks = new DeadlyTracks();
  memory = new ByteBudget({ owner: "the session", limitBytes: 100_000 });
  player = createPlayer();
});

function createPlayer(): Player {
  return new Player({
    guildId: GUILD_ID,
    userId: "42",
    sessionId: "session",
    account: "address test",
    sink: { send: (message) => messages.push(message) },
    workers,
    tracks: {
      load: (identifier, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          void loads.get(identifier)?.then(resolve);
        }),
      playableInput: (track: Track) => {
        const { sourceName, identifier } = track.info;
        if (sourceName !== "http") throw new NodeError("source-unavailable", `no source ${sourceName}`);
        return { kind: "http", url: identifier, container: "mp3" };
      },
    },
    updateTimer,
    clock,
    memory,
    logger: createLogger((_level, message, fields) => logged.push({ message, ...fields })),
    deadlyTracks,
    sharedIncidents: new SharedIncidents({ clock, logger: createLogger(() => undefined) }),
    onFilterFault: (fault) => faults.push(fault),
    voiceConnectTimeoutMs: 5000,
  });
}

function update(change: Partial<PlayerUpdate>, isReplacing = true): Promise<void> {
  return player.update({ ...EMPTY_UPDATE, ...change }, { isReplacing });
}

function play(track = buildTrack(), more: Partial<PlayerUpdate> = {}): Promise<void> {
  return update({ trackChange: { kind: "play", track }, ...more });
}

/** The worker reports that the current track is at `positionMs` now. */
function report(positionMs: number, more: Partial<PositionReport> = {}): void {
  const { trackId } = workers.last("play");
  const base = { playerId: workers.playerId, trackId, seekId: 0, positionMs, epochMs: clock.epochMs(), rate: 1 };
  workers.say({ type: "position", report: { ...base, ...more } });
}

/** The messages sent to the client since the last call, abbreviated. */
function received(): string[] {
  return messages.splice(0).map((message) => {
    if (message.op === "playerUpdate") {
      const { position, connected, ping } = message.state;
      return `update ${position} ${connected ? "connected" : "away"} ${ping}`;
    }
    if (message.op !== "event") return message.op;
    const position = "track" in message ? ` at ${message.track.info.position}` : "";
    if (message.type === "TrackEndEvent") return `TrackEnd ${message.reason}${position}`;
    if (message.type === "WebSocketClosedEvent") {
      return `WebSocketClosed ${message.code} "${message.reason}" ${message.byRemote ? "by remote" : "by us"}`;
    }
    if (message.type === "TrackExceptionEvent") return `TrackException "${message.exception.message}"${position}`;
    return message.type.replace("Event", "") + position;
  });
}

async function connect(credentials = CREDENTIALS): Promise<void> {
  const connected = update({ voice: credentials });
  await settle();
  await workers.reply("connectVoice", { isConnected: true });
  await connected;
}

function voiceIsReady(more: { isReady?: boolean; pingMs?: number; voiceId?: number } = {}): void {
  const { voiceId } = workers.last("connectVoice");
  workers.say({ type: "voiceState", voiceId, isConnected: true, isReady: true, pingMs: 0, ...more });
}

describe("tracks", () => {
  test("a first play sends TrackStart, then two updates, and the worker plays", async () => {
    await play(buildTrack({ title: "First" }), { userData: { who: "me" } });
    expect(received()).toEqual(["TrackStart at 0", "update 0 away -1", "update 0 away -1"]);
    expect(player.toJson().track).toMatchObject({ info: { title: "First" }, userData: { who: "me" } });
    const url = "http://media.example/song.mp3";
    expect(workers.last("play")).toMatchObject({
      trackId: 1,
      input: { kind: "http", url },
      startMs: 0,
      endMs: undefined,
      isPaused: false,
    });
  });

  test("playing over another ends the old one as replaced, at its position, before the new one starts", async () => {
    await play();
    report(7000);
    received();
    await play(buildTrack({ title: "Second" }), { positionMs: 500 });
    expect(received()).toEqual([
      "TrackEnd replaced at 7000",
      "TrackStart at 500",
      "update 500 away -1",
      "update 500 away -1",
    ]);
    expect(workers.last("play")).toMatchObject({ trackId: 2, startMs: 500 });
  });

  test("stopping ends the track as stopped and leaves nothing", async () => {
    await play();
    received();
    await update({ trackChange: { kind: "stop" } });
    expect(received()).toEqual(["TrackEnd stopped at 0"]);
    expect(player.toJson()).toMatchObject({ track: null, state: { position: 0 } });
    expect(workers.commands.at(-1)?.type).toBe("stop");
  });

  test("stopping without a track sends no message to the client", async () => {
    await update({ trackChange: { kind: "stop" } });
    expect(received()).toEqual([]);
  });

  test.each(["finished", "loadFailed", "cleanup"] as const)(
    "the worker's end %s reaches the client",
    async (reason) => {
      await play();
      report(3000);
      received();
      workers.say({ type: "trackEnded", trackId: 1, reason });
      expect(received()).toEqual([`TrackEnd ${reason} at 3000`]);
      expect(player.toJson().track).toBeNull();
    },
  );

  test("worker events of a track that has ended are ignored", async () => {
    await play();
    await play();
    received();
    workers.say({ type: "trackException", trackId: 1, error: BROKEN });
    workers.say({ type: "trackStuck", trackId: 1, thresholdMs: 10_000 });
    workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
    report(9000, { trackId: 1 });
    expect(received()).toEqual([]);
    expect(player.toJson().state.position).toBe(0);
  });

  test("an exception is sent before the end that it causes", async () => {
    await play();
    received();
    workers.say({ type: "trackException", trackId: 1, error: BROKEN });
    workers.say({ type: "trackEnded", trackId: 1, reason: "loadFailed" });
    expect(received()).toEqual(['TrackException "the file is broken" at 0', "TrackEnd loadFailed at 0"]);
  });

  test("a stuck track sends an event and an update, and plays on", async () => {
    await play();
    received();
    workers.say({ type: "trackStuck", trackId: 1, thresholdMs: 10_000 });
    expect(received()).toEqual(["TrackStuck at 0", "update 0 away -1"]);
    expect(player.isPlaying).toBe(true);
  });

  test("a track of a source this node does not have starts, fails and ends, after the answer", async () => {
    await play(buildTrack({ sourceName: "spotify" }));
    expect(player.toJson().track).not.toBeNull();
    expect(received()).toEqual(["TrackStart at 0", "update 0 away -1", "update 0 away -1"]);
    clock.advance(0);
    expect(received()).toEqual(['TrackException "no source spotify" at 0', "TrackEnd loadFailed at 0"]);
    expect(workers.all("play")).toEqual([]);
  });

  test("a track that cannot be played fails only while it is the current one", async () => {
    await play(buildTrack({ sourceName: "spotify" }));
    await play();
    received();
    clock.advance(0);
    expect(received()).toEqual([]);
  });

  test("an encoded track that carries a position starts there, a position in the update goes before it", async () => {
    await play(buildTrack({ position: 1500 }));
    expect(workers.last("play").startMs).toBe(1500);
    await play(buildTrack({ position: 1500 }), { positionMs: 0 });
    expect(workers.last("play").startMs).toBe(0);
  });

  test("the worker gets the length of a track, but not of a stream", async () => {
    await play(buildTrack({ length: 61_000 }));
    expect(workers.last("play").lengthMs).toBe(61_000);
    await play(buildTrack({ isStream: true }));
    expect(workers.last("play").lengthMs).toBeUndefined();
  });

  test("noReplace keeps a loaded track, paused or not, and ignores all that belongs to the new one", async () => {
    await play(buildTrack({ title: "Old" }), { isPaused: true });
    received();
    const change = { kind: "play", track: buildTrack({ title: "New" }) } as const;
    await update(
      { trackChange: change, isPaused: false, positionMs: 9, endTimeMs: 99, userData: {}, volume: 20 },
      false,
    );
    await update({ trackChange: { kind: "stop" } }, false);
    expect(received()).toEqual([]);
    expect(player.toJson()).toMatchObject({ track: { info: { title: "Old" } }, paused: true, volume: 20 });
    expect(workers.last("setVolume").volume).toBe(20);
  });

  test("noReplace plays when nothing is loaded", async () => {
    await update({ trackChange: { kind: "play", track: buildTrack() } }, false);
    expect(received()[0]).toBe("TrackStart at 0");
  });
});

describe("loading by identifier", () => {
  test("a track that is found is played", async () => {
    loads.set("song", Promise.resolve({ kind: "track", track: buildTrack({ title: "Found" }) }));
    await update({
      trackChange: { kind: "load", identifier: "song", allowed: undefined },
      positionMs: 100,
      userData: { a: 1 },
    });
    expect(player.toJson().track).toMatchObject({ info: { title: "Found", position: 100 }, userData: { a: 1 } });
  });

  test.each([
    ["load-no-matches", "No matches found for identifier", { kind: "empty" }],
    ["load-not-a-track", "Cannot play a playlist or search result", { kind: "search", tracks: [] }],
    [
      "load-failed",
      "Something went wrong while looking up the track: the file is broken",
      { kind: "error", error: BROKEN },
    ],
  ] as const)("%s is the answer, and nothing of the update has happened", async (code, message, result) => {
    await play(buildTrack({ title: "Old" }), { isPaused: true });
    received();
    workers.commands.length = 0;
    loads.set("song", Promise.resolve(result));
    const trackChange = { kind: "load", identifier: "song", allowed: undefined } as const;
    await expect(
      update({ trackChange, voice: CREDENTIALS, volume: 7, filters: { volume: 0.5 }, isPaused: false }),
    ).rejects.toMatchObject({ code, message });
    expect(received()).toEqual([]);
    expect(workers.commands).toEqual([]);
    expect(player.toJson()).toMatchObject({
      track: { info: { title: "Old" } },
      paused: true,
      volume: 100,
      filters: {},
      voice: { token: "" },
    });
  });

  test("the old track stays as it is until the new one is found", async () => {
    let found: (result: LoadResult) => void = () => undefined;
    loads.set("slow", new Promise((resolve) => (found = resolve)));
    await play(buildTrack({ title: "Old" }), { isPaused: true });
    const loading = update({ trackChange: { kind: "load", identifier: "slow", allowed: undefined }, volume: 50 });
    await settle();
    expect(player.toJson()).toMatchObject({ track: { info: { title: "Old" } }, paused: true, volume: 100 });
    found({ kind: "track", track: buildTrack({ title: "New" }) });
    await loading;
    expect(player.toJson()).toMatchObject({ track: { info: { title: "New" } }, paused: false, volume: 50 });
  });

  test("noReplace does not load what it would not play, and applies the rest", async () => {
    await play(buildTrack({ title: "Old" }));
    loads.set("broken", Promise.resolve({ kind: "error", error: BROKEN }));
    await update({ trackChange: { kind: "load", identifier: "broken", allowed: undefined }, volume: 7 }, false);
    expect(player.toJson()).toMatchObject({ track: { info: { title: "Old" } }, volume: 7 });
  });

  test("a voice server that refuses leaves the old track and all settings as they were", async () => {
    await play(buildTrack({ title: "Old" }));
    received();
    loads.set("song", Promise.resolve({ kind: "track", track: buildTrack({ title: "New" }) }));
    const trackChange = { kind: "load", identifier: "song", allowed: undefined } as const;
    const beforeBytes = memory.usedBytes;
    const refused = update({ trackChange, voice: CREDENTIALS, volume: 7 }).catch((error) => error.code);
    await settle();
    await workers.replyError("connectVoice", BROKEN);
    expect(await refused).toBe("voice-connect-failed");
    expect(received()).toEqual([]);
    expect(player.toJson()).toMatchObject({ track: { info: { title: "Old" } }, volume: 100 });
    expect(memory.usedBytes).toBe(beforeBytes);
  });

  test("updates wait for the one before them", async () => {
    let found: (result: LoadResult) => void = () => undefined;
    loads.set("slow", new Promise((resolve) => (found = resolve)));
    const first = update({ trackChange: { kind: "load", identifier: "slow", allowed: undefined } });
    const second = update({ volume: 50 });
    await settle();
    expect(player.toJson().volume).toBe(100);
    found({ kind: "track", track: buildTrack() });
    await Promise.all([first, second]);
    expect(player.toJson().volume).toBe(50);
  });

  test("no more than 100 updates wait", async () => {
    void update({ trackChange: { kind: "load", identifier: "never", allowed: undefined } }).catch(() => undefined);
    await settle();
    const waiting = Array.from({ length: 100 }, () => update({ volume: 1 }));
    await expect(update({ volume: 2 })).rejects.toMatchObject({ code: "player-busy" });
    const settled = Promise.allSettled(waiting);
    void player.destroy();
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
  });

  test("updates that have run do not count as waiting", async () => {
    for (let volume = 0; volume < 150; volume++) await update({ volume });
    expect(player.toJson().volume).toBe(149);
  });

  test("destroying the player aborts a waiting load", async () => {
    const loading = update({ trackChange: { kind: "load", identifier: "never", allowed: undefined } });
    await settle();
    void player.destroy();
    await expect(loading).rejects.toMatchObject({ code: "player-destroyed" });
    expect(received()).toEqual([]);
  });
});

describe("unused players", () => {
  const unknown = { trackChange: { kind: "load", identifier: "unknown", allowed: undefined } } as const;

  beforeEach(() => {
    loads.set("unknown", Promise.resolve({ kind: "empty" }));
  });

  test("a player is unused when all of its updates were refused", async () => {
    await expect(update(unknown)).rejects.toMatchObject({ code: "load-no-matches" });
    expect(player.isUnused).toBe(true);
  });

  test("a player is not unused while an update is waiting", async () => {
    const [refused, waiting] = [update(unknown), update({ volume: 5 })];
    await expect(refused).rejects.toMatchObject({ code: "load-no-matches" });
    expect(player.isUnused).toBe(false);
    await waiting;
    expect(player.isUnused).toBe(false);
  });

  test("a player stays used after one update without content, however many are refused after it", async () => {
    await update({});
    await expect(update(unknown)).rejects.toMatchObject({ code: "load-no-matches" });
    expect(player.isUnused).toBe(false);
  });
});

describe("pause, volume, filters, user data", () => {
  test("pausing stops the clock at once, also against a report from before it", async () => {
    await play();
    report(1000);
    clock.advance(300);
    await update({ isPaused: true });
    report(1300);
    clock.advance(700);
    expect(player.toJson()).toMatchObject({ paused: true, state: { position: 1300 } });
    expect(player.isPlaying).toBe(false);
    expect(workers.last("pause").isPaused).toBe(true);
  });

  test("an update with a new track that does not mention the pause ends it", async () => {
    await update({ isPaused: true });
    expect(player.toJson().paused).toBe(true);
    await play();
    expect(player.toJson().paused).toBe(false);
    expect(workers.last("play").isPaused).toBe(false);
  });

  test("a paused track that is stopped is not un-paused in its worker before the stop", async () => {
    await play();
    await update({ isPaused: true });
    workers.commands.length = 0;
    await update({ trackChange: { kind: "stop" } });
    expect(workers.commands).toMatchObject([{ type: "stop" }, { type: "pause", isPaused: false }]);
    expect(player.toJson().paused).toBe(false);
  });

  test("a paused track that is replaced stays paused in its worker, and the play command ends the pause", async () => {
    await play();
    await update({ isPaused: true });
    workers.commands.length = 0;
    let found: (result: LoadResult) => void = () => undefined;
    loads.set("song", new Promise((resolve) => (found = resolve)));
    const updated = update({ trackChange: { kind: "load", identifier: "song", allowed: undefined }, isPaused: false });
    await settle();
    expect(workers.commands).toEqual([]);
    expect(player.toJson().paused).toBe(true);
    found({ kind: "track", track: buildTrack() });
    await updated;
    expect(workers.commands).toMatchObject([{ type: "play", isPaused: false }]);
    expect(player.toJson().paused).toBe(false);
  });

  test("a paused track stays paused when the track that was to replace it cannot be loaded", async () => {
    await play();
    await update({ isPaused: true });
    workers.commands.length = 0;
    loads.set("song", Promise.resolve({ kind: "empty" }));
    await expect(
      update({ trackChange: { kind: "load", identifier: "song", allowed: undefined } }),
    ).rejects.toMatchObject({ code: "load-no-matches" });
    expect(workers.commands).toEqual([]);
    expect(player.toJson().paused).toBe(true);
  });

  test("a playing track plays on until the track that is to replace it, paused, is loaded", async () => {
    await play();
    workers.commands.length = 0;
    let found: (result: LoadResult) => void = () => undefined;
    loads.set("song", new Promise((resolve) => (found = resolve)));
    const updated = update({ trackChange: { kind: "load", identifier: "song", allowed: undefined }, isPaused: true });
    await settle();
    expect(workers.commands).toEqual([]);
    expect(player.toJson().paused).toBe(false);
    found({ kind: "track", track: buildTrack() });
    await updated;
    expect(workers.commands).toMatchObject([{ type: "play", isPaused: true }]);
    expect(player.toJson().paused).toBe(true);
  });

  test("a new track can start paused", async () => {
    await play(buildTrack(), { isPaused: true });
    expect(workers.last("play").isPaused).toBe(true);
  });

  test("volume and filters stay across tracks, filters send an update even without a track", async () => {
    await update({ volume: 30, filters: { volume: 0.5 } });
    expect(received()).toEqual(["update 0 away -1"]);
    await play();
    expect(player.toJson()).toMatchObject({ volume: 30, filters: { volume: 0.5 } });
    await update({ filters: {} });
    expect(player.toJson().filters).toEqual({});
    expect(workers.last("setFilters").filters).toEqual({});
  });

  test("user data replaces the old one on the current track and is ignored without one", async () => {
    await update({ userData: { lost: true } });
    await play(buildTrack(), { userData: { a: 1 } });
    await update({ userData: { b: 2 } });
    expect(player.toJson().track?.userData).toEqual({ b: 2 });
    await play();
    expect(player.toJson().track?.userData).toEqual({});
  });
});

describe("position, seeking and end time", () => {
  test("the position advances between reports, at the reported rate, for a second at most", async () => {
    await play();
    report(1000, { rate: 1.5 });
    clock.advance(200);
    expect(player.toJson().state.position).toBe(1300);
    clock.advance(10_000);
    expect(player.toJson().state.position).toBe(2500);
  });

  test("no position lies behind the end of the track", async () => {
    await play();
    report(29_900);
    clock.advance(900);
    expect(player.toJson().state.position).toBe(30_000);
    expect(player.toJson().track?.info.position).toBe(30_000);
  });

  test("a seek is shown at once and no older report takes it back", async () => {
    await play();
    report(1000);
    received();
    await update({ positionMs: 10_000 });
    expect(received()).toEqual(["update 10000 away -1"]);
    report(1020);
    expect(player.toJson().state.position).toBe(10_000);
    report(10_020, { seekId: 1 });
    expect(player.toJson().state.position).toBe(10_020);
    expect(workers.last("seek")).toMatchObject({ trackId: 1, seekId: 1, positionMs: 10_000 });
  });

  test("streams ignore seeks and start positions, and the update is sent all the same", async () => {
    await play(buildTrack({ isStream: true, isSeekable: false, length: 9223372036854775807n }), { positionMs: 5000 });
    expect(workers.last("play").startMs).toBe(0);
    report(1380);
    received();
    await update({ positionMs: 10_000 });
    expect(received()).toEqual(["update 1380 away -1"]);
    expect(workers.all("seek")).toEqual([]);
  });

  test("seeking without a track does nothing", async () => {
    await update({ positionMs: 10_000, endTimeMs: 20_000 });
    expect(received()).toEqual([]);
    expect(workers.commands.map(({ type }) => type)).toEqual(["createPlayer"]);
  });

  test("an end time is set, replaced and taken away", async () => {
    await play(buildTrack(), { endTimeMs: 5000 });
    expect(workers.last("play").endMs).toBe(5000);
    await update({ endTimeMs: 8000 });
    expect(workers.last("setEndTime")).toMatchObject({ trackId: 1, endMs: 8000 });
    await update({ endTimeMs: null });
    expect(workers.last("setEndTime").endMs).toBeUndefined();
  });

  test("an end time that is not ahead is ignored", async () => {
    await play(buildTrack(), { positionMs: 5000, endTimeMs: 5000 });
    expect(workers.last("play").endMs).toBeUndefined();
    await update({ endTimeMs: 5001 });
    expect(workers.last("setEndTime").endMs).toBe(5001);
    report(6000);
    await update({ endTimeMs: 5500 });
    expect(workers.last("setEndTime").endMs).toBeUndefined();
  });

  test("the next track does not inherit the end time", async () => {
    await play(buildTrack(), { endTimeMs: 5000 });
    await play();
    expect(workers.last("play").endMs).toBeUndefined();
  });
});

describe("regular updates", () => {
  test("regular updates are sent every interval while a track is loaded, also while paused", async () => {
    await play();
    received();
    clock.advance(4999);
    expect(received()).toEqual([]);
    clock.advance(1);
    expect(received()).toEqual(["update 0 away -1"]);
    await update({ isPaused: true });
    clock.advance(5000);
    expect(received()).toEqual(["update 0 away -1"]);
    workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
    received();
    clock.advance(60_000);
    expect(received()).toEqual([]);
  });
});

describe("voice", () => {
  test("the answer waits for the connection, and an update follows when audio can be sent", async () => {
    const connected = update({ voice: CREDENTIALS, volume: 5 });
    let isAnswered = false;
    void connected.then(() => (isAnswered = true));
    await settle();
    expect(isAnswered).toBe(false);
    expect(player.toJson()).toMatchObject({ volume: 100, state: { connected: false, ping: -1 } });
    await workers.reply("connectVoice", { isConnected: true });
    await connected;
    expect(player.toJson()).toMatchObject({ volume: 5, voice: CREDENTIALS, state: { connected: true, ping: 0 } });
    expect(received()).toEqual([]);
    voiceIsReady();
    voiceIsReady({ pingMs: 31 });
    expect(received()).toEqual(["update 0 connected 0"]);
    expect(player.toJson().state.ping).toBe(31);
  });

  test("a refused connection fails the update and leaves the player without voice and without an event", async () => {
    const connected = update({ voice: CREDENTIALS, volume: 5 });
    await settle();
    const rejected = expect(connected).rejects.toMatchObject({
      code: "voice-connect-failed",
      message: "Failed to connect to voice server",
    });
    await workers.replyError("connectVoice", BROKEN);
    await rejected;
    const voice = { token: "", endpoint: "", sessionId: "", channelId: null };
    expect(player.toJson()).toMatchObject({ volume: 100, voice, state: { connected: false, ping: -1 } });
    expect(received()).toEqual([]);
  });

  test("an update that has waited 5 s and a moment for voice is answered, the rest of it applied", async () => {
    const connected = update({ voice: CREDENTIALS, volume: 5 });
    await settle();
    clock.advance(5250);
    await connected;
    expect(player.toJson()).toMatchObject({ volume: 5, voice: CREDENTIALS, state: { connected: false, ping: -1 } });
    await workers.reply("connectVoice", { isConnected: true });
    expect(player.toJson().state.connected).toBe(true);
  });

  test("a connection that fails after the answer is reported by an event", async () => {
    const connected = update({ voice: CREDENTIALS });
    await settle();
    clock.advance(5250);
    await connected;
    await workers.replyError("connectVoice", BROKEN);
    expect(received()).toEqual([
      'WebSocketClosed 1006 "Failed to connect to voice server" by remote',
      "update 0 away -1",
    ]);
  });

  test("the same values on an open connection change nothing", async () => {
    await connect();
    await update({ voice: { ...CREDENTIALS } });
    expect(workers.all("connectVoice")).toHaveLength(1);
    expect(received()).toEqual([]);
  });

  test("the same values while connecting wait for the same connection", async () => {
    const first = update({ voice: CREDENTIALS });
    await settle();
    clock.advance(5250);
    await first;
    const second = update({ voice: CREDENTIALS });
    await settle();
    await workers.reply("connectVoice", { isConnected: true });
    await second;
    expect(workers.all("connectVoice")).toHaveLength(1);
  });

  test.each(["token", "endpoint", "sessionId", "channelId"] as const)(
    "another %s moves the connection",
    async (key) => {
      await connect();
      voiceIsReady({ pingMs: 20 });
      await play();
      report(1380);
      received();
      const moved = update({ voice: { ...CREDENTIALS, [key]: "other" } });
      await settle();
      expect(received()).toEqual(['WebSocketClosed 1000 "" by us', "update 1380 away -1"]);
      await workers.reply("connectVoice", { isConnected: true });
      await moved;
      voiceIsReady();
      expect(received()).toEqual(["update 1380 connected 0"]);
      expect(player.toJson().voice).toMatchObject({ [key]: "other" });
    },
  );

  test("the result of an abandoned connection attempt is ignored", async () => {
    await connect();
    const moved = update({ voice: { ...CREDENTIALS, token: "t2" } });
    await settle();
    received();
    workers.say({ type: "voiceState", voiceId: 1, isConnected: true, isReady: true, pingMs: 12 });
    workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "moved", isByRemote: true });
    expect(received()).toEqual([]);
    expect(player.toJson().state.connected).toBe(false);
    await workers.reply("connectVoice", { isConnected: true });
    await moved;
    workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "moved", isByRemote: true });
    workers.say({ type: "voiceState", voiceId: 1, isConnected: false, isReady: false, pingMs: -1 });
    expect(received()).toEqual([]);
    expect(player.toJson().state.connected).toBe(true);
  });

  test("a close by Discord is reported, the track stays, and the same values connect again", async () => {
    await connect();
    await play();
    received();
    workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "Disconnected.", isByRemote: true });
    expect(received()).toEqual(['WebSocketClosed 4014 "Disconnected." by remote', "update 0 away -1"]);
    expect(player.toJson()).toMatchObject({ voice: CREDENTIALS, track: { info: { title: "Test Title" } } });
    await connect();
    expect(workers.all("connectVoice")).toHaveLength(2);
    expect(received()).toEqual([]);
  });

  test("a client that names no channel sees null", async () => {
    await connect({ ...CREDENTIALS, channelId: undefined });
    expect(player.toJson().voice.channelId).toBeNull();
  });
});

describe("destroying", () => {
  test("destroying a player ends the track, then voice, sends a last update, and waits for the worker", async () => {
    await connect();
    await play();
    report(1380);
    received();
    let isGone = false;
    const destroyed = player.destroy().then(() => (isGone = true));
    expect(received()).toEqual(["TrackEnd stopped at 1380", 'WebSocketClosed 1000 "" by us', "update 0 away -1"]);
    await settle();
    expect(isGone).toBe(false);
    await workers.reply("destroyPlayer");
    await destroyed;
    expect(workers.hasPlayer).toBe(false);
  });

  test("destroying a player sends nothing where there is nothing to end, and only once", async () => {
    const destroyed = player.destroy();
    await workers.reply("destroyPlayer");
    await destroyed;
    await player.destroy();
    expect(received()).toEqual([]);
    expect(workers.all("destroyPlayer")).toHaveLength(1);
  });

  test("destroying a player asks its worker also when there is no session left to notify", async () => {
    await play();
    const { sink } = { sink: messages };
    sink.push = () => {
      throw new Error("cannot be written");
    };
    await expect(player.destroy()).rejects.toThrow("cannot be written");
    expect(workers.all("destroyPlayer")).toHaveLength(1);
  });

  test("destroying a player waits at most a second for the worker", async () => {
    const destroyed = player.destroy();
    clock.advance(1000);
    await expect(destroyed).resolves.toBeUndefined();
  });

  test("updates after it are refused", async () => {
    void player.destroy();
    await expect(update({ volume: 1 })).rejects.toMatchObject({ code: "player-destroyed" });
  });
});

describe("what a player keeps", () => {
  const text = (length: number) => ({ text: "x".repeat(length) });
  const equalizer = Array.from({ length: 256 }, () => ({ band: 1, gain: 0.123456 }));

  test("the memory of a player is counted while it is stored, and freed when the player is destroyed", async () => {
    const emptyBytes = memory.usedBytes;
    await play(buildTrack(), { userData: text(10_000), filters: { equalizer } });
    const fullBytes = memory.usedBytes;
    expect(fullBytes).toBeGreaterThan(emptyBytes + 15_000);
    await update({ userData: text(1000), filters: {} });
    expect(memory.usedBytes).toBeLessThan(fullBytes - 13_000);
    await play(buildTrack(), { userData: text(10_000), filters: { equalizer } });
    expect(memory.usedBytes).toBe(fullBytes);
    await update({ trackChange: { kind: "stop" }, filters: {} });
    expect(memory.usedBytes).toBeLessThan(emptyBytes + 100);
    clock.advance(1000);
    const destroyed = player.destroy();
    await workers.reply("destroyPlayer");
    await destroyed;
    expect(memory.usedBytes).toBe(0);
  });

  test("an update beyond the memory of the session is refused and changes nothing", async () => {
    await play(buildTrack({ title: "First" }), { userData: { who: "me" } });
    const beforeBytes = memory.usedBytes;
    const refused = update({ trackChange: { kind: "play", track: buildTrack() }, userData: text(100_000), volume: 5 });
    await expect(refused).rejects.toMatchObject({ code: "memory-exhausted" });
    expect(player.toJson()).toMatchObject({
      volume: 100,
      track: { info: { title: "First" }, userData: { who: "me" } },
    });
    expect(memory.usedBytes).toBe(beforeBytes);
    await update({ volume: 5 });
    expect(player.toJson().volume).toBe(5);
  });

  test("a track loaded by identifier is counted too, and refused before anything ends", async () => {
    await play(buildTrack({ title: "First" }));
    const beforeBytes = memory.usedBytes;
    const track = buildTrack({ title: "x".repeat(50_000) });
    loads.set("long", Promise.resolve({ kind: "track", track }));
    const refused = update({ trackChange: { kind: "load", identifier: "long", allowed: undefined } });
    await expect(refused).rejects.toMatchObject({ code: "memory-exhausted" });
    expect(player.toJson().track).toMatchObject({ info: { title: "First" } });
    expect(memory.usedBytes).toBe(beforeBytes);
  });

  test("a voice server that refuses leaves nothing of the voice data before", async () => {
    const beforeBytes = memory.usedBytes;
    await connect();
    expect(memory.usedBytes).toBeGreaterThan(beforeBytes);
    const refused = update({ voice: { ...CREDENTIALS, token: "t2" } }).catch((error) => error.code);
    await settle();
    await workers.replyError("connectVoice", BROKEN);
    expect(await refused).toBe("voice-connect-failed");
    expect(memory.usedBytes).toBe(beforeBytes);
  });

  test("updates that wait are counted until they are over", async () => {
    void connect().catch(() => undefined);
    const waiting = Array.from({ length: 8 }, () => update({ userData: text(10_000) }).catch((error) => error.code));
    await expect(update({ userData: text(20_000) })).rejects.toMatchObject({ code: "memory-exhausted" });
    expect(memory.usedBytes).toBeGreaterThan(80_000);
    void player.destroy();
    await workers.reply("connectVoice", { isConnected: true });
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["player-destroyed"]));
    await workers.reply("destroyPlayer");
    expect(memory.usedBytes).toBe(0);
  });
});

describe("a worker that dies", () => {
  test("a player with a lost worker continues elsewhere at its position, and the client gets no start, end or close", async () => {
    await connect();
    voiceIsReady();
    await play(buildTrack(), { endTimeMs: 20_000 });
    const filters = { volume: 0.5, pluginFilters: { tonearm: { highPass: { frequency: 80 } } } };
    await update({ volume: 40, filters });
    report(6000);
    clock.advance(200);
    received();
    workers.commands.length = 0;
    workers.lose();
    expect(player.toJson().state).toMatchObject({ position: 6200, connected: false, ping: -1 });
    clock.advance(400);
    workers.start();
    expect(workers.commands).toMatchObject([
      { type: "createPlayer", playerId: 2, guildId: GUILD_ID, userId: "42", volume: 40, filters },
      { type: "connectVoice", playerId: 2, voiceId: 2, credentials: CREDENTIALS },
      { type: "play", playerId: 2, trackId: 1, startMs: 6200, endMs: 20_000, isPaused: false },
    ]);
    await workers.reply("connectVoice", { isConnected: true });
    expect(received()).toEqual([]);
    voiceIsReady();
    expect(received()).toEqual(["update 6200 connected 0"]);
    report(6300);
    expect(player.toJson().state.position).toBe(6300);
  });

  test("a paused player with a lost worker stays paused, and its seeks count from 1 again", async () => {
    await play();
    await update({ positionMs: 9000 });
    await update({ isPaused: true });
    workers.lose();
    workers.start();
    expect(workers.last("play")).toMatchObject({ startMs: 9000, isPaused: true });
    report(9000, { rate: 0 });
    await update({ positionMs: 10_000 });
    expect(workers.last("seek").seekId).toBe(1);
  });

  test("a paused player starts elsewhere where it was paused, not at the later position that a client saw", async () => {
    await play();
    report(6000);
    clock.advance(100);
    await update({ isPaused: true });
    expect(player.toJson().state.position).toBe(6100);
    report(6080, { rate: 0 });
    expect(player.toJson().state.position).toBe(6100);
    expect(player.snapshot().track?.positionMs).toBe(6080);
    workers.lose();
    workers.start();
    expect(workers.last("play")).toMatchObject({ startMs: 6080, isPaused: true });
    expect(player.toJson().state.position).toBe(6100);
  });

  test("a stream with a lost worker restarts but its position continues", async () => {
    await play(buildTrack({ isStream: true, isSeekable: false, length: 9223372036854775807n }));
    report(60_000, { rate: 0 });
    workers.lose();
    workers.start();
    expect(workers.last("play").startMs).toBe(0);
    report(500);
    expect(player.toJson().state.position).toBe(60_500);
  });

  test("requests without a worker are applied when there is one", async () => {
    workers.lose();
    await play(buildTrack(), { volume: 20, voice: CREDENTIALS, positionMs: 1000 });
    expect(player.toJson()).toMatchObject({ volume: 20, state: { position: 1000, connected: false } });
    workers.commands.length = 0;
    workers.start();
    expect(workers.commands.map(({ type }) => type)).toEqual(["createPlayer", "connectVoice", "play"]);
    expect(workers.last("createPlayer").volume).toBe(20);
  });

  test("an update that waits for voice is answered as still trying", async () => {
    const connected = update({ voice: CREDENTIALS });
    await settle();
    workers.lose();
    await connected;
    expect(player.toJson().voice).toEqual(CREDENTIALS);
    workers.start();
    expect(workers.last("connectVoice")).toMatchObject({ voiceId: 2, credentials: CREDENTIALS });
  });

  test("a connection that is not re-established is reported by an event", async () => {
    await connect();
    workers.lose();
    workers.start();
    await workers.replyError("connectVoice", BROKEN);
    expect(received()[0]).toBe('WebSocketClosed 1006 "Failed to connect to voice server" by remote');
  });

  test("a silent player needs an admission before it plays, and is refused without capacity", async () => {
    workers.refusal = new NodeError("node-overloaded", "no capacity");
    workers.commands.length = 0;
    const more = { voice: CREDENTIALS, volume: 7, filters: { volume: 0.5 }, isPaused: true };
    await expect(play(buildTrack(), more)).rejects.toMatchObject({ code: "node-overloaded" });
    expect(player.toJson()).toMatchObject({ track: null, volume: 100, filters: {}, paused: false });
    expect(workers.commands).toEqual([]);
  });

  test("an admitted player reserves capacity while it waits for voice, also before it plays", async () => {
    expect(player.needsCapacity).toBe(false);
    const playing = play(buildTrack(), { voice: CREDENTIALS });
    await settle();
    expect([player.needsCapacity, player.isPlaying]).toEqual([true, false]);
    await workers.reply("connectVoice", { isConnected: true });
    await playing;
    expect([player.needsCapacity, player.isPlaying]).toEqual([true, true]);
  });

  test("a player whose voice server refuses reserves no capacity any more", async () => {
    const refused = play(buildTrack(), { voice: CREDENTIALS }).catch((error) => error.code);
    await settle();
    await workers.replyError("connectVoice", BROKEN);
    expect(await refused).toBe("voice-connect-failed");
    expect(player.needsCapacity).toBe(false);
  });

  test("a player that plays, or has within a minute, needs no new admission", async () => {
    await play();
    expect(workers.admitted).toBe(1);
    await play();
    workers.say({ type: "trackEnded", trackId: 2, reason: "finished" });
    clock.advance(59_000);
    await play();
    expect(workers.admitted).toBe(1);
    await update({ trackChange: { kind: "stop" } });
    clock.advance(60_000);
    await play();
    expect(workers.admitted).toBe(2);
  });

  test("a track that its worker was processing when it died is suspected, and continues isolated", async () => {
    await play();
    received();
    expect(player.isSuspect).toBe(false);
    workers.lose({ kind: "suspect", activity: "read" });
    expect(player.isSuspect).toBe(true);
    workers.isIsolated = true;
    workers.start();
    expect(workers.last("play")).toMatchObject({ trackId: 1 });
    expect(received()).toEqual([]);
    await play(buildTrack({ identifier: "http://example/other" }));
    expect(player.isSuspect).toBe(false);
  });

  test("a track that crashes its isolated worker is given up; requested again it plays isolated", async () => {
    await play();
    received();
    workers.lose({ kind: "suspect", activity: "read" });
    workers.isIsolated = true;
    workers.start();
    workers.lose({ kind: "culprit", activity: "read" });
    expect(received()).toMatchObject([expect.stringContaining("TrackException"), "TrackEnd loadFailed at 0"]);
    expect(logged).toMatchObject([{ message: "track ended by the node", code: "track-crashes-worker" }]);
    workers.commands.length = 0;
    workers.isIsolated = false;
    workers.start();
    expect(workers.commands.map(({ type }) => type)).toEqual(["createPlayer"]);

    workers.commands.length = 0;
    await play();
    expect(workers.commands.map(({ type }) => type)).toEqual(["createPlayer", "play"]);
    expect(workers.isIsolated).toBe(true);
  });

  test("a filter of a plugin that stops its worker is removed, and the track is not to blame", async () => {
    const pluginFilters: object = { wobble: { depth: 1 } };
    const filters = { volume: 0.5, pluginFilters };
    for (const kind of ["suspect", "culprit"] as const) {
      await play(buildTrack(), { filters });
      received();
      workers.lose({ kind, activity: "filter" });
      expect(player.isSuspect).toBe(false);
      expect(received()).toEqual(["FilterRemoved", "update 0 away -1"]);
      expect(player.toJson().filters).toEqual({ volume: 0.5 });
      workers.start();
      expect(workers.last("createPlayer").filters).toEqual({ volume: 0.5 });
      expect(faults.pop()).toMatchObject({ filter: "wobble", reason: "workerLost", guildId: GUILD_ID });
    }
  });

  test("a filter of a plugin that its worker has removed is removed, and its client is told once", async () => {
    const pluginFilters: object = { wobble: { depth: 1 }, other: {} };
    const filters = { pluginFilters };
    await play(buildTrack(), { filters });
    messages.length = 0;
    for (const _ of [1, 2])
      workers.say({ type: "filterRemoved", filter: "wobble", reason: "failed", message: "Error: secret" });
    const told = { type: "FilterRemovedEvent", guildId: GUILD_ID, filter: "wobble", reason: "failed" };
    const message = "the filter failed with an error, which is in the node's log";
    expect(messages).toMatchObject([{ op: "event", ...told, message }, { op: "playerUpdate" }]);
    expect(player.toJson().filters).toEqual({ pluginFilters: { other: {} } });
    expect(workers.last("setFilters").filters).toEqual({ pluginFilters: { other: {} } });
    expect(faults).toMatchObject([{ message: "Error: secret" }]);
  });

  test("a voice server that crashes an isolated worker is not connected to again; the track stays", async () => {
    await connect();
    await play();
    received();
    workers.lose({ kind: "suspect", activity: "voice" });
    workers.start();
    workers.lose({ kind: "culprit", activity: "voice" });
    expect(received()[0]).toMatch(/^WebSocketClosed 1006/);
    workers.commands.length = 0;
    workers.start();
    expect(workers.commands.map(({ type }) => type)).toEqual(["createPlayer", "play"]);
  });

  test("a track over its CPU quota continues isolated, and ends when it exceeds the quota again", async () => {
    await play();
    received();
    workers.say({ type: "trackOverQuota", trackId: 1, share: 0.5 });
    expect(workers.isIsolated).toBe(true);
    expect(received()).toEqual([]);
    workers.say({ type: "trackOverQuota", trackId: 1, share: 0.9 });
    expect(workers.commands.at(-1)?.type).toBe("stop");
    expect(received()).toMatchObject([expect.stringContaining("TrackException"), "TrackEnd loadFailed at 0"]);
    expect(logged.at(-1)).toMatchObject({ message: "track ended by the node", code: "track-too-costly" });
  });

  test("a track over its CPU quota that cannot be isolated ends, and may be tried again", async () => {
    await play();
    received();
    workers.hasIsolatedCapacity = false;
    workers.say({ type: "trackOverQuota", trackId: 1, share: 0.5 });
    expect(received()).toMatchObject([expect.stringContaining("TrackException"), "TrackEnd loadFailed at 0"]);
    expect(deadlyTracks.has(buildTrack())).toBe(false);
    await play();
    expect(workers.commands.at(-1)?.type).toBe("play");
  });

  test("a track that is known to crash workers is refused when it cannot play isolated", async () => {
    deadlyTracks.add(buildTrack(), ["test"]);
    workers.hasIsolatedCapacity = false;
    await play();
    clock.advance(0);
    expect(workers.commands.map(({ type }) => type)).not.toContain("play");
    expect(received().slice(-2)).toMatchObject([expect.stringContaining("TrackException"), "TrackEnd loadFailed at 0"]);
    workers.hasIsolatedCapacity = true;
    await play();
    expect(workers.isIsolated).toBe(true);
    expect(workers.commands.at(-1)?.type).toBe("play");
  });

  test("a track is suspected without evidence when three workers in a row die soon after its start there", async () => {
    await play();
    for (let loss = 0; loss < 3; loss++) {
      expect(player.isSuspect).toBe(false);
      workers.lose();
      workers.start();
    }
    expect(player.isSuspect).toBe(true);
    expect(player.toJson().track).not.toBeNull();
  });

  test("a track that plays long between the losses of its workers is never suspected", async () => {
    await play();
    for (let loss = 0; loss < 5; loss++) {
      clock.advance(10_000);
      workers.lose();
      workers.start();
    }
    expect(player.isSuspect).toBe(false);
  });
});

test("a worker lost during playback is an incident until the player sends audio on another", async () => {
  await play();
  report(1000);
  workers.lose();
  clock.advance(700);
  expect(player.diagnose()).toMatchObject({ incidents: [{ cause: "workerLost", length: 700, isOver: false }] });
  workers.start();
  report(1000, { rate: 0 });
  clock.advance(100);
  report(1000);
  expect(player.diagnose()).toMatchObject({
    guildId: GUILD_ID,
    track: { sourceName: "http" },
    paused: false,
    incidents: [{ cause: "workerLost", length: 800, isOver: true }],
  });
  expect(workers.incidents).toMatchObject([{ cause: "workerLost", framesLost: 40 }]);
  await update({ isPaused: true });
  workers.lose();
  clock.advance(700);
  expect(player.diagnose().incidents).toHaveLength(1);
});

test("a diagnosis has the volume, the filters that change the audio, and the voice region without its token", async () => {
  expect(player.diagnose()).toMatchObject({ volume: 100, filters: [], region: null });
  const endpoint = "rotterdam12.discord.media:443";
  await connect({ ...CREDENTIALS, endpoint });
  await update({ volume: 40, filters: { volume: 1, tremolo: { frequency: 2, depth: 0.5 } } });
  expect(player.diagnose()).toMatchObject({ volume: 40, filters: ["tremolo"], region: "rotterdam" });
  expect(JSON.stringify(player.diagnose())).not.toContain(CREDENTIALS.token);
});

test("a position in the report of a worker counts like one that comes alone", async () => {
  await play();
  const { playerId } = workers;
  const { trackId } = workers.last("play");
  const position = { playerId, trackId, seekId: 0, positionMs: 4000, epochMs: clock.epochMs(), rate: 1 };
  workers.say({ type: "playerReport", report: { playerId, position } });
  clock.advance(250);
  expect(player.diagnose().position).toBe(4250);
});

test("a player retains the last two frame minutes", () => {
  const lostFrames = noLosses();
  for (const minute of [7, 8, 9]) {
    const entry = { minute, sentFrames: 3000, lostFrames, isWholeMinute: true };
    workers.say({ type: "playerReport", report: { playerId: 1, minute: entry } });
  }
  expect(player.frameMinute(7)).toBeUndefined();
  expect(player.frameMinute(8)?.sentFrames).toBe(3000);
  expect(player.frameMinute(9)?.minute).toBe(9);
});

test("a player plays twenty tracks one after the other without delay, and more as time passes", async () => {
  const plays = () => workers.commands.filter(({ type }) => type === "play").length;
  const settleAll = async () => {
    for (let iteration = 0; iteration < 30; iteration++) await settle();
  };
  const asked = Array.from({ length: 30 }, () => play());
  await settleAll();
  expect(plays()).toBe(20);
  clock.advance(200);
  await settleAll();
  expect(plays()).toBe(21);
  for (let count = 0; count < 9; count++) {
    clock.advance(200);
    await settleAll();
  }
  await Promise.all(asked);
  expect(plays()).toBe(30);
});

test("each of several players that start at once counts those that were admitted before it", async () => {
  const others = Array.from({ length: 5 }, createPlayer);
  const seen: number[] = [];
  vi.spyOn(workers, "admit").mockImplementation(async (_player, { onAdmitted }) => {
    seen.push(others.filter(({ needsCapacity }) => needsCapacity).length);
    onAdmitted();
  });
  const trackChange = { kind: "play", track: buildTrack() } as const;
  const options = { isReplacing: true };
  await Promise.all(others.map((other) => other.update({ ...EMPTY_UPDATE, trackChange }, options)));
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});
