// The fixtures that scenarios play, as the Opus packets in them: what a listener must receive bit for bit, and the
// position of each received packet in the song.

import { readFileSync } from "node:fs";
import { openDemuxer } from "../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "./memory-byte-source.ts";
import { createTrackBudget } from "./track-budgets.ts";

/** Folder of the songs, for a media server's `root`. The chord repeats itself, packet for packet, every two seconds. */
export const SONGS = new URL("../fixtures/media/", import.meta.url);
export const FRAME_MS = 20;

/** The packets of a song, in order, as text that can be compared. */
export async function packetsOf(file: string): Promise<string[]> {
  const demuxer = await openDemuxer(new MemoryByteSource(readFileSync(new URL(file, SONGS))), {}, createTrackBudget());
  const packets: string[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    packets.push(packetText(packet.data));
  }
  demuxer.close();
  return packets;
}

export function packetText(opus: Uint8Array): string {
  return Buffer.from(opus).toString("base64");
}

/**
 * Where in the song each packet is from, -1 for none; of several that are alike the one nearest to where it should be.
 */
export function positionsIn(song: readonly string[], packets: readonly string[]): number[] {
  let expected = 0;
  return packets.map((packet) => {
    let nearest = -1;
    song.forEach((other, position) => {
      if (other !== packet) return;
      if (nearest < 0 || Math.abs(position - expected) < Math.abs(nearest - expected)) nearest = position;
    });
    expected = nearest + 1;
    return nearest;
  });
}
