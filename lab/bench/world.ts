// The bench's end of world-process.ts: asks the fake Discord and the web site in the other process.

import { type ChildProcess, fork } from "node:child_process";
import type { ArrivalSummary } from "../discord/arrival-statistics.ts";
import type { FakeDiscordStats } from "../discord/fake-discord.ts";
import type { Steadiness } from "../discord/packet-timing.ts";
import type { IssuedVoice } from "../discord/voice-session.ts";
import { asking } from "../test-environment/side-process.ts";

export type WorldRequest =
  | { readonly kind: "address" }
  | {
      readonly kind: "issueVoice";
      readonly guildId: string;
      readonly userId: string;
      readonly channelId: string;
      readonly daveVersion: number;
    }
  | { readonly kind: "stats" }
  | { readonly kind: "clearArrivals" }
  | { readonly kind: "takeArrivals"; readonly sum: string }
  | { readonly kind: "arrivalsOf"; readonly sum: string }
  | { readonly kind: "moveVoice"; readonly guildId: string }
  | { readonly kind: "firstAudio"; readonly guildIds: readonly string[] }
  | { readonly kind: "beginWindow" }
  | { readonly kind: "endWindow" }
  | { readonly kind: "handshakes" }
  | { readonly kind: "cpuSeconds" };

/** The packets that arrived in a window, over all streams. */
export interface WindowAudio extends Steadiness {
  /** How long packets were counted, by the process that counts them. */
  readonly seconds: number;
  readonly silentFrames: number;
  /** By RTP: sent and lost, or left out by the node. */
  readonly lostPackets: number;
  readonly skippedFrames: number;
}

/** How nodes connected to the voice gateway. */
export interface Handshakes {
  readonly upgrades: number;
  readonly tlsAttempts: number;
  /** With which codes the gateway has closed connections, and how often. */
  readonly closeCodes: Readonly<Record<number, number>>;
}

type WorldStats = FakeDiscordStats["total"] & {
  readonly violations: readonly { kind: string; detail: string }[];
};

const ENTRY = new URL("./world-process.js", import.meta.url);

export class World {
  readonly #child: ChildProcess;
  readonly #ask: (request: WorldRequest) => Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ask = asking(child);
  }

  /** Serves the files below `mediaRoot`. */
  static async start(mediaRoot: string): Promise<World> {
    const world = new World(fork(ENTRY, [mediaRoot]));
    await world.mediaUrl(); // answered once it is ready
    return world;
  }

  async mediaUrl(): Promise<string> {
    return ((await this.#ask({ kind: "address" })) as { mediaUrl: string }).mediaUrl;
  }

  issueVoice(options: Omit<Extract<WorldRequest, { kind: "issueVoice" }>, "kind">): Promise<IssuedVoice> {
    return this.#ask({ kind: "issueVoice", ...options }) as Promise<IssuedVoice>;
  }

  stats(): Promise<WorldStats> {
    return this.#ask({ kind: "stats" }) as Promise<WorldStats>;
  }

  /** Forgets the lateness measured so far. */
  async clearArrivals(): Promise<void> {
    await this.#ask({ kind: "clearArrivals" });
  }

  /** The lateness since it was taken or forgotten last, which is also added to the sum of that name. */
  takeArrivals(sum: string): Promise<ArrivalSummary> {
    return this.#ask({ kind: "takeArrivals", sum }) as Promise<ArrivalSummary>;
  }

  /** All that was added to that sum. */
  arrivalsOf(sum: string): Promise<ArrivalSummary> {
    return this.#ask({ kind: "arrivalsOf", sum }) as Promise<ArrivalSummary>;
  }

  /** Another voice server takes the player's channel over; the old connection is closed. */
  moveVoice(guildId: string): Promise<IssuedVoice> {
    return this.#ask({ kind: "moveVoice", guildId }) as Promise<IssuedVoice>;
  }

  /** When the first audio of each guild's newest voice session arrived, by `monotonicMs`; null: not yet. */
  firstAudio(guildIds: readonly string[]): Promise<readonly (number | null)[]> {
    return this.#ask({ kind: "firstAudio", guildIds }) as Promise<readonly (number | null)[]>;
  }

  /** From now on every packet is timed. */
  async beginWindow(): Promise<void> {
    await this.#ask({ kind: "beginWindow" });
  }

  /** Until now. */
  endWindow(): Promise<WindowAudio> {
    return this.#ask({ kind: "endWindow" }) as Promise<WindowAudio>;
  }

  handshakes(): Promise<Handshakes> {
    return this.#ask({ kind: "handshakes" }) as Promise<Handshakes>;
  }

  /** CPU time that the other process has used so far. */
  cpuSeconds(): Promise<number> {
    return this.#ask({ kind: "cpuSeconds" }) as Promise<number>;
  }

  close(): void {
    // It may have ended by itself: a signal that stops the bench stops both.
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** The clock that all processes of a machine share, in milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
