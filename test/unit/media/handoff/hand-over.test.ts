import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PLAYER_COUNTERS, type PlayerCounts } from "../../../../src/bridge/audio-metrics.ts";
import type { PlainCommand } from "../../../../src/bridge/channel.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import { unpackWorkerReport, type WorkerReport } from "../../../../src/bridge/worker-report.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { AudioWorker } from "../../../../src/media/audio-worker.ts";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import type { MessageToRenderer } from "../../../../src/media/handoff/relay-messages.ts";
import { PacerLink } from "../../../../src/media/pacer/pacer-link.ts";
import { AheadVoice } from "../../../support/ahead-voice.ts";
import { createErrorBoundary } from "../../../support/error-boundaries.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { tonearmFilter } from "../../../support/filter-settings.ts";
import { numberedPackets } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const OWNER_ID = 1;
const RENDERER_ID = 2;
const FRAME_COUNT = 1500;
const LENGTH_MS = FRAME_COUNT * FRAME_MS;
const OPUS = { codec: "opus", sampleRateHz: 48_000, channelCount: 2, description: undefined, pcm: undefined } as const;
const INPUT = { kind: "local", path: "/song", container: undefined } as const;
const WHOLE = { startMs: 0, endMs: undefined, lengthMs: LENGTH_MS } as const;
const FADING = tonearmFilter("fadeOut");
const CREDENTIALS = { token: "t", endpoint: "voice.example", sessionId: "s", channelId: "1" };

const PACKETS = numberedPackets(FRAME_COUNT);

let clock: FakeClock;
let voice: AheadVoice;
let workers: { readonly owner: AudioWorker; readonly renderer: AudioWorker };
let events: { readonly owner: WorkerEvent[]; readonly renderer: WorkerEvent[] };
/** Changes the voice connection's gate and notifies its player. */
let setGate: (gate: AheadVoice["gate"]) => void;
/** Opens the song on the host. */
let openOnRenderer: () => Promise<ScriptedDemuxer>;

beforeEach(async () => {
  clock = new FakeClock();
  voice = new AheadVoice(clock);
  openOnRenderer = openSong;
  events = { owner: [], renderer: [] };
  workers = {
    owner: createWorker(openSong, (event) => events.owner.push(event)),
    renderer: createWorker(
      () => openOnRenderer(),
      (event) => events.renderer.push(event),
    ),
  };
  const player = { playerId: OWNER_ID, guildId: "1", userId: "2", volume: 100, filters: {} };
  post({ type: "createPlayer", ...player });
  post({ type: "connectVoice", playerId: OWNER_ID, requestId: 1, voiceId: 1, credentials: CREDENTIALS });
  await settle();
});
afterEach(() => {
  workers.owner.close();
  workers.renderer.close();
});

async function openSong(): Promise<ScriptedDemuxer> {
  return new ScriptedDemuxer({ stream: OPUS, packets: PACKETS });
}

function createWorker(open: () => Promise<ScriptedDemuxer>, send: (event: WorkerEvent) => void): AudioWorker {
  return new AudioWorker({
    clock,
    boundary: createErrorBoundary().boundary,
    logger: silentLogger,
    open,
    codecs: {
      createDecoder: () => Promise.reject(new Error("nothing is decoded here")),
      acquireEncoder: () => Promise.reject(new Error("nothing is encoded here")),
      releaseEncoder: () => undefined,
    },
    createBudget: (taskId) => createTrackBudget({ clock, taskId }),
    createVoice: async (player) => {
      setGate = (gate) => {
        voice.gate = gate;
        const isReady = gate === "send";
        player.onVoiceStatus({ isConnected: isReady, isReady, pingMs: isReady ? 10 : -1 });
      };
      return voice;
    },
    trackStuckThresholdMs: 10_000,
    takeThreadLoad: () => 0,
    pacer: new PacerLink(() => undefined),
    setPacer: () => undefined,
    setComplexity: () => undefined,
    send,
    answer: () => undefined,
    onClosed: () => undefined,
  });
}

function post(command: PlainCommand): void {
  workers.owner.execute(command);
}

/** Lets reads and messages that are due happen, without time passing. */
async function settle(): Promise<void> {
  for (let iteration = 0; iteration < 10; iteration++) await new Promise((next) => setImmediate(next));
}

async function tick(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    clock.advance(FRAME_MS / 2);
    await settle();
    clock.advance(FRAME_MS / 2);
    await settle();
  }
}

function play(changes: { readonly lengthMs?: number | undefined } = {}): void {
  post({
    type: "play",
    playerId: OWNER_ID,
    owner: [],
    trackId: 7,
    input: INPUT,
    ...WHOLE,
    ...changes,
    isPaused: false,
  });
}

function handOver(): void {
  const { port1, port2 } = new MessageChannel();
  workers.renderer.execute({ type: "renderRemotePlayer", playerId: RENDERER_ID, port: port1 });
  post({ type: "handOver", playerId: OWNER_ID, port: port2 });
}

async function playElsewhere(): Promise<void> {
  play();
  await tick(20);
  handOver();
  await tick(120);
  expect(namesOf(events.owner)).toContain("handedOver");
}

function namesOf(list: readonly WorkerEvent[]): string[] {
  return list.map(({ type }) => type).filter((type) => !["workerReport", "position"].includes(type));
}

/** Numbers from a first to a last one. */
function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe("a song whose audio moves to another worker", () => {
  it("a moved song plays once from beginning to end, without a gap, and ends on the other worker", async () => {
    await playElsewhere();
    await tick(FRAME_COUNT);
    expect(voice.received).toEqual([...range(0, FRAME_COUNT - 1), -1, -1, -1, -1, -1]);
    const dues = voice.left.map(({ dueMs }) => dueMs);
    const gapsMs = dues.slice(1).map((dueMs, index) => dueMs - dues[index]!);
    // The render worker serves it in a different phase.
    expect(gapsMs.filter((gapMs) => gapMs !== FRAME_MS).length).toBeLessThanOrEqual(1);
    expect(Math.max(...gapsMs)).toBeLessThan(2 * FRAME_MS);
    expect(Math.min(...gapsMs)).toBeGreaterThan(0);
    expect(namesOf(events.owner)).toEqual(["handedOver"]);
    expect(namesOf(events.renderer)).toEqual(["trackEnded"]);
    expect(events.renderer.find(({ type }) => type === "trackEnded")).toMatchObject({
      playerId: RENDERER_ID,
      trackId: 7,
    });
  });

  it("a moved song loses nothing when its render worker is faster than its own next frame", async () => {
    play();
    const markers = range(1, 500).map((id) => ({ id, positionMs: 2000 + id * 2, skipToMs: undefined, isDone: false }));
    post({ type: "setMarkers", playerId: OWNER_ID, trackId: 7, markers });
    await tick(20);
    const { port1, port2 } = new MessageChannel();
    let next = 0;
    port1.on("message", (message: MessageToRenderer) => {
      if (message.type === "begin") next = message.track.play.startMs / FRAME_MS;
      if (message.type === "gate") send(message.startsEpochMs);
    });
    const send = (dueEpochMs: number | undefined) =>
      port1.postMessage({ type: "frame", opus: PACKETS[next]?.data, dueEpochMs });
    post({ type: "handOver", playerId: OWNER_ID, port: port2 });
    await tick(110);
    expect(new Set(namesOf(events.owner))).toEqual(new Set(["markersPassed", "handedOver"]));
    expect(voice.received).toEqual(range(0, next));
    const passed = events.owner.flatMap((event) => (event.type === "markersPassed" ? event.passed : []));
    expect(passed.map(({ id }) => id)).toEqual(range(1, (next * FRAME_MS - 2000) / 2 - 1));
    const stepsMs = passed.slice(1).map(({ epochMs }, index) => Math.abs(epochMs - passed[index]!.epochMs - 2));
    expect(Math.max(...stepsMs)).toBeLessThan(FRAME_MS);
    port1.close();
  });

  it("a moved song executes later commands on the render worker", async () => {
    await playElsewhere();
    post({ type: "seek", playerId: OWNER_ID, trackId: 7, seekId: 1, positionMs: 20_000 });
    await tick(10);
    expect(voice.received.at(-1)).toBeGreaterThan(1000);
    expect(events.renderer.findLast(({ type }) => type === "position")).toMatchObject({
      report: { playerId: RENDERER_ID, trackId: 7, seekId: 1 },
    });
    post({ type: "pause", playerId: OWNER_ID, isPaused: true });
    await tick(10);
    expect(voice.received.slice(-6)).toEqual([expect.any(Number), -1, -1, -1, -1, -1]);
    post({ type: "play", playerId: OWNER_ID, owner: [], trackId: 8, input: INPUT, ...WHOLE, isPaused: false });
    await tick(20);
    expect(voice.received.slice(-3)).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
    post({ type: "stop", playerId: OWNER_ID });
    const length = voice.received.length + voice.waitingCount;
    await tick(20);
    expect(voice.received.slice(length)).toEqual([-1, -1, -1, -1, -1]);
    expect(namesOf(events.owner)).toEqual(["handedOver"]);
  });

  it("a moved song reports the id of the last seek to the main thread", async () => {
    play();
    await tick(20);
    post({ type: "seek", playerId: OWNER_ID, trackId: 7, seekId: 3, positionMs: 4000 });
    await tick(20);
    handOver();
    await tick(120);
    expect(events.renderer.find(({ type }) => type === "position")).toMatchObject({
      report: { trackId: 7, seekId: 3 },
    });
  });

  it("a moved song reports each of its markers once, and skips its segments on the render worker", async () => {
    const marks = range(1, 290).map((id) => ({ id, positionMs: 2000 + id * 3, skipToMs: undefined, isDone: false }));
    const segment = { id: 300, positionMs: 20_400, skipToMs: 25_000, isDone: false };
    play();
    post({ type: "setMarkers", playerId: OWNER_ID, trackId: 7, markers: [...marks, segment] });
    await tick(20);
    handOver();
    await tick(1100);
    expect(voice.received.slice(0, 1100)).toEqual([...range(0, 1019), ...range(1250, 1329)]);
    const passed = [events.owner, events.renderer].map((list) =>
      list.flatMap((event) => (event.type === "markersPassed" ? event.passed : [])),
    );
    expect(passed.flat().map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(
      [...range(1, 290), 300].map((id) => `${id} reached`),
    );
    expect(passed.map(({ length }) => length > 10)).toEqual([true, true]);
    const stepsMs = passed.flat().map(({ epochMs }, index, all) => epochMs - (all[index - 1]?.epochMs ?? epochMs));
    expect(stepsMs.slice(1, 290).filter((stepMs) => Math.abs(stepMs - 3) > FRAME_MS)).toEqual([]);
  });

  it("a song does not move while it is about to skip a segment", async () => {
    play();
    const segment = { id: 1, positionMs: 4000, skipToMs: 8000, isDone: false };
    post({ type: "setMarkers", playerId: OWNER_ID, trackId: 7, markers: [segment] });
    await tick(20);
    handOver();
    await tick(250);
    expect(namesOf(events.owner)).toEqual(["handOverFailed", "markersPassed"]);
    expect(voice.received.slice(0, 220)).toEqual([...range(0, 199), ...range(400, 419)]);
  });

  it("a moved song waits while the voice connection holds, and continues where it was", async () => {
    await playElsewhere();
    const last = voice.received.at(-1) ?? 0;
    const waiting = voice.waitingCount;
    voice.gate = "hold";
    await tick(50);
    const { length } = voice.received;
    voice.gate = "send";
    await tick(20);
    // Frames on their way to the owner worker when the gate closed are lost, one or two.
    expect(voice.received[length]).toBeLessThanOrEqual(last + 3 + waiting);
    expect(voice.received.slice(length)).toEqual(
      range(voice.received[length] ?? 0, (voice.received[length] ?? 0) + 18),
    );
  });

  it("a moved song loses no frame when its voice connection is down at the end of a pause", async () => {
    await playElsewhere();
    post({ type: "pause", playerId: OWNER_ID, isPaused: true });
    await tick(10);
    setGate("hold");
    await settle();
    post({ type: "pause", playerId: OWNER_ID, isPaused: false });
    await tick(50);
    setGate("send");
    await tick(20);
    const frames = voice.received.filter((number) => number >= 0);
    expect(frames).toEqual(range(0, frames.length - 1));
    expect(voice.received.at(-1)).toBe(frames.length - 1);
  });

  it("a moved song loses no frame when it resumes before its voice connection, which was lost while it played", async () => {
    await playElsewhere();
    voice.isDetached = true;
    post({ type: "pause", playerId: OWNER_ID, isPaused: true });
    await tick(10);
    expect(voice.gate).toBe("hold");
    post({ type: "pause", playerId: OWNER_ID, isPaused: false });
    await tick(50);
    setGate("send");
    await tick(20);
    const frames = voice.received.filter((number) => number >= 0);
    expect(frames).toEqual(range(0, frames.length - 1));
    expect(voice.received.at(-1)).toBe(frames.length - 1);
  });

  it("a moved song stands still when the voice connection has failed, until there is one again", async () => {
    await playElsewhere();
    workers.owner.onFault(OWNER_ID, new Error("voice"));
    await tick(100);
    const { length } = voice.received;
    post({ type: "connectVoice", playerId: OWNER_ID, requestId: 3, voiceId: 2, credentials: CREDENTIALS });
    await tick(20);
    expect(voice.received.length).toBeGreaterThan(length + 10);
    expect(voice.received[length]).toBeLessThanOrEqual((voice.received[length - 1] ?? 0) + 3);
  });

  it("a moved song skips frames that are more than three frames late", async () => {
    await playElsewhere();
    const length = voice.received.length + voice.waitingCount;
    // The owner worker's thread is blocked: messages wait.
    clock.advance(FRAME_MS);
    clock.stall(200);
    await settle();
    expect(voice.received.length).toBe(length);
    await tick(5);
    expect(voice.received.length).toBeGreaterThan(length + 3);
  });

  it("a moved player is silent when its render worker is lost, and its voice connection stays", async () => {
    await playElsewhere();
    workers.renderer.close();
    const length = voice.received.length + voice.waitingCount;
    await tick(20);
    expect(voice.received.length).toBe(length);
    expect(voice.isClosed).toBe(false);
  });

  it("a moved song ends on both workers with its player", async () => {
    await playElsewhere();
    post({ type: "destroyPlayer", playerId: OWNER_ID, requestId: 2 });
    await tick(20);
    expect(voice.isClosed).toBe(true);
    const { length } = voice.received;
    await tick(20);
    expect(voice.received.length).toBe(length);
  });
});

describe("a song that is not moved", () => {
  const staysAndSays = async (expected: readonly string[]) => {
    const { length } = voice.received;
    await tick(300);
    expect(namesOf(events.owner)).toEqual(expected);
    const last = voice.received.at(-1) ?? 0;
    expect(voice.received.slice(length)).toEqual(range(last - 299, last));
  };

  it("a song stays when its render worker cannot open it", async () => {
    openOnRenderer = () => Promise.reject(new Error("refused"));
    play();
    await tick(20);
    handOver();
    await staysAndSays(["handOverFailed"]);
  });

  it("a song stays when its render worker has not opened it in time", async () => {
    openOnRenderer = () => new Promise(() => undefined);
    play();
    await tick(20);
    handOver();
    await staysAndSays(["handOverFailed"]);
  });

  it("a song stays when its render worker is lost before it takes over", async () => {
    play();
    await tick(20);
    handOver();
    await tick(1);
    workers.renderer.close();
    await staysAndSays(["handOverFailed"]);
  });

  it("a song stays when it is changed during the hand-over", async () => {
    play();
    await tick(20);
    handOver();
    post({ type: "setEndTime", playerId: OWNER_ID, trackId: 7, endMs: 25_000 });
    await staysAndSays(["handOverFailed"]);
  });

  it.each([
    ["it is a stream", () => play({ lengthMs: undefined })],
    ["it is nearly over", () => play({ lengthMs: 11_000 })],
    ["a filter depends on earlier audio", () => post({ type: "setFilters", playerId: OWNER_ID, filters: FADING })],
  ])("a song stays when %s", async (_why, prepare) => {
    play();
    prepare();
    await tick(20);
    handOver();
    await tick(120);
    expect(namesOf(events.owner)).toContain("handOverFailed");
    expect(namesOf(events.renderer)).toEqual([]);
  });
});

function reportsOf(list: readonly WorkerEvent[]): WorkerReport[] {
  return list.flatMap((event) => (event.type === "workerReport" ? [unpackWorkerReport(event)] : []));
}

/** The sums of what all players of the owner worker have counted. */
function reportedCounts(): PlayerCounts {
  const counts = PLAYER_COUNTERS.zero();
  for (const { increases = [] } of reportsOf(events.owner).flatMap(({ players }) => players))
    PLAYER_COUNTERS.add(counts, increases);
  return counts;
}

describe("the reports of a worker", () => {
  it("a worker reports every 500 ms, the last counts of a destroyed player once", async () => {
    play();
    await tick(60);
    const before = reportsOf(events.owner);
    expect(before.map(({ epochMs }) => epochMs - before[0]!.epochMs)).toEqual([0, 500]);
    expect(before[1]?.worker).toMatchObject({ playerCount: 1, playingCount: 1 });
    expect(before[1]?.players).toMatchObject([{ playerId: OWNER_ID, position: { trackId: 7 }, audio: {} }]);
    await tick(5);
    post({ type: "destroyPlayer", playerId: OWNER_ID, requestId: 2 });
    await tick(40);
    const after = reportsOf(events.owner).slice(before.length);
    expect(after.map(({ players }) => players.length)).toEqual([1, 0]);
    const last = { playerId: OWNER_ID, position: undefined, audio: undefined, changes: undefined };
    expect(after[0]).toMatchObject({ worker: { playerCount: 0, playingCount: 0 }, players: [last] });
    expect(reportedCounts().framesSent).toBe(voice.received.length);
  });

  it("remote frames that arrive too late are counted as lost by a worker", async () => {
    await playElsewhere();
    clock.advance(FRAME_MS);
    clock.stall(200);
    await tick(60);
    expect(reportedCounts().lostFrames.workerLate).toBeGreaterThan(0);
  });

  it("the report names a player that can move, and one whose move failed only later again", async () => {
    const heaviest = () => reportsOf(events.owner).at(-1)?.worker.heaviestPlayer;
    play();
    await tick(60);
    expect(heaviest()).toBe(OWNER_ID);
    openOnRenderer = () => Promise.reject(new Error("refused"));
    handOver();
    await tick(200);
    expect(heaviest()).toBeUndefined();
    await tick(300);
    expect(heaviest()).toBe(OWNER_ID);
  });
});
