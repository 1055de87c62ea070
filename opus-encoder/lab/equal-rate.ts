// One encoder against another at the same rate. With a variable bitrate two never use the same number of bytes, so the
// other's score is read from its curve of score by rate, near one of its points. Lab only.

import { seededRandom } from "../../lab/seeded-random.ts";
import type { MeasureName } from "./judge.ts";
import type { EncoderJudgement, JudgedExcerpt } from "./listening.ts";

/**
 * The difference in one measure, over some excerpts; of all measures, less is better: below 0 the first encoder is
 * better.
 */
export interface Difference {
  readonly excerptCount: number;
  /** Each excerpt at its own rate: the rate that the first used for it. */
  readonly mean: number;
  /** 95 % interval of the mean (bootstrap over the excerpts). */
  readonly low: number;
  readonly high: number;
  /**
   * With the same total rate for all excerpts: an encoder that spends more on one and less on another may gain by it.
   */
  readonly meanAtSharedRate: number;
  /** By how much the other's rate would have to grow to be as good, as a share; below 0 it could shrink. */
  readonly worthOfRate: number;
}

/** The two encoders, the excerpts and the measure of a comparison. */
interface Comparison {
  readonly encoder: string;
  readonly against: string;
  readonly targetBps: number;
  readonly measure: MeasureName;
}

interface Pair {
  readonly excerpt: JudgedExcerpt;
  readonly difference: number;
}

const RESAMPLES = 2000;

/** Undefined where there is nothing to compare. The other must have been judged at two bitrates or more. */
export function compareAtEqualRate(excerpts: readonly JudgedExcerpt[], comparison: Comparison): Difference | undefined {
  const nearest = excerpts.flatMap((excerpt) => rowOf(excerpt, comparison, nearestInRate) ?? []);
  const asAsked = excerpts.flatMap((excerpt) => rowOf(excerpt, comparison, nearestInTarget) ?? []);
  if (nearest.length === 0) return undefined;
  const differences = nearest.map((row) => differenceAt(row, row.ownRate / row.otherRate));
  const shared = meanOf(asAsked.map(({ ownRate }) => ownRate)) / meanOf(asAsked.map(({ otherRate }) => otherRate));
  const mean = meanOf(differences);
  const slope = meanOf(nearest.map((row) => row.slope));
  return {
    excerptCount: nearest.length,
    mean,
    ...bootstrapRange(differences),
    meanAtSharedRate: meanOf(asAsked.map((row) => differenceAt(row, shared))),
    worthOfRate: slope === 0 ? 0 : Math.exp(mean / slope) - 1,
  };
}

/** Where the encoder is furthest behind the other, worst first. */
export function worstExcerpts(excerpts: readonly JudgedExcerpt[], comparison: Comparison): Pair[] {
  return excerpts
    .flatMap((excerpt) => {
      const difference = compareAtEqualRate([excerpt], comparison);
      return difference === undefined ? [] : [{ excerpt, difference: difference.mean }];
    })
    .toSorted((a, b) => b.difference - a.difference);
}

interface Row {
  readonly own: number;
  readonly ownRate: number;
  readonly other: number;
  readonly otherRate: number;
  /** Slope of the other's score, by the logarithm of its rate. */
  readonly slope: number;
}

/** At this multiple of the other's actual rate. */
function differenceAt({ own, other, slope }: Row, rateFactor: number): number {
  return own - (other + slope * Math.log(rateFactor));
}

type Distance = (one: EncoderJudgement, other: EncoderJudgement) => number;
const nearestInTarget: Distance = (one, other) => Math.abs(Math.log(one.targetBps / other.targetBps));
/** Of judgements with the same actual rate, the one with the same requested rate. */
const nearestInRate: Distance = (one, other) =>
  Math.abs(Math.log(one.bitrateBps / other.bitrateBps)) + 1e-9 * nearestInTarget(one, other);

/** The nearest point of the other's curve, and the slope there. */
function rowOf({ judgements }: JudgedExcerpt, comparison: Comparison, distance: Distance): Row | undefined {
  const { encoder, against, targetBps, measure } = comparison;
  const own = judgements.find((judgement) => judgement.encoder === encoder && judgement.targetBps === targetBps);
  const curve = judgements.filter((judgement) => judgement.encoder === against).toSorted(byRate);
  if (own === undefined || curve.length < 2) return undefined;
  const [nearest] = curve.toSorted((a, b) => distance(a, own) - distance(b, own));
  if (nearest === undefined) return undefined;
  const at = curve.indexOf(nearest);
  const [before, after] = [curve[at - 1] ?? nearest, curve[at + 1] ?? nearest];
  const increase = after.scores[measure] - before.scores[measure];
  const growth = Math.log(after.bitrateBps / before.bitrateBps);
  return {
    own: own.scores[measure],
    ownRate: own.bitrateBps,
    other: nearest.scores[measure],
    otherRate: nearest.bitrateBps,
    // Near silence the rate is the same whatever is requested.
    slope: growth === 0 ? 0 : increase / growth,
  };
}

function byRate(a: EncoderJudgement, b: EncoderJudgement): number {
  return a.bitrateBps - b.bitrateBps;
}

/** The range of 95 % of the means of as many excerpts, drawn with repetition. */
export function bootstrapRange(values: readonly number[]): { readonly low: number; readonly high: number } {
  const random = seededRandom(1);
  const means = Array.from({ length: RESAMPLES }, () =>
    meanOf(values.map(() => values[Math.floor(random() * values.length)]!)),
  ).toSorted((a, b) => a - b);
  return { low: means[Math.floor(0.025 * RESAMPLES)]!, high: means[Math.floor(0.975 * RESAMPLES)]! };
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
