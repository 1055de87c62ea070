import { expect, test } from "vitest";
import type { Decoder } from "../../../../src/media/decode/decoder.ts";
import { type CodecSupply, Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { Transcoder } from "../../../../src/media/pipeline/transcoder.ts";
import { TranscoderSupply } from "../../../../src/media/pipeline/transcoder-supply.ts";
import { createScriptedDecoder, SCRIPTED_STREAM } from "../../../support/scripted-decoder.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const nextIteration = () => new Promise((next) => setImmediate(next));

test("a transcoder for the start of a run is replaced when one has to continue packets that were passed through", async () => {
  const requested: { readonly isComplete: boolean | undefined; isClosed: boolean }[] = [];
  const encoders = new Codecs({ complexity: 0, bitrateBps: 64_000, encoder: "tonearm" });
  const codecs: CodecSupply = {
    createDecoder: async (_stream, { isComplete }) => {
      const request = { isComplete, isClosed: false };
      requested.push(request);
      return createScriptedDecoder({
        close: () => {
          request.isClosed = true;
        },
      });
    },
    acquireEncoder: () => encoders.acquireEncoder(),
    releaseEncoder: (encoder) => encoders.releaseEncoder(encoder),
  };
  let readyCount = 0;
  const supply = new TranscoderSupply({
    codecs,
    budget: createTrackBudget(),
    // Only what the supply calls.
    create: ({ decoder, encoder }) => ({ encoder, close: () => (decoder as Decoder).close() }) as Transcoder,
    onReady: () => {
      readyCount += 1;
    },
    onFailure: (error) => {
      throw error;
    },
  });
  expect(supply.take(SCRIPTED_STREAM, { isComplete: false })).toBeUndefined();
  while (readyCount < 1) await nextIteration();
  expect(supply.take(SCRIPTED_STREAM, { isComplete: true })).toBeUndefined();
  expect(requested[0]).toEqual({ isComplete: false, isClosed: true });
  while (readyCount < 2) await nextIteration();
  // A complete one is good for both.
  const taken = supply.take(SCRIPTED_STREAM, { isComplete: false });
  expect(taken?.isComplete).toBe(true);
  expect(requested[1]).toEqual({ isComplete: true, isClosed: false });
  supply.release(taken!.transcoder);
});
