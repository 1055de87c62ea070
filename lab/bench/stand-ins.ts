// The bench's end of stand-ins-process.ts: the fake servers for all sites, in a separate process.

import { type ChildProcess, fork } from "node:child_process";
import { asking } from "../test-environment/side-process.ts";

export type StandInsRequest =
  /** Arguments for the node that asks them. */
  | { readonly kind: "args" }
  | { readonly kind: "hang" }
  | { readonly kind: "answerAgain" }
  /** Puts a set of so many tracks there; the address of its page. */
  | { readonly kind: "addSet"; readonly tracks: number }
  | { readonly kind: "close" };

const ENTRY = new URL("./stand-ins-process.js", import.meta.url);

export class StandIns {
  readonly args: readonly string[];
  readonly #child: ChildProcess;
  readonly #ask: (request: StandInsRequest) => Promise<unknown>;

  private constructor(
    child: ChildProcess,
    ask: (request: StandInsRequest) => Promise<unknown>,
    args: readonly string[],
  ) {
    this.#child = child;
    this.#ask = ask;
    this.args = args;
  }

  static async start(): Promise<StandIns> {
    const child = fork(ENTRY);
    const ask = asking<StandInsRequest>(child);
    return new StandIns(child, ask, (await ask({ kind: "args" })) as readonly string[]); // answered once it is ready
  }

  /** From now on nothing that all sites but the example plugin's are asked is ever answered. */
  async hang(): Promise<void> {
    await this.#ask({ kind: "hang" });
  }

  async answerAgain(): Promise<void> {
    await this.#ask({ kind: "answerAgain" });
  }

  addSet(tracks: number): Promise<string> {
    return this.#ask({ kind: "addSet", tracks }) as Promise<string>;
  }

  async close(): Promise<void> {
    await this.#ask({ kind: "close" });
    this.#child.disconnect();
  }
}
