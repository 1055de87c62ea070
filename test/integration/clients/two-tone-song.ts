// The song of the client tests: one tone, then a higher one, so that a seek, a volume and a restart can be detected.

import { decodeReceived } from "../../../lab/listen/received.ts";
import { fitTone, makeTone } from "../../../lab/listen/tone.ts";
import { wav } from "../../../lab/media-files/containers.ts";

export const SONG_MS = 60_000;
/** Where the second tone begins. */
export const SECOND_TONE_MS = 30_000;
export const FIRST_TONE_HZ = 440;
export const SECOND_TONE_HZ = 660;
/** Peak of both tones. */
export const SONG_AMPLITUDE = 0.5;

const SAMPLE_RATE_HZ = 48_000;
const LISTENED_SAMPLES = 9_600;

/** The song as a mono 16-bit WAV file. */
export function makeSong(): Uint8Array {
  const lengthSamples = (SECOND_TONE_MS / 1000) * SAMPLE_RATE_HZ;
  const tones = [FIRST_TONE_HZ, SECOND_TONE_HZ].map((frequencyHz) =>
    makeTone({ frequencyHz, sampleRateHz: SAMPLE_RATE_HZ, lengthSamples, amplitude: SONG_AMPLITUDE }),
  );
  const samples = tones.flatMap((tone) => Array.from(tone, (sample) => Math.round(sample * 32_767)));
  const data = Buffer.from(Int16Array.from(samples).buffer);
  return wav({ rateHz: SAMPLE_RATE_HZ, channels: 1, data });
}

/** The amplitude of a tone at the end of the received audio, 0 to 1. */
export async function toneAmplitude(packets: readonly Uint8Array[], frequencyHz: number): Promise<number> {
  const { left } = await decodeReceived(packets);
  return fitTone(left.subarray(-LISTENED_SAMPLES), frequencyHz, SAMPLE_RATE_HZ).amplitude;
}
