// The bench's end of world-process.ts: asks the fake Discord and the web site in the other process.

import { type ChildProcess, fork } from "node:child_process";
import type { ArrivalSummary } from "../discord/arrival-statistics.ts";
import type { FakeDiscordStats } from "../discord/fake-discord.ts";
import type { IssuedVoice } from "../discord/voice-session.ts";
import { asking } from "../stage/side-process.ts";

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
  | { readonly kind: "soundFrames"; readonly guildId: string };

export type WorldStats = FakeDiscordStats["total"] & {
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

  soundFrames(guildId: string): Promise<number> {
    return this.#ask({ kind: "soundFrames", guildId }) as Promise<number>;
  }

  close(): void {
    this.#child.disconnect();
  }
}
