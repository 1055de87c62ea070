// Judges a decoded excerpt by both measures, and reports where in it the difference is greatest. Lab only.

import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import { type Character, characterOf } from "./character.ts";
import { disturbanceOf } from "./disturbance.ts";
import { HOP_SAMPLES, WINDOWS_PER_SECOND } from "./ear-bands.ts";
import { EarModel, type Sensation, type Stereo } from "./ear-model.ts";
import { dissimilarityOf, Painter, PICTURE_HOP_SAMPLES, type Picture } from "./similarity.ts";

/** The measures of a coded excerpt; of each, less is better. Dissimilarity is in thousandths. */
export const MEASURES = ["noiseToMaskDb", "audibleSteps", "modulationDifference", "dissimilarity"] as const;
export type MeasureName = (typeof MEASURES)[number];
export type Scores = Readonly<Record<MeasureName, number>>;

/** One coded excerpt. */
export interface Judgement {
  readonly scores: Scores;
  /** Start of the second with the most noise against its mask, and of the one least similar to the original. */
  readonly noisiestSecond: number;
  readonly leastSimilarSecond: number;
}

/** One instance serves all excerpts: analyses the original once, and then every coded version of it. */
export class EncoderJudge {
  readonly #earModel = new EarModel();
  readonly #painter = new Painter();
  #original: { readonly sensations: readonly [Sensation, Sensation]; readonly picture: Picture } | undefined;

  /** Returns its character. */
  setOriginal(audio: Stereo): Character {
    const original = { sensations: this.#earModel.listen(audio), picture: this.#painter.paint(audio) };
    this.#original = original;
    return characterOf(audio, original.sensations[0], original.picture);
  }

  /** `coded` is aligned with the original and as long or shorter; samples before `fromSample` do not count. */
  judge(coded: Stereo, fromSample: number): Judgement {
    if (this.#original === undefined) throw new Error("there is no original to judge by");
    const { sensations, picture } = this.#original;
    const other = this.#earModel.listen(coded);
    const windowCount = Math.min(sensations[0].windowCount, other[0].windowCount);
    const firstWindow = Math.ceil(fromSample / HOP_SAMPLES);
    const disturbance = disturbanceOf(sensations, other, { from: firstWindow, to: windowCount });
    const unlike = dissimilarityOf(picture, this.#painter.paint(coded)).subarray(
      Math.ceil(fromSample / PICTURE_HOP_SAMPLES) + 1,
    );
    const mean = unlike.reduce((sum, value) => sum + value, 0) / unlike.length;
    return {
      scores: {
        noiseToMaskDb: disturbance.noiseToMaskDb,
        audibleSteps: disturbance.audibleSteps,
        modulationDifference: disturbance.modulationDifference,
        dissimilarity: 1000 * mean,
      },
      noisiestSecond: highestSecond(disturbance.noiseToMask, WINDOWS_PER_SECOND),
      leastSimilarSecond: highestSecond(unlike, SAMPLE_RATE_HZ / PICTURE_HOP_SAMPLES),
    };
  }
}

/** Start of the second with the highest sum. */
function highestSecond(values: Float64Array, valuesPerSecond: number): number {
  const length = Math.round(valuesPerSecond);
  let [sum, highest, start] = [0, Number.NEGATIVE_INFINITY, 0];
  for (const [at, value] of values.entries()) {
    sum += value - (at >= length ? values[at - length]! : 0);
    if (sum > highest) [highest, start] = [sum, Math.max(0, at + 1 - length)];
  }
  return start / valuesPerSecond;
}
