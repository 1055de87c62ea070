// What the stand-in plays: a tone as Opus in WebM, and a moment of silence as AAC for live streams. In whichever
// process the stand-in runs.

import { OpusFrameEncoder } from "../../../src/media/encode/opus-encoder.ts";
import { makeTone } from "../../listen/tone.ts";
import { concat, repeat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, cluster, matroskaHead, opusHead, simpleBlock } from "../../media-files/containers.ts";

const FRAME_SAMPLES = 960;
const FRAMES_PER_SECOND = 50;
const AAC_FRAMES_PER_SECOND = 47;

export async function webmTone(seconds: number): Promise<Uint8Array> {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 64_000 });
  const tone = makeTone({ frequencyHz: 400, sampleRateHz: 48_000, lengthSamples: FRAME_SAMPLES, amplitude: 0.3 });
  const blocks = Array.from({ length: FRAMES_PER_SECOND }, (_, index) => {
    return simpleBlock(index * 20, encoder.encode(tone, tone).slice());
  });
  encoder.close();
  const track = { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() };
  const clusters = Array.from({ length: seconds }, (_, second) => cluster(second * 1000, blocks));
  return concat(matroskaHead(track, seconds * 1000), ...clusters);
}

export function adtsSilence(seconds: number): Uint8Array {
  return repeat(adtsFrame(AAC_SILENCE, 3), seconds * AAC_FRAMES_PER_SECOND);
}
