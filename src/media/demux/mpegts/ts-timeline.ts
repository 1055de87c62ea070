// Times and positions in an MPEG-TS file that can be read anywhere: its length, by the PES times at its start and end,
// and the position of a time, by estimating and narrowing down. Times that do not continue (spliced files) are found by
// what they imply for the bit rate. Audio and probe threads.

import type { ByteSource } from "../../input/byte-source.ts";
import { ByteCursor } from "../byte-cursor.ts";
import type { ReaderParts } from "../demux-work.ts";
import { ElementaryStream, TICKS_PER_MS } from "./elementary-stream.ts";
import type { TsCodec } from "./ts-codecs.ts";
import { findTsLayout, isAtSync, parsePesHeader, parseTsPacket, TS_SNIFF_BYTES, type TsLayout } from "./ts-packets.ts";

/** The start of a PES packet with a time. */
interface TimedUnit {
  readonly atBytes: number;
  readonly ticks: number;
}

/** Such a start, and the time there from the start of the file. */
export interface TimelinePoint extends TimedUnit {
  readonly timeMs: number;
}

interface TimelineParts extends ReaderParts {
  readonly layout: TsLayout;
  readonly pid: number;
  readonly codec: TsCodec;
  /** The first unit with a time. */
  readonly first: TimelinePoint;
}

const CLOCK_TICKS = 2 ** 33;
/** How much of the end is read for the last times; the next one where there is no audio in it. */
const TAIL_BYTES = [256 * 1024, 4 * 1024 * 1024] as const;
/** How far the next unit of audio may lie. */
const PROBE_BYTES_MAX = 2 * 1024 * 1024;
/** Into how many stretches the file is divided, to compare their bit rates. */
const STRETCHES = 4;
/** Bit rates that differ more than this from that of most of the file mean that the clock does not continue. */
const RATE_FACTOR_MAX = 8;
/** Bytes per millisecond of anything that can be a stream: 4 kbit/s to 400 Mbit/s. */
const [RATE_MIN, RATE_MAX] = [0.5, 50_000];
/** Shorter stretches are not divided further. */
const STRETCH_BYTES_MIN = 64 * 1024;
/** Reads for the length, and for one seek. */
const PROBES_MAX = 64;
const SEEK_PROBES_MAX = 16;
/** Reading begins this close before the target, or closer than STRETCH_BYTES_MIN. */
const SEEK_MS_MAX = 1_000;

export class TsTimeline {
  readonly #parts: TimelineParts;
  readonly #source: ByteSource;
  readonly #endBytes: number;
  #measuring: Promise<void> | undefined;
  /** In order of both positions and times. */
  #points: TimelinePoint[];
  #lengthMs: number | undefined;
  #probesLeft = PROBES_MAX;

  /** The source is random access and knows its size. */
  constructor(parts: TimelineParts) {
    this.#parts = parts;
    this.#source = parts.source;
    this.#endBytes = parts.source.sizeBytes ?? 0;
    this.#points = [parts.first];
  }

  /** The whole length in milliseconds; undefined when there is no time near the end. */
  async lengthMs(): Promise<number | undefined> {
    await this.#measure();
    return this.#lengthMs;
  }

  /** Where to begin reading for `targetMs`: a unit that starts at or shortly before it, or else the first. */
  async locate(targetMs: number): Promise<TimelinePoint> {
    await this.#measure();
    let index = this.#points.length - 1;
    while (index > 0 && this.#points[index]!.timeMs > targetMs) index--;
    let low = this.#points[index]!;
    let high: Pick<TimelinePoint, "atBytes" | "timeMs"> | undefined = this.#points[index + 1];
    for (let count = 0; count < SEEK_PROBES_MAX && high !== undefined; count++) {
      const sizeBytes: number = high.atBytes - low.atBytes;
      const spanMs = high.timeMs - low.timeMs;
      if (sizeBytes <= STRETCH_BYTES_MIN || targetMs - low.timeMs <= SEEK_MS_MAX || spanMs <= 0) break;
      const share = (targetMs - SEEK_MS_MAX / 2 - low.timeMs) / spanMs;
      // Both sides shrink each time, however uneven the bit rate.
      const atBytes: number = low.atBytes + sizeBytes * Math.min(0.95, Math.max(0.05, share));
      const found = await this.#unitFrom(atBytes, high.atBytes);
      const timeMs = found && low.timeMs + elapsedMs(low, found);
      if (found === undefined || timeMs === undefined) high = { atBytes, timeMs: high.timeMs };
      else if (timeMs > high.timeMs + SEEK_MS_MAX) break;
      else if (timeMs > targetMs) high = { atBytes: found.atBytes, timeMs };
      else low = { ...found, timeMs };
    }
    return low;
  }

  #measure(): Promise<void> {
    this.#measuring ??= this.#measureOnce();
    return this.#measuring;
  }

  async #measureOnce(): Promise<void> {
    const { first } = this.#parts;
    for (const tailBytes of TAIL_BYTES) {
      const from = Math.max(first.atBytes, this.#endBytes - tailBytes);
      const tail = await this.#readTail(from);
      if (tail === undefined) continue;
      this.#points = tail.unit.atBytes <= first.atBytes ? [first] : await this.#pointsUpTo(tail.unit);
      this.#lengthMs = this.#points.at(-1)!.timeMs + tail.durationMs;
      return;
    }
  }

  /** The first unit with a time from this position on, and how long the audio lasts from there. */
  async #readTail(from: number): Promise<{ unit: TimedUnit; durationMs: number } | undefined> {
    const unit = await this.#unitFrom(from, this.#endBytes);
    if (unit === undefined) return undefined;
    const elementary = new ElementaryStream(this.#parts.codec);
    const cursor = new ByteCursor(this.#source, unit.atBytes);
    let continuity: number | undefined;
    while (await this.#toPacket(cursor, this.#endBytes)) {
      const packet = parseTsPacket(await cursor.peek(188));
      cursor.skip(this.#parts.layout.packetBytes);
      if (packet?.pid !== this.#parts.pid || packet.continuity === continuity) continue;
      continuity = packet.continuity;
      const header = packet.isUnitStart ? parsePesHeader(packet.payload) : undefined;
      elementary.add(packet.payload.subarray(header?.sizeBytes ?? 0), header?.pts, []);
    }
    elementary.flush([]);
    return { unit, durationMs: elementary.timeMs };
  }

  /** Times from the first to the last unit: those in between show where the clock does not continue. */
  async #pointsUpTo(last: TimedUnit): Promise<TimelinePoint[]> {
    const { first } = this.#parts;
    const units: TimedUnit[] = [first];
    for (let index = 1; index < STRETCHES; index++) {
      const from = first.atBytes + ((last.atBytes - first.atBytes) * index) / STRETCHES;
      const unit = await this.#unitFrom(from, last.atBytes);
      if (unit !== undefined && unit.atBytes > units.at(-1)!.atBytes) units.push(unit);
    }
    units.push(last);
    const rate = usualRate(units);
    const points: TimelinePoint[] = [first];
    for (const unit of units.slice(1)) await this.#addStretch(points, unit, rate);
    return points;
  }

  /** Adds a unit, and those in between if its time does not fit. */
  async #addStretch(points: TimelinePoint[], end: TimedUnit, rate: number): Promise<void> {
    const waiting = [end];
    for (let unit = waiting.pop(); unit !== undefined; unit = waiting.pop()) {
      const before = points.at(-1)!;
      const sizeBytes = unit.atBytes - before.atBytes;
      const isFitting = isNear(rateOf(before, unit), rate);
      const middle =
        isFitting || sizeBytes <= STRETCH_BYTES_MIN || this.#probesLeft-- <= 0
          ? undefined
          : await this.#unitFrom(before.atBytes + sizeBytes / 2, unit.atBytes);
      if (middle !== undefined) waiting.push(unit, middle);
      // A new clock: what lies before it in this stretch is as long as its bytes suggest.
      else points.push({ ...unit, timeMs: before.timeMs + (isFitting ? elapsedMs(before, unit) : sizeBytes / rate) });
    }
  }

  /** The first unit of the audio with a time in this range. */
  async #unitFrom(fromBytes: number, untilBytes: number): Promise<TimedUnit | undefined> {
    const { layout, pid } = this.#parts;
    const nth = Math.max(0, Math.floor((fromBytes - layout.offsetBytes) / layout.packetBytes));
    const cursor = new ByteCursor(this.#source, layout.offsetBytes + nth * layout.packetBytes);
    const limit = Math.min(untilBytes, cursor.position + PROBE_BYTES_MAX);
    while (await this.#toPacket(cursor, limit)) {
      const atBytes = cursor.position;
      const packet = parseTsPacket(await cursor.peek(188));
      cursor.skip(layout.packetBytes);
      if (packet?.pid !== pid || !packet.isUnitStart) continue;
      const ticks = parsePesHeader(packet.payload)?.pts;
      if (ticks !== undefined) return { atBytes, ticks };
    }
    return undefined;
  }

  /** Moves to the next packet; false when none begins before the limit. */
  async #toPacket(cursor: ByteCursor, limit: number): Promise<boolean> {
    const { work } = this.#parts;
    while (cursor.position < limit) {
      if (work.isSpent) await work.yield();
      if (!(await cursor.need(188))) return false;
      if (isAtSync(cursor)) return true;
      const bytes = await cursor.peek(TS_SNIFF_BYTES);
      cursor.skip(Math.max(1, findTsLayout(bytes)?.offsetBytes ?? Math.min(188, bytes.length)));
    }
    return false;
  }
}

/** Milliseconds from one unit to the next; their clock may wrap around. */
function elapsedMs(from: TimedUnit, to: TimedUnit): number {
  return ((to.ticks - from.ticks + CLOCK_TICKS) % CLOCK_TICKS) / TICKS_PER_MS;
}

/** Bytes per millisecond; 0 where the clock goes back, which looks like hours. */
function rateOf(from: TimedUnit, to: TimedUnit): number {
  return (to.atBytes - from.atBytes) / Math.max(1, elapsedMs(from, to));
}

/** The rate of most of the file: the middle one of those that are possible. */
function usualRate(units: readonly TimedUnit[]): number {
  const rates = units.slice(1).map((unit, index) => rateOf(units[index]!, unit));
  const possible = rates.filter((rate) => rate >= RATE_MIN && rate <= RATE_MAX).sort((a, b) => a - b);
  return possible[possible.length >> 1] ?? Math.max(RATE_MIN, rates[0] ?? 0);
}

function isNear(rate: number, usual: number): boolean {
  return rate >= RATE_MIN && rate <= RATE_MAX && rate < usual * RATE_FACTOR_MAX && rate > usual / RATE_FACTOR_MAX;
}
