import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { VoiceCredentials } from "../../../src/bridge/voice-credentials.ts";
import { silentLogger } from "../../../src/log/log.ts";
import { AudioWorker } from "../../../src/media/audio-worker.ts";
import { FRAME_MS } from "../../../src/media/format/audio-format.ts";
import { PacerLink } from "../../../src/media/pacer/pacer-link.ts";
import type { VoiceConnectOptions } from "../../../src/media/voice/voice.ts";
import { AheadVoice } from "../../support/ahead-voice.ts";
import { createErrorBoundary } from "../../support/error-boundaries.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { numberedPackets } from "../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";

const CREDENTIALS: VoiceCredentials = { token: "t", endpoint: "voice.example", sessionId: "s", channelId: "1" };

class RecordingVoice extends AheadVoice {
  readonly connects: unknown[] = [];
  readonly sentAtMs: number[] = [];
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    super(clock);
    this.#clock = clock;
  }

  override sendFrame(opus: Uint8Array, dueMs: number): boolean {
    this.sentAtMs.push(this.#clock.now());
    return super.sendFrame(opus, dueMs);
  }

  override async connect(...connect: [VoiceCredentials?, VoiceConnectOptions?]): Promise<void> {
    this.connects.push(connect);
  }
}

const OPUS = { codec: "opus", sampleRateHz: 48_000, channelCount: 2, description: undefined, pcm: undefined } as const;
const BURST_MS = 60;

let clock: FakeClock;
let voice: RecordingVoice;
let pacer: PacerLink;
let answers: Promise<unknown>[];
let worker: AudioWorker;

beforeEach(() => {
  clock = new FakeClock();
  voice = new RecordingVoice(clock);
  pacer = new PacerLink(() => undefined);
  answers = [];
  worker = new AudioWorker({
    clock,
    boundary: createErrorBoundary().boundary,
    logger: silentLogger,
    open: async () => new ScriptedDemuxer({ stream: OPUS, packets: numberedPackets(500) }),
    codecs: {
      createDecoder: () => Promise.reject(new Error("nothing is decoded here")),
      acquireEncoder: () => Promise.reject(new Error("nothing is encoded here")),
      releaseEncoder: () => undefined,
    },
    createBudget: (taskId) => createTrackBudget({ clock, taskId }),
    createVoice: () => Promise.resolve(voice),
    trackStuckThresholdMs: 10_000,
    takeThreadLoad: () => 0,
    pacer,
    setPacer: () => undefined,
    setComplexity: () => undefined,
    send: () => undefined,
    answer: (_request, work) => answers.push(work),
    onClosed: () => undefined,
  });
  worker.execute({ type: "createPlayer", playerId: 1, guildId: "1", userId: "2", volume: 100, filters: {} });
});
afterEach(() => worker.close());

test("a worker connects voice with the patience that its command asks for", async () => {
  const connect = { type: "connectVoice", playerId: 1, voiceId: 1, credentials: CREDENTIALS } as const;
  worker.execute({ ...connect, requestId: 1, isPatient: true });
  worker.execute({ ...connect, requestId: 2 });
  expect(await Promise.all(answers)).toEqual([{ isConnected: true }, { isConnected: true }]);
  expect(voice.connects).toEqual([
    [CREDENTIALS, { isPatient: true }],
    [CREDENTIALS, { isPatient: undefined }],
  ]);
});

test.each([
  [0, 0],
  [0.25, 15],
  [0.5, 30],
])(
  "a worker with the turn %d makes frames %d ms after its bursts of 60 ms, on the pacer's clock",
  async (turn, afterMs) => {
    const offsetMs = 1e6 + 5;
    const nothing = (): undefined => undefined;
    pacer.connect({ offsetMs, post: nothing, onPut: nothing, yieldToPacer: nothing, listen: nothing, close: nothing });
    const { port1, port2 } = new MessageChannel();
    worker.execute({ type: "setPacer", port: port1, wakeUpMemory: new SharedArrayBuffer(64), turn });
    worker.execute({ type: "connectVoice", playerId: 1, voiceId: 1, credentials: CREDENTIALS, requestId: 1 });
    await Promise.all(answers);
    const track = {
      input: { kind: "local", path: "/song", container: undefined } as const,
      startMs: 0,
      lengthMs: 10_000,
    };
    worker.execute({ type: "play", playerId: 1, owner: [], trackId: 7, ...track, endMs: undefined, isPaused: false });
    for (let step = 0; step < 1000; step++) {
      clock.advance(1);
      await new Promise((next) => setImmediate(next));
    }

    const times = [...new Set(voice.sentAtMs.slice(-30))];
    expect(times).toHaveLength(10);
    for (const atMs of times) {
      const passedMs = (atMs + offsetMs) % BURST_MS;
      expect(passedMs).toBeGreaterThanOrEqual(afterMs - 1);
      expect(passedMs).toBeLessThan(afterMs + FRAME_MS);
    }
    port1.close();
    port2.close();
  },
);
