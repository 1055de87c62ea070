// The media of the conformance kit, made in memory: WAV, which every node plays without further help, and bytes that
// are not audio.

import { makeTone } from "../../listen/tone.ts";
import { wav } from "../../media-files/containers.ts";

const SAMPLE_RATE_HZ = 48_000;

/** Files by path, for a media server. */
export function conformanceMedia(): Record<string, Uint8Array | string> {
  const noise = Uint8Array.from({ length: 20_000 }, (_, index) => (index * 7919 + (index >> 3) * 104_729) & 0x7f);
  return {
    "tone.wav": wavOfSeconds(15),
    "other.wav": wavOfSeconds(15),
    "short.wav": wavOfSeconds(0.6),
    "text.txt": "hello\n",
    "empty.mp3": "",
    "random.mp3": noise,
  };
}

/** Mono, 16 bit. Whole periods fit a second, so one second is made and repeated. */
function wavOfSeconds(seconds: number): Uint8Array {
  const tone = makeTone({ frequencyHz: 440, sampleRateHz: SAMPLE_RATE_HZ, lengthSamples: SAMPLE_RATE_HZ });
  const second = Buffer.from(Int16Array.from(tone, (sample) => Math.round(sample * 32_767)).buffer);
  const data = Buffer.alloc(seconds * second.length, second);
  return wav({ rateHz: SAMPLE_RATE_HZ, channels: 1, data });
}
