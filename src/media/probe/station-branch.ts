// A station as one of several players hears it: its times begin at 0 where the player has joined. Audio thread.

import type { ContainerInfo, Demuxer, StationTimes } from "../demux/demuxer.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { SharedStream } from "./shared-stream.ts";

export class StationBranch implements Demuxer {
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

  constructor(shared: SharedStream, { budget, isHost }: { readonly budget: TrackBudget; readonly isHost: boolean }) {
    this.#shared = shared;
    this.#budget = budget;
    const number = shared.joinNumber;
    this.#number = number;
    this.isHost = isHost;
    this.#stream = shared.packetAt(number)?.stream ?? shared.stream;
    // The one that opened it keeps the times, which begin with what the container says.
    if (isHost && number === 0) this.#offsetMs = 0;
    shared.join(this);
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
