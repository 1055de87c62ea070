// The runner's end of listening-post-process.ts, which listens to the control players and polls the node's version in a
// separate process: building and sending hostile files must not make packets look late.

import { type ChildProcess, fork } from "node:child_process";
import type { IssuedVoice } from "../../discord/voice-session.ts";
import { asking } from "../../test-environment/side-process.ts";
import type { ReceivedAudio } from "./audio-watch.ts";

export type PostRequest =
  | { readonly kind: "mediaUrl" }
  | {
      readonly kind: "issueVoice";
      readonly guildId: string;
      readonly userId: string;
      readonly channelId: string;
      readonly daveVersion: number;
    }
  /** From now on this guild is listened to. */
  | { readonly kind: "watch"; readonly guildId: string; readonly channelId: string; readonly isDecoded: boolean }
  | { readonly kind: "forget" }
  | { readonly kind: "audioPackets"; readonly guildId: string }
  | { readonly kind: "askVersion"; readonly url: string }
  | { readonly kind: "openWindow" }
  | { readonly kind: "closeWindow" };

/** The measurements from `openWindow` to `closeWindow`; plain data. */
export interface WindowResult {
  readonly seconds: number;
  readonly received: readonly ReceivedAudio[];
  /** The slowest answer to GET /version; one that has not come counts up to the end. */
  readonly versionMsMax: number;
  readonly versionFailures: number;
  /** How long the listening process itself was starved: its measurements may be too long by that. */
  readonly ownDelayMsMax: number;
}

type Ask = (request: PostRequest) => Promise<unknown>;

const ENTRY = new URL("./listening-post-process.js", import.meta.url);
/** In tests this file runs from its source, its process from the build. */
const BUILT_ENTRY = new URL("../../../dist/lab/isolation/harness/listening-post-process.js", import.meta.url);

export class ListeningPost {
  readonly mediaUrl: string;
  readonly #child: ChildProcess;
  readonly #ask: Ask;

  private constructor(child: ChildProcess, ask: Ask, mediaUrl: string) {
    this.#child = child;
    this.#ask = ask;
    this.mediaUrl = mediaUrl;
  }

  static async start(): Promise<ListeningPost> {
    const child = fork(import.meta.url.endsWith(".ts") ? BUILT_ENTRY : ENTRY);
    const ask = asking<PostRequest>(child);
    return new ListeningPost(child, ask, (await ask({ kind: "mediaUrl" })) as string);
  }

  issueVoice(options: Omit<Extract<PostRequest, { kind: "issueVoice" }>, "kind">): Promise<IssuedVoice> {
    return this.#ask({ kind: "issueVoice", ...options }) as Promise<IssuedVoice>;
  }

  async watch(guildId: string, channelId: string, { isDecoded = true } = {}): Promise<void> {
    await this.#ask({ kind: "watch", guildId, channelId, isDecoded });
  }

  /** Stops listening to all players. */
  async forget(): Promise<void> {
    await this.#ask({ kind: "forget" });
  }

  /** Audio packets of a guild's newest voice session. */
  audioPackets(guildId: string): Promise<number> {
    return this.#ask({ kind: "audioPackets", guildId }) as Promise<number>;
  }

  /** Asks this node for its version ten times a second from now on. */
  async askVersion(url: string): Promise<void> {
    await this.#ask({ kind: "askVersion", url });
  }

  async openWindow(): Promise<void> {
    await this.#ask({ kind: "openWindow" });
  }

  closeWindow(): Promise<WindowResult> {
    return this.#ask({ kind: "closeWindow" }) as Promise<WindowResult>;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
