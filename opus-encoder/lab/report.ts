// The tables of `npm run bench -- encoder`. Lab only.

import { markdownTable } from "../../lab/report/markdown-table.ts";
import { quantile } from "../../lab/report/statistics.ts";
import { CLASSES } from "./character.ts";
import type { Cost, FirstFrames } from "./cost.ts";
import { compareAtEqualRate, type Difference, meanOf, worstExcerpts } from "./equal-rate.ts";
import { MEASURES, type MeasureName } from "./judge.ts";
import type { JudgedExcerpt } from "./listening.ts";
import type { MeasuredSeams } from "./seams.ts";

const TITLES: Readonly<Record<MeasureName, string>> = {
  noiseToMaskDb: "noise to mask, dB",
  audibleSteps: "audible steps",
  modulationDifference: "modulation, %",
  dissimilarity: "dissimilarity, ‰",
};
/** The two measures of different kind, by which the worst excerpts are chosen. */
const HEAD_MEASURES = ["noiseToMaskDb", "dissimilarity"] as const;
const WORST_COUNT = 5;

/** Every encoder at every bitrate, means over all excerpts. */
export function scoreTable(excerpts: readonly JudgedExcerpt[]): string {
  const keys = new Map(
    excerpts.flatMap(({ judgements }) =>
      judgements.map(({ encoder, targetBps }) => [`${encoder} ${targetBps}`, { encoder, targetBps }] as const),
    ),
  );
  const rows = Array.from(keys.values(), ({ encoder, targetBps }) => {
    const judgements = excerpts.flatMap((excerpt) =>
      excerpt.judgements.filter((judgement) => judgement.encoder === encoder && judgement.targetBps === targetBps),
    );
    const scores = MEASURES.map((name) => meanOf(judgements.map((judgement) => judgement.scores[name])).toFixed(2));
    const rate = (meanOf(judgements.map(({ bitrateBps }) => bitrateBps)) / 1000).toFixed(1);
    return [encoder, String(targetBps / 1000), rate, ...scores];
  });
  return markdownTable(["encoder", "requested, kbit/s", "actual", ...MEASURES.map((name) => TITLES[name])], rows);
}

/** The two encoders of a comparison and their bitrate. */
interface ComparedPair {
  readonly encoder: string;
  readonly against: string;
  readonly targetBps: number;
}

/**
 * Class by class: whether the encoder is better, worse, or indistinguishable, by how much, and what that is worth in
 * percent of the other's rate.
 */
export function comparisonTable(excerpts: readonly JudgedExcerpt[], pair: ComparedPair): string {
  const groups = [
    { name: "all", members: excerpts },
    ...CLASSES.map((name) => ({ name, members: excerpts.filter(({ classes }) => classes.includes(name)) })),
  ];
  const rows = groups.map(({ name, members }) => [
    `${name} (${members.length})`,
    ...MEASURES.map((measure) => cellOf(compareAtEqualRate(members, { ...pair, measure }))),
  ]);
  return markdownTable([`${pair.targetBps / 1000} kbit/s`, ...MEASURES.map((name) => TITLES[name])], rows);
}

/** The mean, its 95 % interval in brackets, and its worth. */
function cellOf(difference: Difference | undefined): string {
  if (difference === undefined) return "";
  const { mean, low, high, worthOfRate } = difference;
  const verdict = high < 0 ? "better" : low > 0 ? "worse" : "even";
  return `${verdict} ${signed(mean, 2)} (${signed(low, 2)} to ${signed(high, 2)}), ${signed(100 * worthOfRate, 1)} %`;
}

/** All excerpts given to both encoders with the same total of bytes, and not each with the same. */
export function sharedRateLine(excerpts: readonly JudgedExcerpt[], pair: ComparedPair): string {
  const parts = MEASURES.map((measure) => {
    const difference = compareAtEqualRate(excerpts, { ...pair, measure });
    return difference === undefined ? "" : `${TITLES[measure]} ${signed(difference.meanAtSharedRate, 2)}`;
  });
  return `  at the same rate over all excerpts together: ${parts.join("; ")}`;
}

/** Where to listen: the file and the second. */
export function worstLines(excerpts: readonly JudgedExcerpt[], pair: ComparedPair): string[] {
  return HEAD_MEASURES.flatMap((measure) =>
    worstExcerpts(excerpts, { ...pair, measure })
      .slice(0, WORST_COUNT)
      .map(({ excerpt, difference }) => {
        const judgement = excerpt.judgements.find(
          ({ encoder, targetBps }) => encoder === pair.encoder && targetBps === pair.targetBps,
        );
        const second = measure === "dissimilarity" ? judgement?.leastSimilarSecond : judgement?.noisiestSecond;
        const location = `${excerpt.file} at ${(excerpt.startSeconds + (second ?? 0)).toFixed(1)} s`;
        return `  ${TITLES[measure]} ${signed(difference, 2)}: ${location} (${excerpt.classes.join(", ")})`;
      }),
  );
}

/** The cost of encoders, compared with the first. */
export function costTable(costs: readonly Cost[]): string {
  const rows = costs.map(({ name, microsecondsBest, microsecondsMedian, ratioMedian, ratioLow, ratioHigh }) => {
    const ratio = `${ratioMedian.toFixed(3)} (${ratioLow.toFixed(3)} to ${ratioHigh.toFixed(3)})`;
    return [name, microsecondsBest.toFixed(0), microsecondsMedian.toFixed(0), ratio];
  });
  return markdownTable(["a frame, CPU", "best, µs", "median", `to ${costs[0]?.name}`], rows);
}

/** The cost of their first two seconds. */
export function firstFramesTable(results: ReadonlyMap<string, FirstFrames>): string {
  const rows = Array.from(
    results,
    ([name, { createMs, firstMicroseconds, laterMicroseconds, longestMicroseconds }]) => {
      const times = [firstMicroseconds, longestMicroseconds, laterMicroseconds].map((time) => time.toFixed(0));
      const ratio = (firstMicroseconds / laterMicroseconds).toFixed(2);
      return [name, createMs.toFixed(1), ...times, ratio];
    },
  );
  const head = ["a fresh process", "made in, ms", "a frame of the first 2 s, µs", "longest", "later", "first to later"];
  return markdownTable(head, rows);
}

/** How far below the audio the errors at seams are, in dB. */
export function seamTable(seams: readonly MeasuredSeams[]): string {
  const rows = seams.map(({ plan: { kind, ledFrames }, errors }) => {
    const decibels = [0.5, 0.9, 0.99, 1].map((share) => 10 * Math.log10(quantile(errors, share) + 1e-9));
    return [kind.name, String(ledFrames), ...decibels.map((value) => value.toFixed(1))];
  });
  const count = `of all (${seams[0]?.errors.length})`;
  return markdownTable(
    ["encoded again by", "frames led", "median, dB", "worst of ten", "worst of a hundred", count],
    rows,
  );
}

function signed(value: number, digits: number): string {
  return `${value >= 0 ? "+" : ""}${value.toFixed(digits)}`;
}
