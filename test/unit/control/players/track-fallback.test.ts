import { beforeEach, describe, expect, test } from "vitest";
import type { WireError } from "../../../../src/bridge/wire-error.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import type { OutgoingMessage } from "../../../../src/control/protocol/outgoing-message.ts";
import type { FallbackSearch } from "../../../../src/control/sources/fallbacks.ts";
import { NodeError } from "../../../../src/errors.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { createLogger } from "../../../../src/log/log.ts";
import type { Track } from "../../../../src/track/track.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const PRIVATE = { severity: "common", cause: "SourceError: private", causeStackTrace: "" } as const;
const NOT_FOUND = { track: undefined, missText: "Nothing was found." };
const VIDEO = buildTrack({
  sourceName: "youtube",
  identifier: "video",
  title: "Song",
  author: "Artist",
  length: 200_000,
});

interface Search extends FallbackSearch {
  readonly answer: (found: Track | undefined) => Promise<void>;
}

let clock: FakeClock;
let workers: FakeWorkers;
let messages: OutgoingMessage[];
let logged: string[];
let searches: Search[];
let offSources: string[];
let memory: ByteBudget;
let player: Player;
/** Of a player without a track. */
let idleBytes: number;

beforeEach(() => {
  clock = new FakeClock();
  [messages, logged, searches, offSources] = [[], [], [], []];
  memory = new ByteBudget({ owner: "the session", limitBytes: 100_000 });
  [player, workers] = createPlayer();
  idleBytes = memory.usedBytes;
});

function createPlayer(): [Player, FakeWorkers] {
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
      playableInput: ({ info, encoded }) => {
        const { sourceName } = info;
        if (offSources.includes(sourceName)) throw new NodeError("source-unavailable", `no source ${sourceName}`);
        return { kind: "site", track: { sourceName, encoded, userData: {} } };
      },
    },
    fallbacks: {
      isFor: ({ info }, { code }) => info.sourceName === "youtube" && code !== "key-forbidden",
      find: (_track, options) =>
        new Promise((resolve, reject) => {
          options.signal.addEventListener("abort", () => reject(options.signal.reason));
          searches.push({
            ...options,
            answer: (found) =>
              Promise.resolve(resolve(found === undefined ? NOT_FOUND : { track: found })).then(settle),
          });
        }),
    },
    sharedIncidents: new SharedIncidents({ clock, logger: createLogger(() => undefined) }),
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    clock,
    memory,
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

function report(positionMs: number): void {
  const { trackId } = workers.last("play");
  const base = { playerId: workers.playerId, trackId, seekId: 0, positionMs, epochMs: clock.epochMs(), rate: 1 };
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
        reason: "This video is private",
        fallback: "soundcloud",
        uri: "https://soundcloud.example/right",
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

  test("a fallback that cannot be started is followed by the next, three times", async () => {
    await play();
    await fail();
    for (const [index, identifier] of ["one", "two", "three"].entries()) {
      expect(searches[index]?.tried).toHaveLength(index);
      await searches[index]?.answer(song(identifier));
      await fail("site-unavailable", `${identifier} is encrypted.`);
    }
    expect(searches).toHaveLength(3);
    expect(received()).toEqual([
      "TrackException This video is private. It could not be played from its fallback (soundcloud) either: three is encrypted.",
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
    workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
    expect([received(), searches]).toEqual([["TrackException This video is private", "TrackEnd finished"], []]);
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

  test("it plays that after it was restored, and looks for no other", async () => {
    const snapshot = structuredClone(player.snapshot());
    messages.splice(0);
    [player, workers] = createPlayer();
    player.restore(snapshot);
    expect([playedSource(), player.toJson().track?.pluginInfo]).toMatchObject(["soundcloud", { fallback: {} }]);
    await fail("link-refused", "refused");
    expect([searches.length, received()]).toEqual([1, ["TrackException refused", "TrackEnd loadFailed"]]);
  });

  test("its next track is its own", async () => {
    await play(song("next"));
    expect(player.toJson().track?.pluginInfo).not.toHaveProperty("fallback");
    await update({ trackChange: { kind: "stop" } });
    expect(memory.usedBytes).toBe(idleBytes);
  });
});
