// A file as one of several players reads it that began it together: with the others for as long as it goes on from where
// they are, and alone from its first seek on, after a pause that the others did not wait for, or when what they read has
// failed. Most files have one player, who gets the demuxer itself once nobody can join any more. Audio thread.

import { isDeepStrictEqual } from "node:util";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { ContainerInfo, Demuxer, FrameRecorder } from "../demux/demuxer.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { SharedStream } from "./shared-stream.ts";

/** Times that are closer are the same. */
const SAME_MOMENT_MS = 0.5;

interface FileBranchOptions {
  /** That of its player. */
  readonly budget: TrackBudget;
  /** Its player has opened the shared file. */
  readonly isHost: boolean;
  /** Opens the file for this player alone. */
  readonly openAlone: () => Promise<Demuxer>;
}

export class FileBranch implements Demuxer {
  readonly #shared: SharedStream;
  readonly #options: FileBranchOptions;
  readonly #abort = new AbortController();
  #number = 0;
  #stream: AudioStream;
  /** End of the packet returned last, before it read alone. */
  #untilMs = 0;
  /** Read alone: the shared demuxer that was handed over, or one that was opened for it. */
  #direct: Demuxer | undefined;
  #isAlone = false;
  /** Packets of the demuxer that was opened which begin before it have been returned already. */
  #knownUntilMs: number | undefined;
  /** A stream of that demuxer which continues the shared one: the same, described once more. */
  #continued: AudioStream | undefined;
  #isClosed = false;

  constructor(shared: SharedStream, options: FileBranchOptions) {
    this.#shared = shared;
    this.#options = options;
    this.#stream = shared.packetAt(0)?.stream ?? shared.stream;
    shared.join(this);
  }

  get isHost(): boolean {
    return this.#options.isHost;
  }

  get info(): ContainerInfo {
    return this.#shared.info;
  }

  get isSeekable(): boolean {
    return (this.#direct ?? this.#shared).isSeekable;
  }

  get recorder(): FrameRecorder | undefined {
    return this.isHost && !this.#isAlone ? this.#shared.recorder : undefined;
  }

  get stream(): AudioStream {
    const stream = this.#direct?.stream;
    return stream === undefined || stream === this.#continued ? this.#stream : stream;
  }

  /** Number of the shared packet that it reads next. */
  get number(): number {
    return this.#number;
  }

  nextNow(): Packet | undefined {
    if (this.#isClosed) return undefined;
    this.#direct ??= this.#shared.handOver(this);
    if (this.#direct !== undefined) {
      let packet = this.#direct.nextNow?.();
      while (packet !== undefined && this.#isKnown(packet)) packet = this.#direct.nextNow?.();
      return packet;
    }
    const entry = this.#shared.packetAt(this.#number);
    if (entry === undefined) return undefined;
    this.#number += 1;
    this.#stream = entry.stream;
    this.#untilMs = entry.packet.timestampMs + entry.packet.durationMs;
    return entry.packet;
  }

  async next(): Promise<Packet | undefined> {
    for (;;) {
      const packet = this.nextNow() ?? (await this.#direct?.next());
      if (packet !== undefined && !this.#isKnown(packet)) return packet;
      if (this.#isClosed) throw closedError();
      if (packet !== undefined) continue;
      if (this.#direct !== undefined) return undefined;
      const { end, first } = this.#shared;
      const isLost = this.#number < first || (end?.error !== undefined && !this.isHost);
      if (isLost) await this.#continueAlone();
      else if (end === undefined) await this.#pull();
      else if (end.error === undefined) return undefined;
      else throw end.error;
    }
  }

  async seek(positionMs: number): Promise<void> {
    this.#knownUntilMs = undefined;
    this.#direct ??= this.#shared.handOver(this, { isJumping: true });
    if (this.#direct === undefined) await this.#readAlone(positionMs);
    else await this.#direct.seek(positionMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#abort.abort(closedError());
    if (this.#isAlone) this.#direct?.close();
    else this.#shared.leave(this);
  }

  async #pull(): Promise<void> {
    const { budget } = this.#options;
    budget.pause();
    const more = unlessAborted(this.#shared.pull(), this.#abort.signal);
    // Those who have not opened it wait for the network when the shared file does.
    await (this.isHost ? more : budget.upstream.await(more));
    budget.resume();
  }

  /** Goes on, behind the packet returned last, in a demuxer of its player's. */
  async #continueAlone(): Promise<void> {
    await this.#readAlone(this.#untilMs);
    this.#knownUntilMs = this.#untilMs;
  }

  async #readAlone(positionMs: number): Promise<void> {
    const demuxer = await this.#options.openAlone();
    try {
      if (this.#isClosed) throw closedError();
      await demuxer.seek(positionMs);
      if (this.#isClosed) throw closedError();
    } catch (error) {
      demuxer.close();
      throw error;
    }
    // What follows is read from elsewhere.
    this.recorder?.giveUp();
    this.#direct = demuxer;
    this.#isAlone = true;
    this.#shared.leave(this);
  }

  #isKnown({ timestampMs }: Packet): boolean {
    if (this.#knownUntilMs === undefined) return false;
    if (timestampMs < this.#knownUntilMs - SAME_MOMENT_MS) return true;
    this.#knownUntilMs = undefined;
    // Another stream would need another decoder, which would not know what came before.
    if (isDeepStrictEqual(this.#direct?.stream, this.#stream)) this.#continued = this.#direct?.stream;
    return false;
  }
}

function closedError(): Error {
  return new Error("the file is closed");
}
