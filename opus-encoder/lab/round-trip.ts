// Audio through an encoder and libopus's decoder, aligned with its original again. Lab only.

import { align } from "../../lab/listen/compare.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import type { Stereo } from "./ear-model.ts";
import type { EncoderKind } from "./encoders.ts";
import { ExactDecoder } from "./exact-decoder.ts";

const FRAMES_PER_SECOND = SAMPLE_RATE_HZ / FRAME_SAMPLES;

/** The decoded audio and the bitrate of its packets. */
interface RoundTrip {
  /** As long as the original less the delay, and without delay. */
  readonly audio: Stereo;
  /** Mean over the frames from `countedFrom` on. */
  readonly bitrateBps: number;
}

/** The input of a round trip. */
interface Passage {
  readonly audio: Stereo;
  readonly bitrateBps: number;
  readonly delaySamples: number;
  /** The sample from which the bytes count: audio before it lets the encoder adapt. */
  readonly countedFrom: number;
}

/** Uses a new encoder of the kind. An incomplete frame at the end is left out. */
export async function roundTrip(kind: EncoderKind, passage: Passage): Promise<RoundTrip> {
  const { audio, bitrateBps, delaySamples, countedFrom } = passage;
  const [encoder, decoder] = [await kind.create({ bitrateBps }), await ExactDecoder.create(2)];
  const frameCount = Math.floor(audio[0].length / FRAME_SAMPLES);
  const firstCounted = Math.floor(countedFrom / FRAME_SAMPLES);
  const decoded = [new Float32Array(frameCount * FRAME_SAMPLES), new Float32Array(frameCount * FRAME_SAMPLES)] as const;
  let bytes = 0;
  for (let frame = 0; frame < frameCount; frame++) {
    const from = frame * FRAME_SAMPLES;
    const [left, right] = audio.map((channel) => channel.subarray(from, from + FRAME_SAMPLES)) as [
      Float32Array,
      Float32Array,
    ]; // two channels give two
    const packet = encoder.encode(left, right);
    if (frame >= firstCounted) bytes += packet.length;
    const pcm = decoder.decode(packet);
    for (let sample = 0; sample < FRAME_SAMPLES; sample++) {
      decoded[0][from + sample] = pcm[2 * sample]!;
      decoded[1][from + sample] = pcm[2 * sample + 1]!;
    }
  }
  encoder.close();
  decoder.close();
  return {
    audio: [decoded[0].subarray(delaySamples), decoded[1].subarray(delaySamples)],
    bitrateBps: (8 * bytes * FRAMES_PER_SECOND) / (frameCount - firstCounted),
  };
}

/** The delay of an encoder and the decoder together, in samples, measured with noise. */
export async function delayOf(kind: EncoderKind): Promise<number> {
  const random = seededRandom(1);
  // Smoothed: frequencies well below the highest are coded by their waveform.
  let level = 0;
  const noise = Float32Array.from({ length: SAMPLE_RATE_HZ }, () => {
    level = 0.7 * level + 0.3 * (random() - 0.5);
    return level;
  });
  const { audio } = await roundTrip(kind, {
    audio: [noise, noise],
    bitrateBps: 256_000,
    delaySamples: 0,
    countedFrom: 0,
  });
  const alignment = align(noise, audio[0], { delaySamplesMax: 4800 });
  if (alignment === undefined || alignment.correlation < 0.8) {
    throw new Error(`what ${kind.name} makes of noise is not to be recognised (${alignment?.correlation ?? 0})`);
  }
  return Math.round(alignment.delaySamples);
}
