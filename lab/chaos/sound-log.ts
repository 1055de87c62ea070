// Where the sound of each guild was not as it should be, by the packets that the fake Discord got: each place at which
// packets are missing or late, or another stream goes on. Silence is not sound. Pure. Lab only.

/** Between two packets of a guild that follow each other. Times by `performance.now()`. */
export interface Interruption {
  readonly guildId: string;
  /** Arrival of the last packet before, and of the first one after. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Frames between them: by their timestamps, or by the time if a new stream has begun. 0: the packet was only late. */
  readonly missing: number;
  /** The packets are of different voice connections. */
  readonly isNewStream: boolean;
  /** Packets of the song that were left out between them; below 0: that came again. 0 with a new stream. */
  readonly skipped: number;
}

/** A packet with sound, as a listener gets it. */
export interface SoundPacket {
  readonly ssrc: number;
  readonly timestamp: number;
  readonly arrivalMs: number;
  /** Of a packet of a counted song; undefined for others. */
  readonly number?: number | undefined;
}

const FRAME_MS = 20;
const FRAME_TICKS = 960;
/** From one packet to the next: what is later than that counts as late. */
const LATE_MS = 3 * FRAME_MS;

export class SoundLog {
  readonly #last = new Map<string, SoundPacket>();
  readonly #interruptions: Interruption[] = [];
  #packetCount = 0;

  get interruptions(): readonly Interruption[] {
    return this.#interruptions;
  }

  get packetCount(): number {
    return this.#packetCount;
  }

  /** When the last packet of a guild came. */
  lastMs(guildId: string): number | undefined {
    return this.#last.get(guildId)?.arrivalMs;
  }

  hear(guildId: string, packet: SoundPacket): void {
    this.#packetCount++;
    const last = this.#last.get(guildId);
    this.#last.set(guildId, packet);
    if (last === undefined) return;
    const { arrivalMs: fromMs } = last;
    const { arrivalMs: toMs } = packet;
    const isNewStream = packet.ssrc !== last.ssrc;
    const frames = isNewStream
      ? Math.round((toMs - fromMs) / FRAME_MS)
      : ((packet.timestamp - last.timestamp) >>> 0) / FRAME_TICKS;
    const missing = Math.max(0, frames - 1);
    const skipped = isNewStream ? 0 : skippedBetween(last, packet);
    if (isNewStream || missing > 0 || skipped !== 0 || toMs - fromMs > LATE_MS)
      this.#interruptions.push({ guildId, fromMs, toMs, missing, isNewStream, skipped });
  }
}

function skippedBetween({ number: before }: SoundPacket, { number: after }: SoundPacket): number {
  return before === undefined || after === undefined ? 0 : after - before - 1;
}
