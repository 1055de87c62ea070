// Reads the samples that the table in `moov` lists, in time order, wherever they lie in the file. Audio thread.

import type { ByteSource } from "../../input/byte-source.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import { AGAIN, type Step, WAIT } from "../packet-pump.ts";
import type { Movie } from "./movie.ts";
import { type Mp4Packets, SAMPLE_BYTES_MAX } from "./mp4-packets.ts";

/** Packets of uncompressed audio, whose samples are some bytes long, in a second. */
const PACKETS_PER_SECOND = 50;

interface TableReaderParts {
  readonly source: ByteSource;
  /** Moved to each sample. */
  readonly cursor: ByteCursor;
  readonly movie: Movie;
  readonly packets: Mp4Packets;
}

export class TableReader {
  readonly #parts: TableReaderParts;
  /** Samples in a packet. */
  readonly #countMax: number;

  constructor(parts: TableReaderParts) {
    const { table, stream, frame } = parts.movie;
    this.#parts = parts;
    const isSplit = stream.codec === "pcm" && table.runSizeBytes === frame.sizeBytes;
    this.#countMax = isSplit ? Math.max(1, Math.round(stream.sampleRateHz / PACKETS_PER_SECOND)) : 1;
  }

  /** One step of the packet pump; undefined behind the last audible sample. */
  step(): Step {
    const { source, cursor, movie, packets } = this.#parts;
    const { table, endTicks } = movie;
    if (table.isAtEnd || table.ticks >= endTicks) return undefined;
    const { offsetBytes, ticks, durationTicks } = table;
    const count = table.runCount(this.#countMax);
    const sizeBytes = count * table.sizeBytes;
    const isGone = !source.isRandomAccess && offsetBytes < cursor.position;
    if (sizeBytes === 0 || sizeBytes > SAMPLE_BYTES_MAX || isGone) {
      table.advance(count);
      return AGAIN;
    }
    cursor.moveTo(offsetBytes);
    if (!cursor.has(sizeBytes)) return WAIT;
    const data = cursor.take(sizeBytes);
    table.advance(count);
    return packets.create(data, { ticks, durationTicks: count * durationTicks, isLast: table.isAtEnd, endTicks });
  }
}
