// The songs of the fake server: counted tones as Opus in WebM, and a moment of silence as AAC for live streams. Runs in
// the fake server's process.

import { join, repeat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, cluster, matroskaHead, opusHead, simpleBlock } from "../../media-files/containers.ts";
import { countedTones } from "../../media-files/counted-tones.ts";

const FRAMES_PER_SECOND = 50;
const AAC_FRAMES_PER_SECOND = 47;

export async function webmTones(): Promise<Uint8Array> {
  const packets = await countedTones();
  const seconds = packets.length / FRAMES_PER_SECOND;
  const clusters = Array.from({ length: seconds }, (_, second) => {
    const within = packets.slice(second * FRAMES_PER_SECOND, (second + 1) * FRAMES_PER_SECOND);
    const blocks = within.map((packet, index) => simpleBlock(index * 20, packet));
    return cluster(second * 1000, blocks);
  });
  const track = { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() };
  return join([matroskaHead(track, seconds * 1000), ...clusters]);
}

export function adtsSilence(seconds: number): Uint8Array {
  return repeat(adtsFrame(AAC_SILENCE, 3), seconds * AAC_FRAMES_PER_SECOND);
}
