// Stations that several players of a worker listen to: their bytes are read and taken apart once. The first player opens
// the station; those that come later join what it reads, a little behind, so that they have audio at once. The
// connection ends with the last of them. Audio thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { Clock } from "../../lib/clock.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { ContainerInfo, Demuxer, StationTimes } from "../demux/demuxer.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { OpenedTrack, OpeningWork } from "./track-opener.ts";

/** Audio kept for those who join, milliseconds. */
const JOIN_MS = 2_000;
/** Audio kept for those behind, as while a player is paused; they go on at the oldest that is kept. */
const BEHIND_MS_MAX = 10_000;
const KEPT_BYTES_MAX = 1024 * 1024;
/** Nobody joins a station that has sent nothing for so long: it is opened again instead. */
const SILENT_MS_MAX = 3_000;
/** Packets that are read in a row while there are any. */
const PULL_PACKETS_MAX = 32;

interface SharedStreamsOptions {
  readonly clock: Clock;
  readonly openTrack: (input: PlayableInput, work: OpeningWork) => Promise<OpenedTrack>;
}

/** One per worker; opens all tracks that it plays. */
export class SharedStreams {
  readonly #options: SharedStreamsOptions;
  /** By owner and input. A promise: it is being opened; undefined: it is no station. */
  readonly #streams = new Map<string, Promise<SharedStream | undefined>>();
  #openedCount = 0;

  /** Stations that play, and tracks that are being opened. */
  get size(): number {
    return this.#streams.size;
  }

  constructor(options: SharedStreamsOptions) {
    this.#options = options;
  }

  /** Opens an input up to its first packet, as `TrackOpener.open`. Of a station that is being played, the packets of the last seconds come first. */
  async open(input: PlayableInput, work: OpeningWork): Promise<Demuxer> {
    const { budget, lengthMs, signal } = work;
    if (lengthMs !== undefined || input.kind === "local") return (await this.#options.openTrack(input, work)).demuxer;
    const key = JSON.stringify([budget.owner, input]);
    const known = this.#streams.get(key);
    if (known !== undefined) {
      const stream = await unlessAborted(known, signal);
      if (stream?.canJoin === true) return stream.join(budget);
      // Several may have waited for it: the first of them opens it again, the others wait for that.
      if (stream !== undefined && this.#streams.get(key) !== known) return this.open(input, work);
    }
    const opening = this.#options.openTrack(input, work);
    const whenStream = opening.then(
      ({ demuxer, isStation }) =>
        isStation && !demuxer.isSeekable
          ? new SharedStream(demuxer, {
              id: ++this.#openedCount,
              clock: this.#options.clock,
              budget,
              onOver: () => this.#forget(key, whenStream),
            })
          : undefined,
      () => undefined,
    );
    this.#streams.set(key, whenStream);
    const stream = await whenStream;
    if (stream !== undefined) return stream.join(budget);
    this.#forget(key, whenStream);
    return (await opening).demuxer;
  }

  #forget(key: string, stream: Promise<SharedStream | undefined>): void {
    if (this.#streams.get(key) === stream) this.#streams.delete(key);
  }
}

interface SharedStreamOptions {
  readonly id: number;
  readonly clock: Clock;
  /** That of the player that opened it. It reads for all, also when that player has left. */
  readonly budget: TrackBudget;
  /** Nobody can join any more. */
  readonly onOver: () => void;
}

interface StreamPacket {
  readonly packet: Packet;
  readonly stream: AudioStream;
}

/** Reads the packets of a station, whenever one of its branches needs more. */
class SharedStream {
  readonly #demuxer: Demuxer;
  readonly #options: SharedStreamOptions;
  readonly #branches = new Set<StreamBranch>();
  /** The newest packets; the first has the number `#first`. */
  #packets: StreamPacket[] = [];
  #first = 0;
  #keptBytes = 0;
  #receivedAtMs: number;
  #pulling: Promise<void> | undefined;
  #end: { readonly error: unknown } | undefined;
  #isClosed = false;

  constructor(demuxer: Demuxer, options: SharedStreamOptions) {
    this.#demuxer = demuxer;
    this.#options = options;
    this.#receivedAtMs = options.clock.now();
  }

  get id(): number {
    return this.#options.id;
  }

  get info(): ContainerInfo {
    return this.#demuxer.info;
  }

  /** The stream of the newest packet. */
  get stream(): AudioStream {
    return this.#packets.at(-1)?.stream ?? this.#demuxer.stream;
  }

  get canJoin(): boolean {
    if (this.#isClosed || this.#end !== undefined) return false;
    return this.#options.clock.now() - this.#receivedAtMs < SILENT_MS_MAX;
  }

  /** All have left. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of the oldest packet that is kept. */
  get first(): number {
    return this.#first;
  }

  /** Why no more packets come; undefined: they do, or the station has ended without an error. */
  get end(): { readonly error: unknown } | undefined {
    return this.#end;
  }

  join(budget: TrackBudget): StreamBranch {
    const untilMs = (this.#packets.at(-1)?.packet.timestampMs ?? 0) - JOIN_MS;
    const index = this.#packets.findIndex(({ packet }) => packet.timestampMs >= untilMs);
    const number = this.#first + Math.max(0, index);
    const branch = new StreamBranch(this, { budget, number, isHost: budget === this.#options.budget });
    this.#branches.add(branch);
    return branch;
  }

  leave(branch: StreamBranch): void {
    if (!this.#branches.delete(branch) || this.#branches.size > 0) return;
    this.#isClosed = true;
    this.#demuxer.close();
    if (!branch.isHost) this.#options.budget.memory.releaseAll();
    this.#packets = [];
    this.#options.onOver();
  }

  packetAt(number: number): StreamPacket | undefined {
    return this.#packets[number - this.#first];
  }

  /** Resolves when there are more packets than before, or none will come. */
  pull(): Promise<void> {
    this.#pulling ??= this.#pull().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #pull(): Promise<void> {
    const { budget, clock } = this.#options;
    try {
      if (budget.isSpent) await budget.yield();
      let packet = await this.#demuxer.next();
      if (packet === undefined) this.#stop(undefined);
      this.#receivedAtMs = clock.now();
      for (let count = 1; packet !== undefined; count++) {
        this.#add(packet);
        const isEnough = count === PULL_PACKETS_MAX || budget.isSpent;
        packet = isEnough ? undefined : this.#demuxer.nextNow?.();
      }
    } catch (error) {
      this.#stop(error);
    } finally {
      budget.pause();
    }
    this.#dropOld();
  }

  #add(packet: Packet): void {
    this.#packets.push({ packet, stream: this.#demuxer.stream });
    this.#keptBytes += packet.data.length;
  }

  #stop(error: unknown): void {
    this.#end ??= { error };
    this.#options.onOver();
  }

  #dropOld(): void {
    const newestMs = this.#packets.at(-1)?.packet.timestampMs ?? 0;
    const needed = Math.min(...Array.from(this.#branches, ({ number }) => number));
    let count = 0;
    for (const { packet } of this.#packets) {
      const ageMs = newestMs - packet.timestampMs;
      const isNeeded = ageMs <= JOIN_MS || this.#first + count >= needed;
      if (isNeeded && ageMs <= BEHIND_MS_MAX && this.#keptBytes <= KEPT_BYTES_MAX) break;
      this.#keptBytes -= packet.data.length;
      count += 1;
    }
    this.#packets.splice(0, count);
    this.#first += count;
  }
}

/** A station as one player hears it: its times begin at 0 where it has joined. */
class StreamBranch implements Demuxer {
  readonly isSeekable = false;
  /** It was opened with the budget that reads for all. */
  readonly isHost: boolean;
  readonly #shared: SharedStream;
  readonly #budget: TrackBudget;
  #number: number;
  #stream: AudioStream;
  /** Added to the station's times. Undefined: the first packet sets it. */
  #offsetMs: number | undefined;
  #untilMs = 0;
  #isClosed = false;

  constructor(
    shared: SharedStream,
    { budget, number, isHost }: { readonly budget: TrackBudget; readonly number: number; readonly isHost: boolean },
  ) {
    this.#shared = shared;
    this.#budget = budget;
    this.#number = number;
    this.isHost = isHost;
    this.#stream = shared.packetAt(number)?.stream ?? shared.stream;
    // The one that opened it keeps the times, which begin with what the container says.
    if (isHost && number === 0) this.#offsetMs = 0;
  }

  get info(): ContainerInfo {
    return this.#shared.info;
  }

  get station(): StationTimes | undefined {
    return this.#offsetMs === undefined ? undefined : { id: this.#shared.id, offsetMs: this.#offsetMs };
  }

  get stream(): AudioStream {
    return this.#stream;
  }

  /** Number of the packet it reads next. */
  get number(): number {
    return this.#number;
  }

  nextNow(): Packet | undefined {
    if (this.#isClosed) return undefined;
    if (this.#number < this.#shared.first) {
      // It was paused for too long. Its times go on without a gap.
      this.#number = this.#shared.first;
      this.#offsetMs = undefined;
    }
    const entry = this.#shared.packetAt(this.#number);
    if (entry === undefined) return undefined;
    this.#number += 1;
    this.#stream = entry.stream;
    const { packet } = entry;
    this.#offsetMs ??= this.#untilMs - packet.timestampMs;
    const timestampMs = packet.timestampMs + this.#offsetMs;
    this.#untilMs = timestampMs + packet.durationMs;
    return { ...packet, timestampMs };
  }

  async next(): Promise<Packet | undefined> {
    for (;;) {
      const packet = this.nextNow();
      if (packet !== undefined) return packet;
      if (this.#isClosed) throw new Error("the stream is closed");
      const { end } = this.#shared;
      if (end?.error !== undefined) throw end.error;
      if (end !== undefined) return undefined;
      this.#budget.pause();
      await this.#budget.upstream.await(this.#shared.pull());
      this.#budget.resume();
    }
  }

  /** A station cannot seek. */
  async seek(): Promise<void> {}

  close(): void {
    this.#isClosed = true;
    this.#shared.leave(this);
  }

  keepsBudget(): boolean {
    return this.isHost && !this.#shared.isClosed;
  }
}
