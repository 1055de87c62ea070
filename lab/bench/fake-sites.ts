// The bench's end of fake-sites-process.ts: the fake servers for all sites, in a separate process.

import { type ChildProcess, fork } from "node:child_process";
import { asking } from "../test-environment/side-process.ts";

export type FakeSitesRequest =
  /** Configuration of the node that uses them. */
  | { readonly kind: "args" }
  | { readonly kind: "hang" }
  | { readonly kind: "answerAgain" }
  /** Adds a set of `tracks` tracks; returns the address of its page. */
  | { readonly kind: "addSet"; readonly tracks: number }
  | { readonly kind: "close" };

const ENTRY = new URL("./fake-sites-process.js", import.meta.url);

export class FakeSites {
  readonly args: readonly string[];
  readonly #child: ChildProcess;
  readonly #ask: (request: FakeSitesRequest) => Promise<unknown>;

  private constructor(
    child: ChildProcess,
    ask: (request: FakeSitesRequest) => Promise<unknown>,
    args: readonly string[],
  ) {
    this.#child = child;
    this.#ask = ask;
    this.args = args;
  }

  static async start(): Promise<FakeSites> {
    const child = fork(ENTRY);
    const ask = asking<FakeSitesRequest>(child);
    return new FakeSites(child, ask, (await ask({ kind: "args" })) as readonly string[]); // answered once it is ready
  }

  /** From now on no request to a site is answered, except to the example plugin's. */
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
