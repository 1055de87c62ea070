// An input that is read and taken apart once for several players: a station, or a file that they began together. Each
// player reads it through a branch (station-branch.ts, file-branch.ts), which knows how far that player is. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import type { ContainerInfo, Demuxer, FrameRecorder } from "../demux/demuxer.ts";
import type { AudioStream, Packet } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";

/** Audio of a station kept for those who join, milliseconds. */
const JOIN_MS = 2_000;
/** How long after a file was opened others may join: as long as they may share its frames (shared-frames.ts). */
const FILE_JOIN_MS = 5_000;
/** Audio kept for those behind, as while a player is paused. */
const BEHIND_MS_MAX = 10_000;
const KEPT_BYTES_MAX = 1024 * 1024;
/** Nobody joins a station that has sent nothing for so long: it is opened again instead. */
const SILENT_MS_MAX = 3_000;
/** Packets that are read in a row while there are any, and about how many bytes. */
const PULL_PACKETS_MAX = 32;
const PULL_BYTES_MAX = 128 * 1024;

/** One player's place in it. */
interface Branch {
  /** Number of the packet that it reads next. */
  readonly number: number;
  /** It is that of the player that opened the input. */
  readonly isHost: boolean;
}

interface SharedStreamOptions {
  readonly id: number;
  /** Others may join in the first seconds, and begin with its first packet. False: it is a station. */
  readonly isFile: boolean;
  readonly clock: Clock;
  /**
   * Reads for all, also when the player that opened the input has left. A station's is that player's; a file's is
   * released with the file.
   */
  readonly budget: TrackBudget;
  /** Nobody can join any more. */
  readonly onOver: () => void;
}

interface StreamPacket {
  readonly packet: Packet;
  readonly stream: AudioStream;
}

/** Reads the packets, whenever one of its branches needs more. */
export class SharedStream {
  readonly #demuxer: Demuxer;
  readonly #options: SharedStreamOptions;
  readonly #branches = new Set<Branch>();
  /** The newest packets; the first has the number `#first`. */
  #packets: StreamPacket[] = [];
  #first = 0;
  #keptBytes = 0;
  readonly #openedAtMs: number;
  #receivedAtMs: number;
  #pulling: Promise<void> | undefined;
  #end: { readonly error: unknown } | undefined;
  #isHandedOver = false;
  #isClosed = false;

  constructor(demuxer: Demuxer, options: SharedStreamOptions) {
    this.#demuxer = demuxer;
    this.#options = options;
    this.#openedAtMs = options.clock.now();
    this.#receivedAtMs = this.#openedAtMs;
  }

  get id(): number {
    return this.#options.id;
  }

  get info(): ContainerInfo {
    return this.#demuxer.info;
  }

  get isSeekable(): boolean {
    return this.#demuxer.isSeekable;
  }

  get recorder(): FrameRecorder | undefined {
    return this.#demuxer.recorder;
  }

  /** The stream of the newest packet. */
  get stream(): AudioStream {
    return this.#packets.at(-1)?.stream ?? this.#demuxer.stream;
  }

  get canJoin(): boolean {
    if (this.#isClosed || this.#isHandedOver) return false;
    const nowMs = this.#options.clock.now();
    if (!this.#options.isFile) return this.#end === undefined && nowMs - this.#receivedAtMs < SILENT_MS_MAX;
    const isWhole = this.#first === 0 && this.#end?.error === undefined;
    // Who falls behind, or seeks, opens it alone and goes to that position.
    return isWhole && this.isSeekable && nowMs - this.#openedAtMs < FILE_JOIN_MS;
  }

  /** All have left. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of the oldest packet that is kept. */
  get first(): number {
    return this.#first;
  }

  /** Number of the packet that is read next. */
  get last(): number {
    return this.#first + this.#packets.length;
  }

  /** Why no more packets come; undefined: they do. Its error is undefined at the regular end. */
  get end(): { readonly error: unknown } | undefined {
    return this.#end;
  }

  /** Number of the packet that who joins now begins with. */
  get joinNumber(): number {
    if (this.#options.isFile) return 0;
    const untilMs = (this.#packets.at(-1)?.packet.timestampMs ?? 0) - JOIN_MS;
    const index = this.#packets.findIndex(({ packet }) => packet.timestampMs >= untilMs);
    return this.#first + Math.max(0, index);
  }

  join(branch: Branch): void {
    this.#branches.add(branch);
  }

  /** It reads elsewhere from now on, or no longer. */
  leave(branch: Branch): void {
    if (!this.#branches.delete(branch) || this.#branches.size > 0) return;
    const { budget, isFile, onOver } = this.#options;
    this.#isClosed = true;
    this.#demuxer.close();
    // The player that opened a station releases its budget itself, unless others read on with it.
    if (isFile || !branch.isHost) budget.memory.releaseAll();
    this.#packets = [];
    onOver();
  }

  /**
   * The demuxer itself, for the player that opened it, once nobody else reads along or may join. `isJumping`: it goes
   * elsewhere, which no one else needs to wait for. Undefined: it is still shared.
   */
  handOver(branch: Branch, { isJumping = false } = {}): Demuxer | undefined {
    if (!branch.isHost || !this.#branches.has(branch) || this.#branches.size > 1) return undefined;
    if (this.#pulling !== undefined || this.#end?.error !== undefined) return undefined;
    const isThrough = this.#end === undefined && branch.number === this.last && !this.canJoin;
    if (!isJumping && !isThrough) return undefined;
    this.#isHandedOver = true;
    this.#packets = [];
    this.#options.onOver();
    return this.#demuxer;
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
      let sizeBytes = 0;
      for (let count = 1; packet !== undefined; count++) {
        this.#add(packet);
        sizeBytes += packet.data.length;
        const isEnough = count === PULL_PACKETS_MAX || sizeBytes >= PULL_BYTES_MAX || budget.isSpent;
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

  /** Age of the oldest packets that are kept for those who may join. */
  get #keptForJoiningMs(): number {
    if (!this.#options.isFile) return JOIN_MS;
    return this.canJoin ? Number.POSITIVE_INFINITY : 0;
  }

  #dropOld(): void {
    const newestMs = this.#packets.at(-1)?.packet.timestampMs ?? 0;
    const keptMs = this.#keptForJoiningMs;
    const numbers = Array.from(this.#branches, ({ number }) => number);
    const [needed, unread] = [Math.min(...numbers), Math.max(...numbers)];
    let count = 0;
    for (const { packet } of this.#packets) {
      // Nobody is behind who has read all that there was, however large the new packets are.
      if (this.#first + count >= unread) break;
      const ageMs = newestMs - packet.timestampMs;
      const isNeeded = ageMs <= keptMs || this.#first + count >= needed;
      if (isNeeded && ageMs <= BEHIND_MS_MAX && this.#keptBytes <= KEPT_BYTES_MAX) break;
      this.#keptBytes -= packet.data.length;
      count += 1;
    }
    this.#packets.splice(0, count);
    this.#first += count;
  }
}
