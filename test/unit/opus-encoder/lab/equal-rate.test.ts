import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { bootstrapRange, compareAtEqualRate, worstExcerpts } from "../../../../opus-encoder/lab/equal-rate.ts";
import { MEASURES, type Scores } from "../../../../opus-encoder/lab/judge.ts";
import type { EncoderJudgement, JudgedExcerpt } from "../../../../opus-encoder/lab/listening.ts";
import { comparisonTable } from "../../../../opus-encoder/lab/report.ts";

const TARGETS_BPS = [64_000, 96_000, 128_000];
const COMPARISON = { encoder: "own", against: "other", targetBps: 96_000, measure: "noiseToMaskDb" } as const;

/** An encoder whose score decreases by 10 with each factor of e in rate, from `level` at 1 bit/s. */
function judgementsOf(encoder: string, level: number, rateFactor: number): EncoderJudgement[] {
  return TARGETS_BPS.map((targetBps) => {
    const bitrateBps = targetBps * rateFactor;
    const score = level - 10 * Math.log(bitrateBps);
    const scores = Object.fromEntries(MEASURES.map((name) => [name, score])) as Scores; // one of each name
    return { encoder, targetBps, bitrateBps, scores, noisiestSecond: 1, leastSimilarSecond: 2 };
  });
}

/** Excerpts of which some are harder than others; `own` spends more or less than it was asked. */
function excerptsWith(ownLevel: (index: number) => number, ownRate: (index: number) => number): JudgedExcerpt[] {
  return Array.from({ length: 20 }, (_, index) => ({
    file: `${index}.flac`,
    startSeconds: 10 * index,
    classes: index % 2 === 0 ? ["transient"] : ["tonal", "wide"],
    judgements: [
      ...judgementsOf("own", 100 + index + ownLevel(index), ownRate(index)),
      ...judgementsOf("other", 100 + index, 1),
    ],
  }));
}

test("an encoder that is as good at the same rate scores even, however much it spends", () => {
  const spending = excerptsWith(
    () => 0,
    (index) => 0.9 + 0.01 * index,
  );
  const difference = compareAtEqualRate(spending, COMPARISON);
  expect(difference?.mean).toBeCloseTo(0, 9);
  expect(difference?.worthOfRate).toBeCloseTo(0, 9);
});

test("rate moved from easy to hard excerpts counts only where the total rate is shared", () => {
  const excerpts = excerptsWith(
    () => 0,
    (index) => (index === 0 ? 2 : 1 - 1 / 19),
  );
  const difference = compareAtEqualRate(excerpts, COMPARISON);
  expect(difference?.mean).toBeCloseTo(0, 9);
  const own = excerpts.map(({ judgements }) => judgements[1]!.scores.noiseToMaskDb);
  const other = excerpts.map(({ judgements }) => judgements[4]!.scores.noiseToMaskDb);
  const plain = own.reduce((sum, score, index) => sum + score - other[index]!, 0) / own.length;
  expect(difference?.meanAtSharedRate).toBeCloseTo(plain, 6);
});

test("a better encoder is reported as better, with its worth in rate", () => {
  const random = seededRandom(2);
  const better = excerptsWith(
    () => -1 - 0.5 * random(),
    () => 1.05,
  );
  const difference = compareAtEqualRate(better, COMPARISON);
  expect(difference?.mean).toBeCloseTo(-1.25, 0);
  expect(difference?.low).toBeLessThan(difference?.mean ?? 0);
  expect(difference?.high).toBeGreaterThan(difference?.mean ?? 0);
  expect(difference?.worthOfRate).toBeCloseTo(Math.exp(-(difference?.mean ?? 0) / 10) - 1, 9);
  const [, , all, transient] = comparisonTable(better, COMPARISON).split("\n");
  expect(all).toMatch(/^\| all \(20\) \| better -1\./);
  expect(transient).toMatch(/^\| transient \(10\) \| better -1\./);
});

test("the worst excerpt is listed first", () => {
  const excerpts = excerptsWith(
    (index) => (index === 7 ? 3 : -1),
    () => 1,
  );
  const [worst] = worstExcerpts(excerpts, COMPARISON);
  expect(worst?.excerpt.file).toBe("7.flac");
  expect(worst?.difference).toBeCloseTo(3, 9);
});

test("an excerpt with the same actual rate at every bitrate is compared as it is", () => {
  const still = excerptsWith(
    () => -2,
    () => 1,
  ).map((excerpt) => ({ ...excerpt, judgements: excerpt.judgements.map((one) => ({ ...one, bitrateBps: 8000 })) }));
  expect(compareAtEqualRate(still, COMPARISON)?.mean).toBeCloseTo(-2, 6);
});

test("without two points of the other there is no comparison", () => {
  const single = excerptsWith(
    () => 0,
    () => 1,
  ).map((excerpt) => ({ ...excerpt, judgements: excerpt.judgements.slice(0, 4) }));
  expect(compareAtEqualRate(single, COMPARISON)).toBeUndefined();
});

test("the range of a mean is as wide as its standard error says", () => {
  const random = seededRandom(9);
  const values = Array.from({ length: 400 }, () => random());
  const { low, high } = bootstrapRange(values);
  const expected = 2 * 1.96 * Math.sqrt(1 / 12 / 400);
  expect((high - low) / expected).toBeGreaterThan(0.85);
  expect((high - low) / expected).toBeLessThan(1.15);
});
