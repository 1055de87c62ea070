// Twenty thousand frames that are hard for an encoder, in streams of random settings, through libopus's decoder. To
// repeat a run: FUZZ_SEED=… npx vitest run test/slow/fuzz. `npm run lab -- encoder-exact` runs any number.

import { expect, test } from "vitest";
import { encoderKindOf } from "../../../opus-encoder/lab/encoders.ts";
import { type BadFrame, runExactly } from "../../../opus-encoder/lab/exact-run.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";

test("20,000 frames of hard audio: none is refused, every final range is the encoder's", async () => {
  const bad: BadFrame[] = [];
  const { rangesCompared } = await runExactly({
    kind: encoderKindOf("tonearm"),
    frameCount: 20_000,
    seed: fuzzSeed(),
    onBad: (frame) => bad.push(frame),
  });
  expect(bad).toEqual([]);
  expect(rangesCompared).toBe(20_000);
});
