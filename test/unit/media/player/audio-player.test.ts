import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sumOf } from "../../../../src/bridge/audio-report.ts";
import type { PlayCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import { NodeError } from "../../../../src/errors.ts";
import { EffectChain } from "../../../../src/media/effects/effect-chain.ts";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import type { AudioPlayer } from "../../../../src/media/player/audio-player.ts";
import type { TrackBudget } from "../../../../src/media/quota/track-budget.ts";
import type { VoiceGate } from "../../../../src/media/voice/frame-sink.ts";
import {
  connectPlayer,
  createAudioPlayer,
  playCommand,
  readAhead,
  STUCK_MS,
  tickFrames,
} from "../../../support/audio-players.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { NUMBERED_STREAM, numberedPackets, packetNumber } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";
import { UndiagnosedVoice } from "../../../support/undiagnosed-voice.ts";

const FRAME_COUNT = 200;

const PACKETS = numberedPackets(FRAME_COUNT);

class RecordingVoice extends UndiagnosedVoice {
  gate: VoiceGate = "send";
  readonly log: string[] = [];
  readonly frames: number[] = [];
  /** When each of them is due. */
  readonly dues: number[] = [];
  isClosed = false;

  async connect(): Promise<void> {}

  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    const number = packetNumber(opus);
    this.dues.push(dueMs);
    this.frames.push(number);
    this.log.push(`frame ${number}`);
    return true;
  }

  sendSilence(): void {
    this.log.push("silence");
  }

  stopSpeaking(): void {
    this.log.push("stop");
  }

  close(): void {
    this.isClosed = true;
  }
}

let clock: FakeClock;
let voice: RecordingVoice;
let player: AudioPlayer;
let events: WorkerEvent[];
let demuxers: ScriptedDemuxer[];
let nextDemuxer: () => Promise<ScriptedDemuxer>;
/** Budget of the track that was played last. */
let budget: TrackBudget;

beforeEach(async () => {
  clock = new FakeClock();
  voice = new RecordingVoice();
  events = [];
  demuxers = [];
  nextDemuxer = async () => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
  player = createAudioPlayer({
    clock,
    voice,
    open: async () => {
      const demuxer = await nextDemuxer();
      demuxers.push(demuxer);
      return demuxer;
    },
    createBudget: (taskId) => {
      budget = createTrackBudget({ clock, taskId });
      return budget;
    },
    send: (event) => events.push(event),
  });
  await connectPlayer(player);
});
afterEach(() => player.close());

function play(changes: Partial<PlayCommand> = {}): void {
  player.play(playCommand(changes));
}

const tick = (count: number): Promise<void> => tickFrames(clock, count);

function eventsOf(type: WorkerEvent["type"]): WorkerEvent[] {
  return events.filter((event) => event.type === type);
}

async function checkHealthFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    clock.advance(500);
    player.checkHealth({ hasOthers: false, threadLoad: 0 });
  }
  await readAhead();
}

/** With the reading and the checks that there are on a real worker. */
async function playFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    await tick(25);
    player.checkHealth({ hasOthers: false, threadLoad: 0 });
  }
}

describe("playing a track", () => {
  it("a track sends each frame once, in order, and ends with five silence frames and speaking off", async () => {
    play();
    await readAhead();
    await tick(FRAME_COUNT + 10);
    expect(voice.frames).toEqual(PACKETS.map((_, index) => index));
    expect(voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    expect(eventsOf("trackEnded")).toEqual([{ type: "trackEnded", playerId: 1, trackId: 1, reason: "finished" }]);
    expect(clock.pendingCount).toBe(0);
  });

  it("a player makes a frame when it is due if prepare has not run before", async () => {
    play();
    await tick(4);
    voice.log.length = 0;
    const deadlineMs = clock.now() + FRAME_MS;
    player.send(deadlineMs);
    player.send(deadlineMs + FRAME_MS);
    expect(voice.log).toEqual(["frame 3", "frame 4"]);
  });

  it("a player reports its position once when time starts to run, and its exact position at any time", async () => {
    play();
    await readAhead();
    await tick(10);
    expect(eventsOf("position").length).toBe(1);
    expect(player.position).toMatchObject({ trackId: 1, rate: 1, positionMs: voice.frames.length * FRAME_MS });
  });

  it("a player reports its position again when a stall has moved the song against the clock", async () => {
    play();
    await readAhead();
    await tick(5);
    clock.stall(200);
    await tick(5);
    const event = eventsOf("position").at(-1);
    if (event?.type !== "position") throw new Error("no report");
    const { positionMs, epochMs, rate } = event.report;
    const reckonedMs = positionMs + (clock.epochMs() - epochMs) * rate;
    expect(Math.abs(reckonedMs - voice.frames.length * FRAME_MS)).toBeLessThanOrEqual(FRAME_MS);
  });

  it("a track continues where it was after a pause, after silence, and RTP time passes meanwhile", async () => {
    play();
    await readAhead();
    await tick(10);
    player.pause(true);
    await tick(50);
    const received = voice.frames.length;
    expect(voice.log.slice(-6)).toEqual(["silence", "silence", "silence", "silence", "silence", "stop"]);
    expect(player.position?.rate).toBe(0);
    player.pause(false);
    await tick(5);
    expect(voice.frames.slice(received)).toEqual(
      [received, received + 1, received + 2, received + 3, received + 4].slice(0, voice.frames.length - received),
    );
    const gapsMs = voice.dues.slice(1).map((dueMs, index) => dueMs - voice.dues[index]!);
    expect(gapsMs.filter((gapMs) => gapMs !== FRAME_MS)).toEqual([expect.any(Number)]);
    expect(Math.max(...gapsMs)).toBeGreaterThan(40 * FRAME_MS);
  });

  it("a track started paused sends nothing and knows its position", async () => {
    play({ isPaused: true, startMs: 1000 });
    await readAhead();
    await tick(10);
    expect(voice.log).toEqual([]);
    expect(player.position?.positionMs).toBe(1000);
  });
});

describe("seeking", () => {
  it("a seek reports its target at once and continues from there", async () => {
    play();
    await readAhead();
    await tick(5);
    player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 7, positionMs: 2000 });
    expect(player.position).toMatchObject({ positionMs: 2000, seekId: 7, rate: 0 });
    await readAhead();
    await tick(3);
    expect(player.position).toMatchObject({ seekId: 7, rate: 1 });
    expect(voice.frames).toContain(100);
    expect(player.position!.positionMs).toBeGreaterThanOrEqual(2020);
  });

  it("a seek while paused keeps its target until the song resumes", async () => {
    play();
    await readAhead();
    await tick(5);
    player.pause(true);
    await tick(10);
    player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 3000 });
    await readAhead();
    await tick(10);
    expect(player.position?.positionMs).toBe(3000);
    const received = voice.frames.length;
    player.pause(false);
    await tick(3);
    expect(voice.frames[received]).toBe(150);
  });

  it("a seek for another track than the playing one is ignored", async () => {
    play();
    await readAhead();
    player.seek({ type: "seek", playerId: 1, trackId: 99, seekId: 1, positionMs: 3000 });
    expect(demuxers[0]?.seeks).toEqual([]);
  });
});

describe("a replaced track", () => {
  it("a replaced track plays until the new one can, and reports nothing any more", async () => {
    play();
    await readAhead();
    await tick(5);
    let arrive = (): void => undefined;
    const opening = new Promise<void>((resolve) => (arrive = resolve));
    nextDemuxer = () =>
      opening.then(() => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS.slice(100) }));
    play({ trackId: 2, startMs: 0 });
    await tick(5);
    const ghost = voice.frames.at(-1)!;
    expect(ghost).toBeGreaterThanOrEqual(8);
    expect(player.position).toMatchObject({ trackId: 2, positionMs: 0 });
    arrive();
    await readAhead();
    await tick(5);
    expect(voice.frames.at(-1)).toBeGreaterThanOrEqual(100);
    expect(voice.log).not.toContain("silence");
    expect(demuxers[0]?.isClosed).toBe(true);
    expect(eventsOf("trackEnded")).toEqual([]);
  });

  it("a replaced track stays silent once paused, also when the new one starts before the next deadline", async () => {
    play();
    await readAhead();
    await tick(5);
    player.pause(true);
    const before = voice.frames.at(-1)!;
    let arrive = (): void => undefined;
    const opening = new Promise<void>((resolve) => (arrive = resolve));
    nextDemuxer = () =>
      opening.then(() => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS.slice(100) }));
    play({ trackId: 2, startMs: 0 });
    await tick(5);
    expect(voice.frames.at(-1)).toBe(before);
    arrive();
    await readAhead();
    await tick(5);
    expect(voice.frames.at(-1)).toBeGreaterThanOrEqual(100);
  });

  it("a replaced track stays silent once voice holds, also when voice opens before the next deadline", async () => {
    play();
    await readAhead();
    await tick(5);
    voice.gate = "hold";
    player.onGateChanged();
    await tick(50);
    const { length } = voice.frames;
    nextDemuxer = async () => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS.slice(100) });
    play({ trackId: 2, startMs: 0 });
    await readAhead();
    await tick(5);
    voice.gate = "send";
    player.onGateChanged();
    await tick(5);
    expect(voice.frames.length).toBeGreaterThan(length);
    expect(voice.frames[length]).toBeGreaterThanOrEqual(100);
  });

  it("a replaced track does not hide that the new one is stuck", async () => {
    nextDemuxer = async () =>
      new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: [...PACKETS, ...PACKETS, ...PACKETS] });
    play();
    await readAhead();
    await tick(5);
    nextDemuxer = () => new Promise(() => undefined);
    play({ trackId: 2 });
    for (let passedMs = 0; passedMs < STUCK_MS; passedMs += 500) {
      await tick(25);
      player.checkHealth({ hasOthers: false, threadLoad: 0 });
    }
    expect(voice.log).not.toContain("silence");
    expect(eventsOf("trackStuck")).toEqual([{ type: "trackStuck", playerId: 1, trackId: 2, thresholdMs: STUCK_MS }]);
  });

  it("a replaced track stops when the new one fails", async () => {
    play();
    await readAhead();
    await tick(5);
    nextDemuxer = () => Promise.reject(new NodeError("input-not-found", "nothing there"));
    play({ trackId: 2 });
    await readAhead();
    await tick(10);
    expect(eventsOf("trackException").length).toBe(1);
    expect(eventsOf("trackEnded")).toMatchObject([{ trackId: 2, reason: "loadFailed" }]);
    expect(voice.log.at(-1)).toBe("stop");
  });
});

describe("voice states", () => {
  it("a voice connection that is not ready holds the clock: no frame is lost", async () => {
    voice.gate = "hold";
    play();
    await readAhead();
    await tick(50);
    expect(voice.frames).toEqual([]);
    voice.gate = "send";
    await tick(10);
    expect(voice.frames.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  });

  it("a voice connection in an empty channel lets time run without sending", async () => {
    voice.gate = "discard";
    play();
    await readAhead();
    await tick(50);
    expect(voice.frames).toEqual([]);
    expect(player.position!.positionMs).toBeGreaterThanOrEqual(900);
  });

  it("a voice connection that is lost parks the player, and the song continues from there when it is back", async () => {
    play();
    await readAhead();
    await tick(10);
    const received = voice.frames.length;
    voice.gate = "down";
    await tick(20);
    expect(clock.pendingCount).toBe(0);
    voice.gate = "send";
    player.onVoiceStatus({ isConnected: true, isReady: true, pingMs: 1 });
    await tick(3);
    expect(voice.frames[received]).toBe(received);
  });

  it("a voice connection missing for 60 s ends the track as cleanup", async () => {
    voice.gate = "down";
    play();
    await checkHealthFor(59_000);
    expect(eventsOf("trackEnded")).toEqual([]);
    await checkHealthFor(2000);
    expect(eventsOf("trackEnded")).toMatchObject([{ reason: "cleanup" }]);
  });

  it("a voice connection closed by ourselves is not reported, one closed by Discord is", () => {
    player.onVoiceClosed({ code: 1000, reason: "", isByRemote: false });
    player.onVoiceClosed({ code: 4014, reason: "Disconnected.", isByRemote: true });
    expect(eventsOf("voiceClosed")).toMatchObject([{ code: 4014, voiceId: 1 }]);
  });
});

describe("a track without data", () => {
  it("a track without data is stuck after the threshold, once, and recovers", async () => {
    let arrive = (): void => undefined;
    const stalled = new Promise<void>((resolve) => (arrive = resolve));
    nextDemuxer = async () => {
      const demuxer = new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
      demuxer.holdAt(10, stalled);
      return demuxer;
    };
    play({ lengthMs: FRAME_COUNT * FRAME_MS });
    await readAhead();
    await tick(20);
    expect(voice.frames.length).toBe(10);
    expect(voice.log.slice(-1)).toEqual(["stop"]);
    await checkHealthFor(STUCK_MS - 1000);
    expect(eventsOf("trackStuck")).toEqual([]);
    await checkHealthFor(STUCK_MS);
    expect(eventsOf("trackStuck")).toEqual([{ type: "trackStuck", playerId: 1, trackId: 1, thresholdMs: STUCK_MS }]);
    arrive();
    await readAhead();
    await tick(5);
    expect(voice.frames.length).toBeGreaterThan(12);
    expect(eventsOf("trackEnded")).toEqual([]);
  });

  it("frames missed without data are counted by their cause", async () => {
    nextDemuxer = async () => {
      const demuxer = new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
      demuxer.holdAt(10, new Promise(() => undefined));
      return demuxer;
    };
    play();
    await readAhead();
    await tick(30);
    clock.advance(60_000);
    const minute = player.takeReport(0)?.minute;
    expect(minute?.sentFrames).toBe(10);
    expect(minute?.lostFrames.inputStarved).toBeGreaterThan(15);
    expect(minute?.lostFrames.voiceNotReady).toBe(0);
  });
});

describe("a silent player that should send audio", () => {
  /** Reads ten packets, and then no more; the next one that is opened reads on. */
  function hangOnce(): void {
    let opened = 0;
    nextDemuxer = async () => {
      const demuxer = new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
      if (opened++ === 0) demuxer.holdAt(10, new Promise(() => undefined));
      return demuxer;
    };
  }

  it("a silent player opens its track again at its position, before the client gets a stuck event", async () => {
    hangOnce();
    play({ lengthMs: FRAME_COUNT * FRAME_MS });
    await readAhead();
    await tick(20);
    await checkHealthFor(5500);
    await tick(FRAME_COUNT);
    expect(demuxers).toHaveLength(2);
    expect(demuxers.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(demuxers[1]?.seeks).toEqual([200]);
    expect(voice.frames).toEqual(PACKETS.map((_, index) => index));
    expect(eventsOf("trackStuck")).toEqual([]);
    expect(eventsOf("trackEnded")).toMatchObject([{ trackId: 1, reason: "finished" }]);
  });

  it("a silent player reports what was missing and why, and the repair", async () => {
    hangOnce();
    play({ lengthMs: FRAME_COUNT * FRAME_MS });
    await readAhead();
    await tick(20);
    expect(player.counts.framesSent).toBe(10);
    const first = player.takeReport(3);
    expect(first?.audio).toEqual({
      mode: "passthrough",
      input: { codec: "opus", bitrate: 1200 },
      queuedMs: 0,
      heldBytes: 0,
      usedMs: 3,
    });
    const startEpochMs = first?.changes?.openIncident?.startEpochMs;
    await checkHealthFor(5500);
    const report = player.takeReport(0)?.changes;
    expect(report?.repairs).toMatchObject([{ kind: "reopen", cause: "inputStarved", silentMs: 5000 }]);
    expect(report?.openIncident).toMatchObject({ cause: "inputStarved", startEpochMs, repair: "reopen" });
    await playFor(1500);
    const [incident] = player.takeReport(0)?.changes?.incidents ?? [];
    expect(incident).toMatchObject({ cause: "inputStarved", startEpochMs, repair: "reopen" });
    expect(incident?.framesLost).toBe(Math.round((incident?.lengthMs ?? 0) / FRAME_MS));
    const { increases, changes, minute } = player.takeReport(0) ?? {};
    expect([increases, changes, minute]).toEqual([undefined, undefined, undefined]);
  });

  it("a silent player is reported as stuck once and at the usual time when opening again does not help", async () => {
    nextDemuxer = () => new Promise(() => undefined);
    play();
    await checkHealthFor(STUCK_MS - 500);
    expect(eventsOf("trackStuck")).toEqual([]);
    await checkHealthFor(500);
    expect(eventsOf("trackStuck")).toHaveLength(1);
    await checkHealthFor(600_000);
    expect(eventsOf("trackStuck")).toHaveLength(1);
    expect(player.takeReport(0)?.changes?.repairs).toHaveLength(1);
  });

  it("a silent stream continues at its live position, and its reported position continues", async () => {
    hangOnce();
    play({ lengthMs: undefined });
    await readAhead();
    await tick(20);
    await checkHealthFor(5500);
    await tick(10);
    expect(demuxers[1]?.seeks).toEqual([]);
    expect(voice.frames.slice(10, 13)).toEqual([0, 1, 2]);
    expect(player.position?.positionMs).toBe(voice.frames.length * FRAME_MS);
  });

  it("a silent player is not repaired while a server is waited for, which is the source's task", async () => {
    nextDemuxer = async () => {
      const demuxer = new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
      demuxer.holdAt(10, budget.upstream.await(new Promise<void>(() => undefined)));
      return demuxer;
    };
    play({ lengthMs: FRAME_COUNT * FRAME_MS });
    await readAhead();
    await tick(20);
    await checkHealthFor(60_000);
    expect(demuxers).toHaveLength(1);
    expect(eventsOf("trackStuck")).toHaveLength(1);
    expect(player.takeReport(0)?.changes?.openIncident?.cause).toBe("network");
  });

  it("a silent player gets a new voice session, once, when the gate stays closed beyond voice's timeouts", async () => {
    play();
    await readAhead();
    await tick(10);
    voice.gate = "hold";
    voice.sendBlockReason = "daveNotReady";
    await checkHealthFor(9500);
    expect(voice.rejoinCount).toBe(0);
    await checkHealthFor(300_000);
    expect(voice.rejoinCount).toBe(1);
    expect(player.counts.lostFrames.daveNotReady).toBeGreaterThan(1000);
    expect(player.takeReport(0)?.changes?.repairs).toMatchObject([{ kind: "rejoin", cause: "daveNotReady" }]);
  });

  it("a silent player gets a new voice session when voice accepts its frames and sends none", async () => {
    voice.gate = "discard";
    voice.sendBlockReason = "daveNotReady";
    nextDemuxer = async () => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: numberedPackets(10_000) });
    play();
    await readAhead();
    await playFor(70_000);
    expect(voice.rejoinCount).toBe(1);
  });

  it("a silent player needs no repair in an empty channel, when it is paused, or without voice", async () => {
    voice.gate = "discard";
    voice.sendBlockReason = "nobodyThere";
    play();
    await readAhead();
    await checkHealthFor(300_000);
    voice.gate = "send";
    play({ trackId: 2 });
    await readAhead();
    await tick(5);
    player.pause(true);
    await checkHealthFor(300_000);
    player.pause(false);
    voice.gate = "down";
    await checkHealthFor(50_000);
    expect([voice.rejoinCount, player.takeReport(0)?.changes?.repairs ?? []]).toEqual([0, []]);
  });
});

describe("missing frames", () => {
  it("a frame for an empty channel is counted and makes no incident", async () => {
    voice.gate = "discard";
    voice.sendBlockReason = "nobodyThere";
    play();
    await readAhead();
    await tick(20);
    expect(player.counts.lostFrames.nobodyThere).toBeGreaterThan(10);
    expect(player.takeReport(0)?.changes).toBeUndefined();
  });

  it("a frame that is late at the start of a track is not lost, whatever it waits for", async () => {
    voice.gate = "hold";
    play();
    await readAhead();
    await tick(50);
    voice.gate = "send";
    await tick(5);
    expect(sumOf(player.counts.lostFrames)).toBe(0);
  });

  it("a frame dropped because the thread was late is lost by the worker", async () => {
    play();
    await readAhead();
    await tick(10);
    clock.stall(200);
    await tick(2);
    expect(player.counts.lostFrames.workerLate).toBe(9);
  });

  it("a frame missing at the end of a pause does not belong to the incident before it", async () => {
    voice.gate = "send";
    play();
    await readAhead();
    await tick(10);
    voice.gate = "hold";
    await tick(3);
    player.pause(true);
    expect(player.takeReport(0)?.changes).toMatchObject({
      incidents: [{ cause: "voiceNotReady" }],
      openIncident: undefined,
    });
  });
});

it("a failure after some audio ends the track as finished, after that audio", async () => {
  nextDemuxer = async () => {
    const demuxer = new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
    demuxer.failAt(20, new NodeError("input-interrupted", "the connection broke"));
    return demuxer;
  };
  play();
  await readAhead();
  await tick(40);
  expect(voice.frames.length).toBe(20);
  expect(eventsOf("trackException")).toMatchObject([{ error: { code: "input-interrupted" } }]);
  expect(eventsOf("trackEnded")).toMatchObject([{ reason: "finished" }]);
});

it("a failure in the middle of the tick ends the track, once", async () => {
  play();
  await readAhead();
  await tick(5);
  const setPosition = vi.spyOn(EffectChain.prototype, "setPosition").mockImplementation(() => {
    throw new RangeError("broken");
  });
  await tick(10);
  setPosition.mockRestore();
  expect(eventsOf("trackException")).toHaveLength(1);
  expect(eventsOf("trackEnded")).toEqual([{ type: "trackEnded", playerId: 1, trackId: 1, reason: "finished" }]);
});

it("a player closed while its voice connection is being created closes that too", async () => {
  player.close();
  expect(voice.isClosed).toBe(true);
  expect(events).toEqual([]);
});

describe("exceptions in a player's code", () => {
  it("an exception while a track plays ends the track with it, and the player plays the next one", async () => {
    play();
    await readAhead();
    await tick(5);
    player.onFault(new Error("thrown somewhere"));
    expect(eventsOf("trackException")).toMatchObject([{ trackId: 1, error: { code: "internal" } }]);
    expect(eventsOf("trackEnded")).toEqual([{ type: "trackEnded", playerId: 1, trackId: 1, reason: "finished" }]);
    expect(demuxers[0]?.isClosed).toBe(true);
    play({ trackId: 2 });
    await readAhead();
    const before = voice.frames.length;
    await tick(5);
    expect(voice.frames.length).toBeGreaterThan(before);
  });

  it("an exception before any audio fails the track's loading", async () => {
    play();
    player.onFault(new Error("thrown somewhere"));
    expect(eventsOf("trackEnded")).toMatchObject([{ reason: "loadFailed" }]);
  });

  it("an exception without a track closes the voice connection, and the client is notified", () => {
    player.onFault(new Error("thrown somewhere"));
    expect(eventsOf("voiceClosed")).toMatchObject([{ voiceId: 1, code: 1006, isByRemote: false }]);
    expect(voice.isClosed).toBe(true);
  });
});
