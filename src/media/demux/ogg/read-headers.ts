// Reads the head of an Ogg file, or of one link of a chain: the first audio stream and its headers. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { createHeaderReader, foreignAudioName, type HeaderReader, type OggHeaders } from "./ogg-codec.ts";
import { PageReader } from "./ogg-page.ts";
import { PacketAssembler } from "./packet-assembler.ts";

/** Pages read for the headers: stream heads and set-up of up to 64 KiB each. */
const HEADER_PAGE_COUNT_MAX = 1024;
const HEADER_JUNK_BYTES_MAX = 1024 * 1024;
const HEADER_BYTES_MAX = 64 * 1024 * 1024;

/** Where the headers of a stream end, and what they say. */
export interface OggStart {
  readonly headers: OggHeaders;
  readonly serial: number;
  readonly dataStart: number;
}

/**
 * Reads the stream heads, chooses the first audio stream and collects its headers. `serials` are all streams that begin
 * there.
 */
export async function readOggHeaders(
  cursor: ByteCursor,
  work: DemuxWork,
): Promise<OggStart & { readonly serials: ReadonlySet<number> }> {
  const pages = new PageReader(cursor);
  const endBytes = cursor.position + HEADER_BYTES_MAX;
  const assembler = new PacketAssembler();
  const serials = new Set<number>();
  let chosen: { serial: number; read: HeaderReader } | undefined;
  let foreignName: string | undefined;
  for (let count = 0; count < HEADER_PAGE_COUNT_MAX && cursor.position < endBytes; count++) {
    const page = await pages.find({ junkBytesMax: HEADER_JUNK_BYTES_MAX, work });
    if (page === undefined) break;
    if (page.isFirst) serials.add(page.serial);
    if (page.isFirst && chosen === undefined) {
      const read = createHeaderReader(page.body);
      if (read !== undefined) chosen = { serial: page.serial, read };
      foreignName ??= foreignAudioName(page.body);
    }
    if (chosen === undefined && !page.isFirst) break;
    if (chosen === undefined || page.serial !== chosen.serial) continue;
    for (const packet of assembler.add(page)) {
      const result = chosen.read(packet);
      if (result === "broken")
        throw new NodeError("media-damaged", "the Ogg file cannot be read: a codec header is broken");
      if (result === "more") continue;
      if (result.isAudioRead) cursor.moveTo(page.positionBytes);
      return { headers: result, serial: chosen.serial, dataStart: cursor.position, serials };
    }
  }
  if (chosen !== undefined)
    throw new NodeError("media-damaged", "the Ogg file cannot be read: its headers are cut off");
  if (foreignName !== undefined) {
    throw new NodeError("media-unsupported-codec", `cannot play the audio codec of the Ogg file: ${foreignName}`);
  }
  throw new NodeError("media-no-audio", "the Ogg file holds no audio stream");
}
