// Title and artist in the INFO list of a RIFF file. Its text is in no declared encoding. Audio and probe threads.

import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { decodeTag, setTag, type Tags, TEXT_BYTES_MAX } from "../tags.ts";

const ENTRY_COUNT_MAX = 256;
const TAG_BY_ENTRY: Readonly<Record<string, keyof Tags>> = { INAM: "title", IART: "author" };

/** Reads a list at the cursor, which ends at `end`; lists of other kinds are left alone. */
export async function readRiffInfo(
  cursor: ByteCursor,
  tags: Tags,
  { end, work }: { readonly end: number; readonly work: DemuxWork },
): Promise<void> {
  if (String.fromCharCode(...(await cursor.read(4))) !== "INFO") return;
  for (let count = 0; count < ENTRY_COUNT_MAX && cursor.position + 8 <= end; count++) {
    if (work.isSpent) await work.yield();
    const head = await cursor.read(8);
    if (head.length < 8) return;
    const sizeBytes = new DataView(head.buffer, head.byteOffset).getUint32(4, true);
    const id = String.fromCharCode(...head.subarray(0, 4)).toUpperCase();
    const next = cursor.position + sizeBytes;
    const name = Object.hasOwn(TAG_BY_ENTRY, id) ? TAG_BY_ENTRY[id] : undefined;
    if (name !== undefined) {
      const bytes = await cursor.peek(Math.min(sizeBytes, TEXT_BYTES_MAX, end - cursor.position));
      setTag(tags, name, decodeTag(bytes));
    }
    cursor.moveTo(next);
    // Padded to an even size, by most writers.
    if ((sizeBytes & 1) === 1 && (await cursor.peek(1))[0] === 0) cursor.skip(1);
  }
}
