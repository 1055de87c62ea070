import { beforeEach, describe, expect, test } from "vitest";
import type { VoiceCredentials } from "../../../../src/bridge/voice-credentials.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerIntent } from "../../../../src/control/players/player-intent.ts";
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
const FILTERS = { volume: 0.5, pluginFilters: { tonearm: { highPass: { frequency: 80 } } } };

/** A player with its workers, session and memory, at a time that it shares with the other one. */
interface Side {
  readonly player: Player;
  readonly workers: FakeWorkers;
  readonly messages: OutgoingMessage[];
  readonly memory: ByteBudget;
}

let clock: FakeClock;
let first: Side;

beforeEach(() => {
  clock = new FakeClock();
  first = createSide();
});

function createSide({ isRunning = true, limitBytes = 100_000, isHeld = false } = {}): Side {
  const workers = new FakeWorkers(clock);
  workers.isRunning = isRunning;
  const messages: OutgoingMessage[] = [];
  const memory = new ByteBudget({ owner: "the session", limitBytes });
  const player = new Player({
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
    isHeld,
    logger: silentLogger,
    deadlyTracks: new DeadlyTracks(),
    sharedIncidents: new SharedIncidents({ clock, logger: silentLogger }),
    voiceConnectTimeoutMs: 5000,
  });
  return { player, workers, messages, memory };
}

function update(change: Partial<PlayerUpdate>): Promise<void> {
  return first.player.update({ ...EMPTY_UPDATE, ...change }, { isReplacing: true });
}

function play(more: Partial<PlayerUpdate> = {}, track = buildTrack()): Promise<void> {
  return update({ trackChange: { kind: "play", track }, ...more });
}

async function connect(): Promise<void> {
  const connected = update({ voice: CREDENTIALS });
  await settle();
  await first.workers.reply("connectVoice", { isConnected: true });
  await connected;
}

function report(positionMs: number, { workers } = first): void {
  const { trackId } = workers.last("play");
  const { playerId } = workers;
  workers.say({
    type: "position",
    report: { playerId, trackId, seekId: 0, positionMs, epochMs: clock.epochMs(), rate: 1 },
  });
}

/** As a store would hold it. */
function stored(): PlayerIntent {
  return structuredClone(first.player.snapshot());
}

/** A player that is restored from the first one, and held. */
function restore(options: { readonly isRunning?: boolean; readonly snapshot?: PlayerIntent } = {}): Side {
  const { snapshot = stored(), ...others } = options;
  const side = createSide({ ...others, isHeld: true });
  side.player.restore(snapshot);
  return side;
}

/** All commands of the workers so far, without the numbers that count within one player or worker. */
function commands({ workers }: Side): object[] {
  return workers.commands.splice(0).map((command) => {
    const {
      playerId: _player,
      requestId: _request,
      voiceId: _voice,
      trackId: _track,
      isPatient: _isPatient,
      ...rest
    } = command as unknown as Record<string, unknown>; // members of some commands
    return rest;
  });
}

/** The commands with which another worker gets the first player, as when its worker was lost at this moment. */
function commandsAfterLoss(): object[] {
  commands(first);
  first.workers.lose();
  first.workers.start();
  return commands(first);
}

const STREAM = buildTrack({ isStream: true, isSeekable: false, length: 9223372036854775807n });

const CASES: readonly (readonly [string, readonly string[], () => Promise<void>])[] = [
  ["a new player", ["createPlayer"], async () => undefined],
  ["settings without a track", ["createPlayer"], () => update({ volume: 40, filters: FILTERS, isPaused: true })],
  [
    "a playing track",
    ["createPlayer", "play"],
    async () => {
      await play({ positionMs: 3000, userData: { who: "me" } });
      report(6000);
      clock.advance(200);
    },
  ],
  ["a track with an end time", ["createPlayer", "play"], () => play({ endTimeMs: 20_000 })],
  [
    "a track whose end time was taken away",
    ["createPlayer", "play"],
    async () => {
      await play({ endTimeMs: 20_000 });
      await update({ endTimeMs: null });
    },
  ],
  [
    "a paused track after a seek",
    ["createPlayer", "play"],
    async () => {
      await play({}, buildTrack({ identifier: "http://media.example/old.mp3" }));
      await play({ isPaused: true });
      await update({ positionMs: 9000 });
    },
  ],
  [
    "a stream",
    ["createPlayer", "play"],
    async () => {
      await play({}, STREAM);
      report(60_000);
    },
  ],
  ["an open voice connection", ["createPlayer", "connectVoice"], connect],
  [
    "a voice connection that Discord has closed",
    ["createPlayer"],
    async () => {
      await connect();
      first.workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "", isByRemote: true });
    },
  ],
  [
    "all together",
    ["createPlayer", "connectVoice", "play"],
    async () => {
      await connect();
      await play({ endTimeMs: 20_000, volume: 40, filters: FILTERS });
      report(6000);
    },
  ],
];

describe("a player restored from a snapshot", () => {
  test.each(CASES)(
    "a restored player gives a worker the same commands as the first one had: %s",
    async (_name, types, prepare) => {
      await prepare();
      const second = restore();
      expect(second.workers.hasPlayer).toBe(false);
      void second.player.begin();
      const restored = commands(second);
      expect(restored.map((command) => "type" in command && command.type)).toEqual(types);
      expect(restored).toEqual(commandsAfterLoss());
    },
  );

  test.each(CASES)(
    "a restored player looks the same to its client and gives the same snapshot: %s",
    async (_name, _types, prepare) => {
      await prepare();
      const second = restore();
      first.workers.lose();
      expect(second.player.toJson()).toEqual(first.player.toJson());
      expect(second.player.snapshot()).toEqual(first.player.snapshot());
      expect(second.messages).toEqual([]);
    },
  );

  test("a restored player shows no position beyond the end time of its stream", async () => {
    await play({ endTimeMs: 70_000 }, STREAM);
    report(60_000);
    const second = restore();
    void second.player.begin();
    report(9900, second);
    clock.advance(50);
    expect(second.player.snapshot().track?.positionMs).toBe(69_950);
    clock.advance(500);
    expect(second.player.snapshot().track?.positionMs).toBe(70_000);
  });

  test("a restored player sends regular updates while its track is loaded, and is in use", async () => {
    await play();
    const second = restore();
    void second.player.begin();
    expect([second.player.isUnused, second.player.isPlaying]).toEqual([false, true]);
    clock.advance(5000);
    expect(second.messages.map(({ op }) => op)).toEqual(["playerUpdate"]);
    second.workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
    expect(second.messages.at(-1)).toMatchObject({ type: "TrackEndEvent", reason: "finished" });
    expect(second.player.snapshot().track).toBeUndefined();
  });

  test("a restored player connects again with the same voice values after a close by Discord", async () => {
    await connect();
    first.workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "", isByRemote: true });
    const second = restore();
    void second.player.update({ ...EMPTY_UPDATE, voice: CREDENTIALS }, { isReplacing: true });
    await settle();
    expect(second.workers.last("connectVoice").credentials).toEqual(CREDENTIALS);
  });

  test("a restored player counts its values in the memory of the session until it is destroyed", async () => {
    await connect();
    await play({ userData: { text: "x".repeat(20_000) }, filters: FILTERS });
    const second = restore();
    void second.player.begin();
    expect(second.memory.usedBytes).toBe(first.memory.usedBytes);
    const destroyed = second.player.destroy();
    await second.workers.reply("destroyPlayer");
    await destroyed;
    expect(second.memory.usedBytes).toBe(0);
  });

  test("a player whose session has no memory for it is not restored and stays a new one", async () => {
    await play({ userData: { text: "x".repeat(20_000) } });
    const second = createSide({ limitBytes: 10_000, isHeld: true });
    expect(() => second.player.restore(stored())).toThrow(expect.objectContaining({ code: "memory-exhausted" }));
    expect(second.player.toJson().track).toBeNull();
    await second.player.begin();
    expect(second.workers.all("play")).toEqual([]);
  });

  test("only a new player that is held can be restored", async () => {
    const message = "only a new player that is held can be restored";
    expect(() => first.player.restore(stored())).toThrow(message);
    const second = restore();
    expect(() => second.player.restore(stored())).toThrow(message);
    const third = createSide({ isHeld: true });
    void third.player.begin();
    expect(() => third.player.restore(stored())).toThrow(message);
  });
});

test("a snapshot does not change with its player", async () => {
  await play({ volume: 40 });
  const snapshot = first.player.snapshot();
  const before = structuredClone(snapshot);
  await update({ volume: 50, filters: FILTERS, positionMs: 9000, userData: { later: true } });
  await update({ trackChange: { kind: "stop" } });
  expect(snapshot).toEqual(before);
});
