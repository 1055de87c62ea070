// Drives a container's parsing step: returns packets without waiting while bytes are buffered, waits for bytes when
// they are not, and yields the thread during long searches. It limits for all readers what one may do without finding a
// packet, and trims only where the audio ends. Used by every demuxer's `next`. Audio thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import type { DemuxWork } from "./demux-work.ts";

/** A step needs more bytes: the cursor knows how many. At the end of the data the pump ends the stream instead. */
export const WAIT = "wait";
/** A step made progress but has no packet yet; it did at most some tens of microseconds of work. */
export const AGAIN = "again";

/** Result of one parsing step; undefined is the end of the stream. */
export type Step = Packet | undefined | typeof WAIT | typeof AGAIN;

/** Steps from one returned packet to the next: a jump over 46 hours of audio that has to be read through. */
const STEPS_MAX = 8 * 1024 * 1024;
/** Bytes scanned from one packet to the next; bytes skipped unread do not count. */
const BYTES_MAX = 1024 * 1024 * 1024;
/** Packets with padding in a row that are read past, and their bytes: all of an Ogg page, or one long packet. */
const PADDED_COUNT_MAX = 256;
const PADDED_BYTES_MAX = 128 * 1024;
/** Steps of `nextNow`: a packet takes one, or a few where a cluster or a page begins. */
const STEPS_AT_ONCE_MAX = 8;

export interface PumpOptions {
  readonly cursor: ByteCursor;
  readonly work: DemuxWork;
  /** Returns a promise when the step takes its own time slices. */
  readonly step: () => Step | Promise<Step>;
  /** Handles the rest at the end of the data (fewer bytes than the step needs); by default it is dropped. */
  readonly onShort?: () => Step;
  /** The stream of the packet that `step` returned. Needed when it may change, or packets may end in padding. */
  readonly stream?: () => AudioStream;
  /** True when the packet last read starts in place of the padding in front of it. Default: it does not. */
  readonly isPaddingConfirmed?: () => boolean;
}

interface Held {
  readonly packet: Packet;
  readonly stream: AudioStream | undefined;
}

/** One per reader. Its limits apply from one packet to the next: 8,388,608 steps, and 1 GiB scanned. */
export class PacketPump {
  readonly #options: PumpOptions;
  #dropUntilMs = Number.NEGATIVE_INFINITY;
  #isFinished = false;
  /** Packets to return, and one behind them that was read to judge the padding of the last. */
  #held: Held[] = [];
  #ahead: Held | undefined;
  /** Ended the reading ahead; thrown when the packets in front of it are returned. */
  #failure: { readonly error: unknown } | undefined;
  /** The result of a step that `nextNow` could not use. */
  #unused: { readonly step: Step | Promise<Step> } | undefined;
  #stream: AudioStream | undefined;

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  /** The stream of the packet last returned; undefined before the first one. */
  get stream(): AudioStream | undefined {
    return this.#stream;
  }

  /** Drops packets that end at or before `timeMs`, to reach the target after a seek, and those read ahead. */
  dropUntil(timeMs: number): void {
    this.#dropUntilMs = timeMs;
    this.#isFinished = false;
    this.#held = [];
    this.#ahead = undefined;
    this.#failure = undefined;
    this.#unused = undefined;
    this.#stream = undefined;
  }

  /** When the first packet starts that was read and is not returned yet; undefined when there is none. */
  get heldMs(): number | undefined {
    return (this.#held[0] ?? this.#ahead)?.packet.timestampMs;
  }

  /** Like `dropUntil`, for a seek that only reads on: packets that were read ahead are returned if they end later. */
  skipUntil(timeMs: number): void {
    const ahead = this.#ahead;
    const failure = this.#failure;
    const held = this.#held.filter(({ packet }) => !isBefore(packet, timeMs));
    this.dropUntil(timeMs);
    if (ahead !== undefined && !isBefore(ahead.packet, timeMs)) this.#ahead = ahead;
    this.#held = held;
    if (held.length > 0) this.#failure = failure;
    if (this.heldMs !== undefined) this.#dropUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Ends the stream without reading on: a seek went behind the end. The next `dropUntil` undoes it. */
  finish(): void {
    this.#isFinished = true;
  }

  /** The next packet, if nothing has to be waited for; otherwise undefined, and `next` returns it. */
  nextNow(): Packet | undefined {
    if (this.#isFinished || this.#held.length > 0 || this.#ahead !== undefined) return undefined;
    if (this.#failure !== undefined || this.#unused !== undefined) return undefined;
    const { step: takeStep, stream } = this.#options;
    for (let steps = 0; steps < STEPS_AT_ONCE_MAX; steps++) {
      const step = takeStep();
      if (step === AGAIN) continue;
      const isWhole = typeof step === "object" && "data" in step && step.data.length > 0 && step.trimEndSamples === 0;
      if (!isWhole || isBefore(step, this.#dropUntilMs)) {
        this.#unused = { step };
        return undefined;
      }
      this.#dropUntilMs = Number.NEGATIVE_INFINITY;
      this.#stream = stream?.();
      return step;
    }
    return undefined;
  }

  /**
   * Packets without content are left out. Padding is only at the end of a stream: a packet that others of its stream
   * follow is whole, whatever a header or a page says.
   */
  async next(): Promise<Packet | undefined> {
    if (this.#isFinished) return undefined;
    if (this.#held.length === 0) await this.#readAhead();
    const held = this.#held.shift();
    this.#stream = held?.stream;
    return held?.packet;
  }

  /** Up to a packet whose padding is known: that is one, or those up to the next one with audio. */
  async #readAhead(): Promise<void> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
    const first = this.#ahead ?? (await this.#take());
    this.#ahead = undefined;
    if (first === undefined) return;
    const run = [first];
    let next: Held | undefined;
    for (let bytes = first.packet.data.length; first.packet.trimEndSamples > 0; bytes += next.packet.data.length) {
      next = await this.#takeNext();
      if (next === undefined || next.stream !== first.stream || !isAllPadding(next)) break;
      run.push(next);
      if (run.length > PADDED_COUNT_MAX || bytes > PADDED_BYTES_MAX) break;
    }
    this.#ahead = next === run.at(-1) ? undefined : next;
    const isContinued = this.#ahead !== undefined && this.#ahead.stream === first.stream;
    const isAtEnd = !isContinued || this.#options.isPaddingConfirmed?.() === true;
    const isTrimmed = isAtEnd && this.#failure === undefined;
    this.#held = isTrimmed ? run : run.map((held) => ({ ...held, packet: { ...held.packet, trimEndSamples: 0 } }));
  }

  /** Undefined at the end, and at an error: what was read before it is not lost. */
  async #takeNext(): Promise<Held | undefined> {
    try {
      return await this.#take();
    } catch (error) {
      if (error instanceof NodeError && error.code === "input-closed") throw error;
      this.#failure = { error };
      return undefined;
    }
  }

  async #take(): Promise<Held | undefined> {
    const packet = await this.#read();
    return packet && { packet, stream: this.#options.stream?.() };
  }

  async #read(): Promise<Packet | undefined> {
    const { cursor, work } = this.#options;
    const bytesMax = cursor.fetchedBytes + BYTES_MAX;
    for (let steps = 0; steps < STEPS_MAX && cursor.fetchedBytes < bytesMax; steps++) {
      if (steps > 0 && work.isSpent) await work.yield();
      let step = this.#unused === undefined ? this.#options.step() : this.#unused.step;
      this.#unused = undefined;
      if (step instanceof Promise) step = await step;
      if (step === WAIT) step = await this.#fill();
      if (step === undefined) return undefined;
      if (step === AGAIN || step === WAIT || step.data.length === 0) continue;
      if (isBefore(step, this.#dropUntilMs)) continue;
      this.#dropUntilMs = Number.NEGATIVE_INFINITY;
      return step;
    }
    throw new NodeError("media-damaged", "the media cannot be played: it continues without any audio");
  }

  async #fill(): Promise<Step> {
    const { cursor, onShort } = this.#options;
    if (!cursor.isShort) {
      await cursor.fill();
      return AGAIN;
    }
    const rest = onShort?.();
    return rest === WAIT ? undefined : rest;
  }
}

function isBefore({ timestampMs, durationMs }: Packet, timeMs: number): boolean {
  return timestampMs < timeMs && timestampMs + durationMs <= timeMs;
}

function isAllPadding({ packet, stream }: Held): boolean {
  if (stream === undefined) return packet.trimEndSamples > 0;
  return packet.trimEndSamples >= Math.round((packet.durationMs * stream.sampleRateHz) / 1000);
}
