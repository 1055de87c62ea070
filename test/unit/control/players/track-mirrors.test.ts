import { beforeEach, describe, expect, test } from "vitest";
import type { WireError } from "../../../../src/bridge/wire-error.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import type { OutgoingMessage } from "../../../../src/control/protocol/outgoing-message.ts";
import type { MirrorRequest } from "../../../../src/control/sources/mirror-search.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { createLogger } from "../../../../src/log/log.ts";
import type { Track } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const PRIVATE = { severity: "common", cause: "SourceError: private", causeStackTrace: "" } as const;
const NOT_FOUND = { mirror: undefined, missText: "Nothing was found.", isLogged: true };
const FOUND = { provider: "scsearch:%QUERY%", score: 0.8, reasons: ["same title"] };
const VIDEO = buildTrack({
  sourceName: "youtube",
  identifier: "video",
  title: "Song",
  author: "Artist",
  length: 200_000,
});

interface Search extends MirrorRequest {
  readonly untilMs?: number | undefined;
  readonly answer: (found: Track | undefined) => Promise<void>;
}

let clock: FakeClock;
let workers: FakeWorkers;
let messages: OutgoingMessage[];
let logged: string[];
let searches: Search[];
let offSources: string[];
let counted: string[];
let forgotten: string[];
let inputs: Track[];
let memory: ByteBudget;
let player: Player;
/** Of a player without a track. */
let idleBytes: number;

beforeEach(() => {
  clock = new FakeClock();
  [messages, logged, searches, offSources] = [[], [], [], []];
  [counted, forgotten, inputs] = [[], [], []];
  memory = new ByteBudget({ owner: "the session", limitBytes: 100_000 });
  [player, workers] = createPlayer();
  idleBytes = memory.usedBytes;
});

function createPlayer({ isHeld = false } = {}): [Player, FakeWorkers] {
  const pool = new FakeWorkers(clock);
  const made = new Player({
    guildId: "1",
    userId: "42",
    sessionId: "session",
    account: "key a",
    sink: { send: (message) => messages.push(message) },
    workers: pool,
    tracks: {
      load: () => Promise.reject(new Error("no loads in this test")),
      playableInput: (track) => {
        const { info, encoded } = track;
        const { sourceName } = info;
        inputs.push(track);
        if (offSources.includes(sourceName)) throw new NodeError("source-unavailable", `no source ${sourceName}`);
        return { kind: "site", track: { sourceName, encoded, userData: {} } };
      },
    },
    mirrors: {
      isNeeded: ({ info }) => info.sourceName === "spotify",
      isFor: ({ info }, { code }) => info.sourceName !== "soundcloud" && code !== "key-forbidden",
      count: ({ info }, mirror) => counted.push(`${info.sourceName} to ${mirror?.info.sourceName}`),
      forget: (_track, { info }) => forgotten.push(info.identifier),
      find: (_track, options) =>
        new Promise((resolve, reject) => {
          options.signal.addEventListener("abort", () => reject(options.signal.reason));
          searches.push({
            ...options,
            tried: [...options.tried],
            answer: (found) =>
              Promise.resolve(resolve(found === undefined ? NOT_FOUND : { mirror: { ...FOUND, track: found } })).then(
                settle,
              ),
          });
        }),
    },
    sharedIncidents: new SharedIncidents({ clock, logger: createLogger(() => undefined) }),
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    clock,
    memory,
    isHeld,
    logger: createLogger((level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields)}`)),
    deadlyTracks: new DeadlyTracks(),
    voiceConnectTimeoutMs: 5000,
  });
  return [made, pool];
}

function update(change: Partial<PlayerUpdate>): Promise<void> {
  return player.update({ ...EMPTY_UPDATE, ...change }, { isReplacing: true });
}

async function play(track = VIDEO, more: Partial<PlayerUpdate> = {}): Promise<void> {
  await update({ trackChange: { kind: "play", track }, ...more });
  messages.splice(0);
}

function song(identifier: string): Track {
  const uri = `https://soundcloud.example/${identifier}`;
  return buildTrack({ sourceName: "soundcloud", identifier, title: "Song", author: "Artist", length: 203_000, uri });
}

function sayException(code = "site-unavailable", message = "This video is private"): void {
  const error: WireError = { code, message, ...PRIVATE };
  workers.say({ type: "trackException", trackId: workers.last("play").trackId, error });
}

/** The worker reports that the track that it was told to play cannot be opened. */
async function fail(code?: string, message?: string): Promise<void> {
  sayException(code, message);
  workers.say({ type: "trackEnded", trackId: workers.last("play").trackId, reason: "loadFailed" });
  await settle();
}

function report(positionMs: number, seekId = 0): void {
  const { trackId } = workers.last("play");
  const base = { playerId: workers.playerId, trackId, seekId, positionMs, epochMs: clock.epochMs(), rate: 1 };
  workers.say({ type: "position", report: base });
}

function received(): string[] {
  return messages.splice(0).flatMap((message) => {
    if (message.op !== "event") return [];
    if (message.type === "TrackEndEvent") return [`TrackEnd ${message.reason}`];
    return [message.type === "TrackExceptionEvent" ? `TrackException ${message.exception.message}` : message.type];
  });
}

function playedSource(): string {
  const { input } = workers.last("play");
  return input.kind === "site" ? input.track.sourceName : input.kind;
}

describe("a track that cannot be started", () => {
  test("it is played from elsewhere; the client keeps its track and gets no event but its end", async () => {
    await play(VIDEO, { userData: { who: "me" }, positionMs: 7000, endTimeMs: 90_000 });
    const before = player.toJson().track;
    await fail();
    expect(searches).toMatchObject([{ owner: ["key a", "key a, user 42"], tried: [] }]);
    await searches[0]?.answer(song("right"));
    expect([playedSource(), workers.last("play")]).toMatchObject([
      "soundcloud",
      { trackId: 2, startMs: 7000, endMs: 90_000, lengthMs: 203_000 },
    ]);
    const fallback = {
      sourceName: "soundcloud",
      identifier: "right",
      title: "Song",
      author: "Artist",
      length: 203_000,
      uri: "https://soundcloud.example/right",
      ...FOUND,
      reason: "This video is private",
    };
    expect(player.toJson().track).toEqual({ ...before, pluginInfo: { ...before?.pluginInfo, fallback } });
    report(8000);
    workers.say({ type: "trackEnded", trackId: 2, reason: "finished" });
    expect(received()).toEqual(["TrackEnd finished"]);
    expect(logged).toEqual([
      `info track could not be started: played from its fallback instead ${JSON.stringify({
        guildId: "1",
        title: "Song",
        source: "youtube",
        uri: "https://soundcloud.example/right",
        reason: "This video is private",
        fallback: "soundcloud",
      })}`,
    ]);
  });

  test("nothing is found: the client gets the error of its own track, with one sentence more", async () => {
    await play();
    await fail();
    expect(received()).toEqual([]);
    await searches[0]?.answer(undefined);
    expect(received()).toEqual(["TrackException This video is private. Nothing was found.", "TrackEnd loadFailed"]);
    expect(player.toJson().track).toBeNull();
  });

  test("a fallback that cannot be started is followed by the next, five times", async () => {
    await play();
    await fail();
    for (const [index, identifier] of ["one", "two", "three", "four", "five"].entries()) {
      expect(searches[index]?.tried).toHaveLength(index);
      await searches[index]?.answer(song(identifier));
      await fail("site-unavailable", `${identifier} is encrypted.`);
    }
    expect(searches).toHaveLength(5);
    expect(received()).toEqual([
      "TrackException This video is private. It could not be played from its fallback (soundcloud) either: five is encrypted.",
      "TrackEnd loadFailed",
    ]);
  });

  test("no further fallback is looked for when the tries take more than 20 s", async () => {
    await play();
    await fail();
    await clock.advance(20_001);
    await searches[0]?.answer(song("one"));
    await fail("link-refused", "refused");
    expect(searches).toHaveLength(1);
    expect(received()[1]).toBe("TrackEnd loadFailed");
  });

  test("a source that is off is a reason, too", async () => {
    offSources = ["youtube"];
    await play();
    await clock.advance(0);
    await settle();
    await searches[0]?.answer(song("right"));
    expect([playedSource(), received()]).toEqual(["soundcloud", []]);
  });

  test("a failure that another source would not change is reported at once", async () => {
    await play();
    sayException("key-forbidden", "not with this key");
    expect(received()).toEqual(["TrackException not with this key"]);
    workers.say({ type: "trackEnded", trackId: 1, reason: "loadFailed" });
    expect([received(), searches]).toEqual([["TrackEnd loadFailed"], []]);
  });

  test("a failure in the middle of a track is reported, and nothing is looked for", async () => {
    await play();
    report(1000);
    sayException();
    expect(received()).toEqual(["TrackException This video is private"]);
    workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
    expect([received(), searches]).toEqual([["TrackEnd finished"], []]);
  });

  test("an exception after which the track ends otherwise is reported before its end", async () => {
    await play();
    sayException();
    workers.say({ type: "trackEnded", trackId: 1, reason: "cleanup" });
    expect([received(), searches]).toEqual([["TrackException This video is private", "TrackEnd cleanup"], []]);
  });

  test("a fallback too large for the session's memory is not played", async () => {
    await play();
    await fail();
    memory.take(memory.limitBytes - memory.usedBytes, "others");
    await searches[0]?.answer(song("right"));
    expect(received()).toEqual([
      expect.stringContaining("This video is private. Looking for the same recording elsewhere failed: "),
      "TrackEnd loadFailed",
    ]);
  });
});

describe("while it is looked for", () => {
  test("a stop ends the search, and its result is not played", async () => {
    await play();
    await fail();
    await update({ trackChange: { kind: "stop" } });
    expect(searches[0]?.signal.aborted).toBe(true);
    await searches[0]?.answer(song("right"));
    expect([received(), workers.commands.at(-1)?.type, player.toJson().track]).toEqual([
      ["TrackEnd stopped"],
      "stop",
      null,
    ]);
  });

  test("another track replaces it and has its own search", async () => {
    await play();
    await fail();
    await update({ trackChange: { kind: "play", track: VIDEO } });
    expect(received()).toEqual(["TrackEnd replaced", "TrackStartEvent"]);
    await searches[0]?.answer(song("late"));
    expect(playedSource()).toBe("youtube");
    await fail();
    expect(searches[1]?.tried).toEqual([]);
  });

  test("a seek and a pause count when the fallback starts", async () => {
    await play();
    await fail();
    await update({ positionMs: 60_000, isPaused: true });
    await searches[0]?.answer(song("right"));
    expect(workers.last("play")).toMatchObject({ startMs: 60_000, isPaused: true });
  });

  test("a lost worker does not start the track that has failed again", async () => {
    await play();
    await fail();
    workers.lose();
    workers.start();
    expect(workers.commands.filter(({ type }) => type === "play")).toHaveLength(1);
    await searches[0]?.answer(song("right"));
    expect(playedSource()).toBe("soundcloud");
  });
});

describe("a player that plays a fallback", () => {
  beforeEach(async () => {
    await play();
    await fail();
    await searches[0]?.answer(song("right"));
    report(1000);
  });

  test("it plays that on another worker", () => {
    workers.lose();
    workers.start();
    expect([playedSource(), workers.last("play").startMs]).toEqual(["soundcloud", 1000]);
  });

  test("it plays that after it was restored, and looks for the next when that fails", async () => {
    const snapshot = structuredClone(player.snapshot());
    messages.splice(0);
    [player, workers] = createPlayer({ isHeld: true });
    player.restore(snapshot);
    void player.begin();
    expect([playedSource(), player.toJson().track?.pluginInfo]).toMatchObject(["soundcloud", { fallback: {} }]);
    await fail("link-refused", "refused");
    expect(searches[1]?.tried.map(({ info }) => info.identifier)).toEqual(["right"]);
    await searches[1]?.answer(song("next"));
    expect(player.toJson().track?.pluginInfo).toMatchObject({
      fallback: { identifier: "next", reason: "This video is private" },
    });
  });

  test("its next track is its own", async () => {
    await play(song("next"));
    expect(player.toJson().track?.pluginInfo).not.toHaveProperty("fallback");
    await update({ trackChange: { kind: "stop" } });
    expect(memory.usedBytes).toBe(idleBytes);
  });
});

describe("markers of a track that is played from its fallback", () => {
  const at = () => workers.last("setMarkers").markers.map(({ positionMs, isDone }) => [positionMs, isDone]);
  let told: string[];

  /** The worker goes behind an intro before it opens the track. */
  function skipIntro(): void {
    told = [];
    const onMarker = (group: string) => (id: number, outcome: string) => told.push(`${group} ${id} ${outcome}`);
    const segments = [
      { id: 1, positionMs: 5000, skipToMs: 15_000 },
      { id: 2, positionMs: 100_000, skipToMs: 110_000 },
    ];
    const removed = (group: string) => ({ onRemoved: () => told.push(`${group}s removed`) });
    player.setMarkers("plugin segments", segments, onMarker("segment"), removed("segment"));
    player.setMarkers("lyrics", [{ id: 1, positionMs: 6000 }], onMarker("line"), removed("line"));
    const { trackId, markers } = workers.last("setMarkers");
    const passed = [markers[0]!, markers[2]!].map(({ id }) => ({ id, outcome: "bypassed" as const, epochMs: 0 }));
    workers.say({ type: "markersPassed", trackId, seekId: 0, passed });
    const base = { playerId: workers.playerId, trackId, seekId: 0, epochMs: clock.epochMs() };
    workers.say({ type: "position", report: { ...base, positionMs: 15_000, rate: 0 } });
  }

  test("those of plugins end, and it starts where the client's track was to start", async () => {
    await play(VIDEO, { positionMs: 5000 });
    skipIntro();
    await fail();
    await searches[0]?.answer(song("next"));
    expect(workers.last("play")).toMatchObject({ trackId: 2, startMs: 5000 });
    expect(told).toEqual(["segment 1 bypassed", "line 1 bypassed", "segments removed"]);
    expect(at()).toEqual([[6000, false]]);
    expect(workers.last("setMarkers").trackId).toBe(2);
  });

  test("or where the last seek led", async () => {
    await play();
    skipIntro();
    await update({ positionMs: 30_000 });
    await fail();
    await searches[0]?.answer(song("next"));
    expect(workers.last("play")).toMatchObject({ trackId: 2, startMs: 30_000 });
    expect(at()).toEqual([[6000, true]]);
  });
});

describe("a track of a mirrored source", () => {
  const TRACK = buildTrack({ sourceName: "spotify", identifier: "4uLU", title: "Song", length: 200_000 });
  const plays = () => workers.all("play").length;

  /** The worker reports that what plays breaks off. */
  async function breakOff(message = "HTTP 404"): Promise<void> {
    sayException("input-http-status", message);
    workers.say({ type: "trackEnded", trackId: workers.last("play").trackId, reason: "finished" });
    await settle();
  }

  test("it is looked for at once, and only what is found goes to a worker", async () => {
    await update({ trackChange: { kind: "play", track: TRACK }, positionMs: 5000, endTimeMs: 90_000 });
    expect([searches.length, plays(), received()]).toEqual([1, 0, ["TrackStartEvent"]]);
    await searches[0]?.answer(song("right"));
    expect(workers.last("play")).toMatchObject({ startMs: 5000, endMs: 90_000, lengthMs: 203_000 });
    expect(player.toJson().track).toMatchObject({
      info: { sourceName: "spotify", identifier: "4uLU" },
      pluginInfo: { mirror: { sourceName: "soundcloud", identifier: "right", ...FOUND } },
    });
    workers.say({ type: "trackEnded", trackId: workers.last("play").trackId, reason: "finished" });
    expect(received()).toEqual(["TrackEnd finished"]);
    expect(logged).toEqual([expect.stringMatching(/^debug track plays from a mirror .*"score":0.8/)]);
  });

  test("what plays is stopped while its successor is looked for", async () => {
    await play(song("before"));
    await play(TRACK);
    expect(workers.commands.at(-1)?.type).toBe("stop");
  });

  test("nothing is found: the client is told after the answer that plays it", async () => {
    await play(TRACK);
    await searches[0]?.answer(undefined);
    expect([received(), logged]).toEqual([[], [expect.stringMatching(/^info no mirror found .*"Nothing was found."/)]]);
    clock.advance(0);
    expect(received()).toEqual(["TrackException No mirror found for track. Nothing was found.", "TrackEnd loadFailed"]);
  });

  test("a mirror that breaks off is followed by the next, from where it was", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    report(42_000);
    await breakOff();
    clock.advance(3000);
    expect(player.toJson().state.position).toBe(42_000);
    await searches[1]?.answer(song("two"));
    expect(searches[1]?.tried.map(({ info }) => info.identifier)).toEqual(["one"]);
    expect(workers.last("play")).toMatchObject({ trackId: 3, startMs: 42_000 });
    expect(player.toJson().track?.pluginInfo).toMatchObject({ mirror: { identifier: "two" } });
    expect(received()).toEqual([]);
  });

  test("an own track that has been audible is not left, its fallback is", async () => {
    await play();
    await fail();
    await searches[0]?.answer(song("one"));
    report(42_000);
    await breakOff();
    await searches[1]?.answer(song("two"));
    expect(workers.last("play")).toMatchObject({ startMs: 42_000 });
    expect(player.toJson().track?.pluginInfo).toMatchObject({
      fallback: { identifier: "two", reason: "This video is private" },
    });
  });

  test("a seek, a pause and an end time count that come while the next is looked for", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    report(42_000);
    await breakOff();
    await update({ positionMs: 70_000, endTimeMs: 80_000, isPaused: true });
    await searches[1]?.answer(song("two"));
    expect(workers.last("play")).toMatchObject({ startMs: 70_000, endMs: 80_000, isPaused: true });
  });

  test("each break starts another 20 s, and the sixth mirror is not looked for", async () => {
    await play(TRACK);
    for (const [index, identifier] of ["one", "two", "three", "four", "five"].entries()) {
      await searches[index]?.answer(song(identifier));
      expect(searches[index]?.untilMs).toBe(clock.now() + 20_000);
      report(1000 * index + 1000);
      clock.advance(25_000);
      await breakOff(`${identifier} is gone`);
    }
    expect(searches).toHaveLength(5);
    expect(received()).toEqual([
      "TrackException No mirror found for track. What was found (soundcloud) could not be played: five is gone",
      "TrackEnd finished",
    ]);
  });

  test("a failure that another source would not change ends it, and it is not what others get", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    await fail("key-forbidden", "not with this key");
    expect([received(), searches.length]).toEqual([["TrackException not with this key", "TrackEnd loadFailed"], 1]);
    expect(forgotten).toEqual(["one"]);
  });

  test("it is forgotten at its failure, also where no further one is looked for", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    clock.advance(20_001);
    await fail();
    expect([searches.length, forgotten]).toEqual([1, ["one"]]);
  });

  test.each([
    [TRACK, undefined, 194_000, 1],
    [TRACK, undefined, 196_000, 0],
    [TRACK, 100_000, 96_000, 0],
    [TRACK, 100_000, 94_000, 1],
  ])("one that breaks off within its last 5 s has finished: %#", async (track, endTimeMs, positionMs, count) => {
    await play(track, endTimeMs === undefined ? {} : { endTimeMs });
    await searches[0]?.answer(song("one"));
    report(positionMs);
    await breakOff();
    expect([searches.length - 1, received()]).toEqual([count, count === 0 ? ["TrackEnd finished"] : []]);
    const line = "info mirror broke off at its end: the track is finished";
    expect(logged.filter((text) => text.startsWith(line))).toHaveLength(1 - count);
    expect(forgotten).toEqual(["one"]);
  });

  test.each([
    [{}, undefined, 20, 2],
    [{}, undefined, 2200, 2],
    [{}, undefined, 2300, 1],
    [{ positionMs: 4000 }, undefined, 4100, 2],
    [{}, 4000, 4100, 2],
    [{}, 4000, 4300, 1],
  ])("a short track has finished when as much was heard as is left: %#", async (start, seekMs, positionMs, count) => {
    await play({ ...TRACK, info: { ...TRACK.info, length: 4500 } }, start);
    await searches[0]?.answer(song("one"));
    if (seekMs !== undefined) {
      report(100);
      await update({ positionMs: seekMs });
    }
    report(positionMs, seekMs === undefined ? 0 : 1);
    await breakOff();
    expect(searches).toHaveLength(count);
  });

  test("one that was shorter, and breaks off at its own end, has finished", async () => {
    await play(TRACK);
    await searches[0]?.answer({ ...song("one"), info: { ...song("one").info, length: 190_000 } });
    report(188_000);
    await breakOff();
    expect([searches.length, received()]).toEqual([1, ["TrackEnd finished"]]);
  });

  test("one that starts within the last 5 s and fails is followed by the next", async () => {
    await play(TRACK, { positionMs: 198_000 });
    await searches[0]?.answer(song("one"));
    await fail();
    expect(searches).toHaveLength(2);
  });

  test("a track counts once: when something is heard for the first time, or at its end", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    expect(counted).toEqual([]);
    report(1000);
    await breakOff();
    await searches[1]?.answer(song("two"));
    report(2000);
    await breakOff();
    await searches[2]?.answer(undefined);
    expect([received().at(-1), counted]).toEqual(["TrackEnd finished", ["spotify to soundcloud"]]);
    await play(TRACK);
    await searches[3]?.answer(song("one"));
    await fail();
    await searches[4]?.answer(undefined);
    expect(counted.slice(1)).toEqual(["spotify to undefined"]);
    await play(TRACK);
    await update({ trackChange: { kind: "stop" } });
    await searches[5]?.answer(undefined);
    expect(counted).toHaveLength(2);
  });

  test("its site gets the client's user data", async () => {
    const userData = { "oauth-token": "secret" };
    await play(TRACK, { userData });
    await searches[0]?.answer(song("one"));
    expect(inputs).toMatchObject([{ info: { identifier: "one" }, userData }]);
  });

  test("a mirror that crashes workers is followed by the next", async () => {
    await play(TRACK);
    await searches[0]?.answer(song("one"));
    await fail("track-crashes-worker");
    expect(searches).toHaveLength(2);
  });

  test("a stop ends the search; a worker that comes meanwhile gets nothing to play", async () => {
    await play(TRACK);
    workers.lose();
    workers.start();
    expect([searches.length, plays()]).toEqual([1, 0]);
    await update({ trackChange: { kind: "stop" } });
    expect(searches[0]?.signal.aborted).toBe(true);
    await searches[0]?.answer(song("late"));
    expect([plays(), received()]).toEqual([0, ["TrackEnd stopped"]]);
  });

  test("a search goes on while its worker is lost, and the next worker gets what it finds", async () => {
    await play(TRACK);
    workers.lose();
    await searches[0]?.answer(song("right"));
    expect(plays()).toBe(0);
    workers.start();
    expect([plays(), searches.length, playedSource()]).toEqual([1, 1, "soundcloud"]);
  });

  test("a player that is restored plays the chosen mirror; one without looks for it", async () => {
    await play(TRACK);
    const early = structuredClone(player.snapshot());
    await searches[0]?.answer(song("right"));
    const late = structuredClone(player.snapshot());
    [player, workers] = createPlayer({ isHeld: true });
    player.restore(late);
    void player.begin();
    expect([playedSource(), searches.length]).toEqual(["soundcloud", 1]);
    [player, workers] = createPlayer({ isHeld: true });
    player.restore(early);
    void player.begin();
    expect([plays(), searches.length]).toEqual([0, 2]);
  });
});
