// Media files for demuxer tests, and their demuxed packets.

import { readFileSync } from "node:fs";
import type { Demuxer } from "../../src/media/demux/demuxer.ts";
import type { Packet } from "../../src/media/format/packet.ts";

/** The bytes of a file in test/fixtures/demux. */
export function readMediaFixture(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`../fixtures/demux/${name}`, import.meta.url)));
}

/** All packets until the end, at most `countMax`. */
export async function readPackets(demuxer: Demuxer, countMax = 100_000): Promise<Packet[]> {
  const packets: Packet[] = [];
  while (packets.length < countMax) {
    const packet = await demuxer.next();
    if (packet === undefined) break;
    packets.push(packet);
  }
  return packets;
}
