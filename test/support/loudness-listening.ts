// A loudness stage with a song made for it, rendered piece by piece; both sides are alike.

import { seededRandom } from "../../lab/seeded-random.ts";
import { StereoFifo } from "../../src/lib/stereo-fifo.ts";
import { type LoudnessSettings, LoudnessStage } from "../../src/media/effects/loudness/loudness-stage.ts";
import { LoudnessKernel } from "../../src/media/kernels/loudness-kernel.ts";
import { loudnessOf } from "./loudness-of.ts";

const FRAME_SAMPLES = 960;

/** A song: the value of each sample. */
export type At = (sample: number) => number;

export class LoudnessListening {
  readonly env: LoudnessStage;
  song: At;
  pushedSamples = 0;
  readonly #fifo = new StereoFifo();
  readonly #frame = { left: new Float32Array(FRAME_SAMPLES), right: new Float32Array(FRAME_SAMPLES) };

  constructor(
    song: At,
    { settings, lufs, isSimd = true }: { settings?: LoudnessSettings; lufs?: number; isSimd?: boolean } = {},
  ) {
    this.song = song;
    this.env = isSimd ? new LoudnessStage() : new LoudnessStage(() => new LoudnessKernel({ isSimd }));
    if (settings !== undefined) this.env.set(settings);
    this.env.begin(lufs);
  }

  /** Song samples that have been rendered. */
  get position(): number {
    return this.pushedSamples - this.#fifo.lengthSamples - this.env.heldSamples;
  }

  /** Renders the next seconds. */
  render(seconds: number, pieceSamples = FRAME_SAMPLES): Float32Array {
    const neededSamples = Math.round(seconds * 48_000);
    const rendered = new Float32Array(neededSamples);
    for (let done = 0; done < neededSamples; ) {
      const queue = this.env.over(this.#fifo);
      const count = Math.min(pieceSamples, neededSamples - done);
      while (queue.lengthSamples < count) this.#push();
      if (queue.readInto(this.#frame.left, this.#frame.right, count) !== count) throw new Error("less than announced");
      rendered.set(this.#frame.left.subarray(0, count), done);
      done += count;
    }
    return rendered;
  }

  /** No more song: everything that is left. */
  finish(): Float32Array {
    this.env.finish();
    const queue = this.env.over(this.#fifo);
    const rendered: number[] = [];
    for (let count = -1; count !== 0; ) {
      count = queue.readInto(this.#frame.left, this.#frame.right, Math.min(FRAME_SAMPLES, queue.lengthSamples));
      rendered.push(...this.#frame.left.subarray(0, count));
    }
    return Float32Array.from(rendered);
  }

  #push(): void {
    const block = Float32Array.from({ length: FRAME_SAMPLES }, (_, sample) => this.song(this.pushedSamples + sample));
    this.pushedSamples += FRAME_SAMPLES;
    this.#fifo.append(block, block, 0, FRAME_SAMPLES);
  }
}

/** A 1 kHz tone at this loudness. */
export const tone =
  (lufs: number, hz = 1000): At =>
  (sample) =>
    10 ** (lufs / 20) * Math.sin((2 * Math.PI * hz * sample) / 48_000);

/** A signal like music: a chord, a beat, noise; at some loudness, with peaks some 10 dB above it. */
export function music(lufs: number, seed = 5): At {
  const random = seededRandom(seed);
  const noise = Float32Array.from({ length: 9600 }, () => 2 * random() - 1);
  const raw: At = (sample) => {
    const seconds = sample / 48_000;
    const chord = [220, 277.2, 329.6].reduce((sum, hz) => sum + Math.sin(2 * Math.PI * hz * seconds), 0);
    const beat = Math.exp(-((seconds * 2) % 1) * 12);
    return 0.1 * chord + beat * (0.4 * Math.sin(2 * Math.PI * 60 * seconds) + 0.2 * noise[sample % 9600]!);
  };
  const audio = Float32Array.from({ length: 48_000 * 2 }, (_, sample) => raw(sample));
  const gain = 10 ** ((lufs - loudnessOf(audio)) / 20);
  return (sample) => gain * audio[sample % audio.length]!;
}
