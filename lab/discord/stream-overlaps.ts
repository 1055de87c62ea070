// Watches that a bot sends from one place at a time: which packets of an older stream arrive after a newer one of the
// same bot in the same guild has begun. A stream is an SSRC from one socket. Part of the fake Discord.

import type { UdpSender } from "./discord-network.ts";

/** Older streams that went on beside a newer one. Times by the fake Discord's clock. */
export interface StreamOverlap {
  readonly guildId: string;
  readonly userId: string;
  /** First packet of the newer stream. */
  readonly fromMs: number;
  /** Last packet of an older one so far. */
  readonly toMs: number;
  /** Packets of older ones since `fromMs`. */
  readonly packets: number;
}

interface Bot {
  readonly guildId: string;
  readonly userId: string;
}

interface Stream {
  /** Of its bot, in the order of their first packets. */
  readonly number: number;
  readonly sender: UdpSender;
  readonly siblings: Stream[];
  readonly firstMs: number;
  overlap: StreamOverlap | undefined;
}

export class StreamOverlaps {
  readonly #streams = new Map<number, Stream[]>();
  readonly #byBot = new Map<string, Stream[]>();
  readonly #overlapped = new Set<Stream>();

  /** All since `clear`. */
  get list(): readonly StreamOverlap[] {
    return [...this.#overlapped].flatMap(({ overlap }) => overlap ?? []);
  }

  clear(): void {
    for (const stream of this.#overlapped) stream.overlap = undefined;
    this.#overlapped.clear();
  }

  /** A packet of this bot has arrived. */
  add(bot: Bot, ssrc: number, sender: UdpSender, arrivalMs: number): void {
    const { number, siblings } = this.#find(ssrc, sender) ?? this.#begin(bot, ssrc, sender, arrivalMs);
    const newest = siblings.at(-1);
    if (newest === undefined || newest.number === number) return;
    const { guildId, userId } = bot;
    const packets = (newest.overlap?.packets ?? 0) + 1;
    newest.overlap = { guildId, userId, fromMs: newest.firstMs, toMs: arrivalMs, packets };
    this.#overlapped.add(newest);
  }

  #find(ssrc: number, { address, port }: UdpSender): Stream | undefined {
    return this.#streams.get(ssrc)?.find(({ sender }) => sender.port === port && sender.address === address);
  }

  #begin({ guildId, userId }: Bot, ssrc: number, sender: UdpSender, firstMs: number): Stream {
    const bot = `${guildId}/${userId}`;
    const siblings = this.#byBot.get(bot) ?? [];
    this.#byBot.set(bot, siblings);
    const stream = { number: siblings.length, sender, siblings, firstMs, overlap: undefined };
    siblings.push(stream);
    this.#streams.set(ssrc, [...(this.#streams.get(ssrc) ?? []), stream]);
    return stream;
  }
}
