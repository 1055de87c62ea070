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
  /** Where the newer one is sent from, and the older one that was heard last. */
  readonly sender: UdpSender;
  readonly olderSender: UdpSender;
}

/** A stream that has begun. */
export interface BegunStream {
  readonly guildId: string;
  readonly userId: string;
  readonly sender: UdpSender;
  /** Its first packet. */
  readonly firstMs: number;
}

interface Bot {
  readonly guildId: string;
  readonly userId: string;
}

interface Stream extends BegunStream {
  /** Of its bot, in the order of their first packets. */
  readonly number: number;
  readonly siblings: Stream[];
  overlap: StreamOverlap | undefined;
}

export class StreamOverlaps {
  readonly #streams = new Map<number, Stream[]>();
  readonly #byBot = new Map<string, Stream[]>();
  readonly #overlapped = new Set<Stream>();
  readonly #begun: Stream[] = [];

  /** All streams so far, in the order of their first packets. */
  get begun(): readonly BegunStream[] {
    return this.#begun;
  }

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
    const {
      number,
      siblings,
      sender: olderSender,
    } = this.#find(ssrc, sender) ?? this.#begin(bot, ssrc, sender, arrivalMs);
    const newest = siblings.at(-1);
    if (newest === undefined || newest.number === number) return;
    const { guildId, userId } = bot;
    const packets = (newest.overlap?.packets ?? 0) + 1;
    const { firstMs: fromMs, sender: newerSender } = newest;
    newest.overlap = { guildId, userId, fromMs, toMs: arrivalMs, packets, sender: newerSender, olderSender };
    this.#overlapped.add(newest);
  }

  #find(ssrc: number, { address, port }: UdpSender): Stream | undefined {
    return this.#streams.get(ssrc)?.find(({ sender }) => sender.port === port && sender.address === address);
  }

  #begin({ guildId, userId }: Bot, ssrc: number, sender: UdpSender, firstMs: number): Stream {
    const bot = `${guildId}/${userId}`;
    const siblings = this.#byBot.get(bot) ?? [];
    this.#byBot.set(bot, siblings);
    const stream = { guildId, userId, number: siblings.length, sender, siblings, firstMs, overlap: undefined };
    siblings.push(stream);
    this.#begun.push(stream);
    this.#streams.set(ssrc, [...(this.#streams.get(ssrc) ?? []), stream]);
    return stream;
  }
}
