// How loud a player is heard, from its last second of Opus packets: whether the volume that REST says is the one that is
// sent, wherever the player has moved to. Lab only.

import { decodeReceived } from "../listen/received.ts";

const FRAMES = 50;
/** At their beginning, while the decoder finds in. */
const SKIPPED_SAMPLES = 5 * 960;

export class Loudness {
  /** The last packets of each guild, oldest first. */
  readonly #packets = new Map<string, Uint8Array[]>();

  hear(guildId: string, opus: Uint8Array): void {
    const packets = this.#packets.get(guildId) ?? [];
    this.#packets.set(guildId, packets);
    packets.push(opus);
    if (packets.length > FRAMES) packets.shift();
  }

  /** Root mean square of its last second; undefined until there is one. */
  async level(guildId: string): Promise<number | undefined> {
    const packets = this.#packets.get(guildId) ?? [];
    if (packets.length < FRAMES) return undefined;
    const samples = (await decodeReceived(packets)).left.subarray(SKIPPED_SAMPLES);
    return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
  }

  async levels(guildIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const levels = new Map<string, number>();
    for (const guildId of guildIds) {
      const level = await this.level(guildId);
      if (level !== undefined) levels.set(guildId, level);
    }
    return levels;
  }
}

/** The gain of a volume up to 150, as Lavalink has it. */
export function gainOf(volume: number): number {
  return Math.tan(0.0079 * volume);
}

/** A player's level and volume at one time. */
export interface Heard {
  readonly level: number | undefined;
  readonly volume: number | undefined;
}

/** How much louder it is heard than its volume says, by what it was before; 1: as it should be. Undefined: unknown. */
export function levelRatio(before: Heard, after: Heard): number | undefined {
  if (before.level === undefined || after.level === undefined) return undefined;
  if (before.volume === undefined || after.volume === undefined) return undefined;
  return after.level / before.level / (gainOf(after.volume) / gainOf(before.volume));
}
