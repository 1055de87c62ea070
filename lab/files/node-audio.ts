// The node's own modules from a file to Opus packets, without a node around them: what the probe thread and an audio
// worker run for one track (media/probe, media/demux, media/pipeline), as fast as the machine can. Not tried here: REST,
// threads, deadlines, voice. Lab only.

import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import type { PlainInput, ProbeResult } from "../../src/bridge/playable-input.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { toWorkerSettings } from "../../src/control/workers/to-worker-settings.ts";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/log/log.ts";
import { Codecs } from "../../src/media/pipeline/codecs.ts";
import { Pipeline } from "../../src/media/pipeline/pipeline.ts";
import { createOpener } from "../../src/media/probe/create-opener.ts";
import type { TrackOpener } from "../../src/media/probe/track-opener.ts";
import { TimeSlicer } from "../../src/media/quota/time-slicer.ts";
import { TrackBudget } from "../../src/media/quota/track-budget.ts";
import { createTrackMemory } from "../../src/media/quota/track-memory.ts";
import { OutboundGuard } from "../../src/network/outbound-guard.ts";
import { decodeReceived, type StereoAudio } from "../listen/received.ts";

const FRAME_MS = 20;
const FRAME_SAMPLES = 48 * FRAME_MS;
/**
 * Time limits of inputs and probes are this much longer than in a node: a busy machine must not look like a damaged
 * file. The time limit of the file applies.
 */
const PATIENCE = 20;
const MEMORY_BYTES_MAX = 1024 * 2 ** 20;
/** Playlists that lead to playlists, as the node follows them. */
const REFERENCES_MAX = 5;
/** Frames before sockets and timers get a turn. */
const FRAMES_PER_TURN = 25;
/** Audible before a seek, and after it. */
const SEEK_AFTER_FRAMES = 10;
const AFTER_SEEK_FRAMES = 50;

export interface Played {
  readonly audio: StereoAudio;
  /** The message of the error that ended the track; undefined: it would be reported as finished. */
  readonly failure: string | undefined;
}

const patientClock: Clock = {
  now: () => systemClock.now(),
  epochMs: () => systemClock.epochMs(),
  after: (delayMs, callback) => systemClock.after(delayMs * PATIENCE, callback),
};

/** One for all files below a folder; never connects to anything but this machine. */
export class NodeAudio {
  readonly #opener: TrackOpener;
  readonly #codecs: Codecs;
  readonly #slicer = new TimeSlicer();
  readonly #heartbeat = new Heartbeat(Heartbeat.allocate());

  /** `root`: an absolute real path. */
  constructor(root: string) {
    const { config } = loadConfig({ args: [], cwd: "/nonexistent", env: { TONEARM_NETWORK_ALLOW: "127.0.0.0/8" } });
    const settings = { ...toWorkerSettings(config), localRoots: [root] };
    const refuse = async (): Promise<never> => {
      throw new Error("this program plays files only");
    };
    this.#codecs = new Codecs(settings.opus);
    this.#opener = createOpener({
      settings,
      guard: loopbackGuard(),
      createConnector: undefined,
      clock: patientClock,
      logger: silentLogger,
      channel: { send: () => undefined, requestRoute: refuse, requestLink: refuse },
    });
  }

  /** As loadtracks does: playlists that name another address are followed. Rejects with the node's error. */
  async load(input: PlainInput): Promise<Exclude<ProbeResult, { kind: "reference" }>> {
    let current = input;
    for (let hop = 0; hop <= REFERENCES_MAX; hop++) {
      const { signal } = new AbortController();
      const result = await this.#opener.probe(current, { signal, budget: this.#createBudget() });
      if (result.kind !== "reference") return result;
      current = result.input;
    }
    throw new Error(`more than ${REFERENCES_MAX} playlists lead to each other`);
  }

  /** From the beginning to the end, at most `seconds`. */
  async play(input: PlainInput, seconds: number): Promise<Played> {
    const frames: Uint8Array[] = [];
    const framesMax = (seconds * 1000) / FRAME_MS;
    const failure = await this.#run(input, ({ frame }) => {
      frames.push(frame);
      return frames.length < framesMax;
    });
    return { audio: await decodeReceived(frames), failure };
  }

  /** What is left of audio behind the node's encoder alone: of faint noise not all can be recognised. */
  async encode({ left, right }: StereoAudio): Promise<StereoAudio> {
    const encoder = await this.#codecs.acquireEncoder();
    const frames: Uint8Array[] = [];
    const frameAt = (samples: Float32Array, at: number) => {
      const frame = new Float32Array(FRAME_SAMPLES);
      frame.set(samples.subarray(at, at + FRAME_SAMPLES));
      return frame;
    };
    for (let at = 0; at < left.length; at += FRAME_SAMPLES) {
      frames.push(encoder.encode(frameAt(left, at), frameAt(right, at)).slice());
    }
    this.#codecs.releaseEncoder(encoder);
    return decodeReceived(frames);
  }

  /** The audio from `positionMs` on, after a seek shortly after the beginning; undefined when the seek does not land. */
  async seek(input: PlainInput, positionMs: number): Promise<Played | undefined> {
    const frames: Uint8Array[] = [];
    let landedAt: number | undefined;
    const failure = await this.#run(input, ({ frame, pipeline, isFirstOfRun }) => {
      if (isFirstOfRun && frames.length >= SEEK_AFTER_FRAMES) landedAt ??= frames.length;
      frames.push(frame);
      if (frames.length === SEEK_AFTER_FRAMES) pipeline.seek(positionMs);
      return landedAt === undefined || frames.length < landedAt + AFTER_SEEK_FRAMES;
    });
    if (landedAt === undefined) return undefined;
    // A listener's decoder knows the audio before.
    const { left, right } = await decodeReceived(frames);
    const from = landedAt * FRAME_MS * 48;
    return { audio: { left: left.subarray(from), right: right.subarray(from) }, failure };
  }

  /** Produces until `onFrame` returns false or nothing is left; resolves with the failure. */
  async #run(
    input: PlainInput,
    onFrame: (produced: { frame: Uint8Array; pipeline: Pipeline; isFirstOfRun: boolean }) => boolean,
  ): Promise<string | undefined> {
    let failure: string | undefined;
    let wake: () => void = () => undefined;
    const pipeline = new Pipeline({
      input,
      startMs: 0,
      endMs: undefined,
      lengthMs: undefined,
      open: async (playable, work) => (await this.#opener.open(playable, work)).demuxer,
      codecs: this.#codecs,
      volume: 100,
      filters: {},
      budget: this.#createBudget(),
      onProgress: () => wake(),
      onFailure: (error) => {
        failure = error instanceof Error ? error.message : String(error);
        wake();
      },
    });
    let isFirstOfRun = false;
    try {
      for (let count = 0; ; ) {
        isFirstOfRun ||= pipeline.hasLanded;
        const frame = pipeline.produce();
        if (frame !== undefined) {
          if (!onFrame({ frame: frame.slice(), pipeline, isFirstOfRun })) return failure;
          isFirstOfRun = false;
          if (++count % FRAMES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
        } else if (pipeline.isEnded || (failure !== undefined && pipeline.queuedMs === 0)) {
          return failure;
        } else {
          await progress((resume) => {
            wake = resume;
          });
        }
      }
    } finally {
      pipeline.close();
    }
  }

  #createBudget(): TrackBudget {
    return new TrackBudget({
      clock: patientClock,
      slicer: this.#slicer,
      createMemory: () =>
        createTrackMemory("the track", new ByteBudget({ owner: "the worker", limitBytes: MEMORY_BYTES_MAX })),
      heartbeat: this.#heartbeat,
      taskId: 1,
      owner: [],
      activity: "read",
    });
  }
}

/** Resolves upon progress, and at the latest when a worker would try again. */
function progress(register: (resume: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FRAME_MS);
    register(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Playlists name other people's hosts: names lead to nothing but this machine, and so do addresses. */
function loopbackGuard(): OutboundGuard {
  return new LoopbackGuard(["127.0.0.0/8"], { resolve: (_name, _options, callback) => callback(refusal(), []) });
}

class LoopbackGuard extends OutboundGuard {
  override checkHost(host: string): void {
    if (!host.startsWith("127.")) throw refusal();
    super.checkHost(host);
  }
}

function refusal(): Error {
  return new Error("this program connects to this machine only");
}
