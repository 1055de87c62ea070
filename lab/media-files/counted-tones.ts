// An audible song whose Opus packets carry their numbers: a tone, and from TONE_CHANGE_SECONDS on a higher one. The
// numbers are the end of the packets' padding (RFC 6716 section 3.2.5), which decoders ignore:
//
//   | configuration, code 3 | one frame and padding | length of the padding | frame | 0 … 0, number |

import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import { makeTone } from "../listen/tone.ts";
import { be, concat } from "./bytes.ts";

export const TONES_SECONDS = 30;
/** Where the second tone begins. */
export const TONE_CHANGE_SECONDS = 10;
/** Whole periods in 20 ms: every packet can follow every other. */
export const FIRST_TONE_HZ = 400;
export const SECOND_TONE_HZ = 600;
/** Peak of both. */
export const TONES_AMPLITUDE = 0.3;

const FRAME_SAMPLES = 960;
const FRAMES_PER_SECOND = 50;
/** Each counts for 254 bytes of padding: so many that the whole song is far more than anybody reads ahead. */
const PADDING_LENGTHS = [255, 255] as const;
const PADDING_BYTES = 2 * 254;
const NUMBER_BYTES = 4;

/** Packets of 20 ms with the numbers 0 and up. */
export async function countedTones(): Promise<readonly Uint8Array[]> {
  const [first, second] = [await tonePackets(FIRST_TONE_HZ), await tonePackets(SECOND_TONE_HZ)];
  return Array.from({ length: TONES_SECONDS * FRAMES_PER_SECOND }, (_, number) => {
    const tone = number < TONE_CHANGE_SECONDS * FRAMES_PER_SECOND ? first : second;
    return numbered(tone[number % FRAMES_PER_SECOND] ?? new Uint8Array(0), number);
  });
}

/** A second of it, to be repeated. */
async function tonePackets(frequencyHz: number): Promise<readonly Uint8Array[]> {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 64_000 });
  const options = { frequencyHz, sampleRateHz: 48_000, lengthSamples: FRAME_SAMPLES, amplitude: TONES_AMPLITUDE };
  const tone = makeTone(options);
  const packets = Array.from({ length: FRAMES_PER_SECOND }, () => encoder.encode(tone, tone).slice());
  encoder.close();
  return packets;
}

/** The same audio followed by a number; `packet` is one frame without padding (code 0). */
function numbered(packet: Uint8Array, number: number): Uint8Array {
  const [configuration = 0] = packet;
  const head = Uint8Array.of(configuration | 3, 0x41, ...PADDING_LENGTHS, NUMBER_BYTES);
  return concat(head, packet.subarray(1), new Uint8Array(PADDING_BYTES), be(number, NUMBER_BYTES));
}
