// A demuxer over packets made by a test: seekable, with reads that can be delayed or made to fail.

import type { Demuxer } from "../../src/media/demux/demuxer.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";

const PRE_ROLL_MS = 80;

interface ScriptedDemuxerOptions {
  readonly stream: AudioStream;
  readonly packets: readonly Packet[];
  readonly isSeekable?: boolean;
}

export class ScriptedDemuxer implements Demuxer {
  readonly info = {
    probeName: "test",
    title: undefined,
    author: undefined,
    isrc: undefined,
    artworkUrl: undefined,
    lengthMs: undefined,
  };
  readonly isSeekable: boolean;
  stream: AudioStream;
  isClosed = false;
  seeks: number[] = [];
  readonly #packets: readonly Packet[];
  #next = 0;
  #barrier: { readonly at: number; readonly until: Promise<void> } | undefined;
  #failure: { readonly at: number; readonly error: Error } | undefined;

  constructor({ stream, packets, isSeekable = true }: ScriptedDemuxerOptions) {
    this.stream = stream;
    this.#packets = packets;
    this.isSeekable = isSeekable;
  }

  /** The packet with this index is not returned before `until` resolves. */
  holdAt(at: number, until: Promise<void>): void {
    this.#barrier = { at, until };
  }

  /** Reading the packet with this index fails. */
  failAt(at: number, error: Error): void {
    this.#failure = { at, error };
  }

  async next(): Promise<Packet | undefined> {
    if (this.#barrier !== undefined && this.#next >= this.#barrier.at) await this.#barrier.until;
    if (this.#failure !== undefined && this.#next >= this.#failure.at) throw this.#failure.error;
    return this.#packets[this.#next++];
  }

  async seek(positionMs: number): Promise<void> {
    this.seeks.push(positionMs);
    const from = this.#packets.findIndex((packet) => packet.timestampMs + packet.durationMs > positionMs - PRE_ROLL_MS);
    this.#next = from === -1 ? this.#packets.length : from;
  }

  close(): void {
    this.isClosed = true;
  }
}
