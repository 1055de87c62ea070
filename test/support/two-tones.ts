// A second of audio with a different tone on each side, and a check that it was received.

import { expect } from "vitest";
import { fitTone, makeTone } from "../../lab/listen/tone.ts";
import { ENCODER_DELAY_SAMPLES } from "../../src/media/format/audio-format.ts";

export const LEFT_TONE = makeTone({ frequencyHz: 440, sampleRateHz: 48_000, lengthSamples: 48_000 });
export const RIGHT_TONE = makeTone({ frequencyHz: 1000, sampleRateHz: 48_000, lengthSamples: 48_000, amplitude: 0.25 });

/** Both sides, level, pitch and delay of what a decoder made of the packets; interleaved, from the first packet on. */
export function expectTwoTones(pcm: readonly number[]): void {
  const received = (channel: number) => Float32Array.from({ length: 38_400 }, (_, i) => pcm[(4800 + i) * 2 + channel]!);
  const fits = [fitTone(received(0), 440, 48_000), fitTone(received(1), 1000, 48_000)] as const;
  expect(fits[0].amplitude).toBeCloseTo(0.5, 2);
  expect(fits[1].amplitude).toBeCloseTo(0.25, 2);
  const expectedPhase = (2 * Math.PI * 440 * (4800 - ENCODER_DELAY_SAMPLES)) / 48_000;
  expect(Math.cos(fits[0].phase - expectedPhase)).toBeGreaterThan(0.999);
}
