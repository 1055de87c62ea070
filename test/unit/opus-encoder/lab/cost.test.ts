import { expect, test } from "vitest";
import { measureCost } from "../../../../opus-encoder/lab/cost.ts";
import { type EncoderKind, encoderKindOf } from "../../../../opus-encoder/lab/encoders.ts";
import { beatSong } from "../../../support/judged-songs.ts";

/** libopus at complexity 0, each frame encoded so many times. */
function repeating(times: number): EncoderKind {
  return {
    name: `${times} times`,
    create: async (options) => {
      const encoder = await encoderKindOf("libopus:0").create(options);
      return {
        encode: (left, right) => {
          for (let time = 1; time < times; time++) encoder.encode(left, right);
          return encoder.encode(left, right);
        },
        makeNextIndependent: () => encoder.makeNextIndependent(),
        reset: () => encoder.reset(),
        close: () => encoder.close(),
      };
    },
  };
}

test("an encoder that does three times the work costs three times as much, measured in alternating rounds", async () => {
  const options = { music: beatSong(1), bitrateBps: 96_000, rounds: 40 };
  const [first, second] = await measureCost([repeating(1), repeating(3)], options);
  expect(first?.ratioMedian).toBe(1);
  expect(second?.ratioMedian).toBeGreaterThan(2.2);
  expect(second?.ratioMedian).toBeLessThan(4);
  expect(second?.ratioLow).toBeLessThanOrEqual(second?.ratioMedian ?? 0);
  expect(second?.ratioHigh).toBeGreaterThanOrEqual(second?.ratioMedian ?? 0);
});
