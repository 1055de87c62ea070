// The bench's end of main-thread-preload.ts: how long the main thread of a node was held at a time.

import { freePort } from "../free-port.ts";
import { type NodeCommand, NodeProcess } from "./node-process.ts";

/** One look after the other, milliseconds. A hold is seen too short by up to the pause between two looks. */
export interface MainThreadReadings {
  /** Until the main thread answered. */
  readonly waitsMs: readonly number[];
  /** The part of it without the time spent waiting for a processor. */
  readonly heldMs: readonly number[];
}

const PRELOAD = new URL("./main-thread-preload.js", import.meta.url).href;

export class WatchedNode {
  readonly process: NodeProcess;
  readonly #watchUrl: string;

  private constructor(process: NodeProcess, watchUrl: string) {
    this.process = process;
    this.#watchUrl = watchUrl;
  }

  /** Starts a node whose main thread is polled every `pauseMs`. */
  static async start(node: NodeCommand, { pauseMs }: { readonly pauseMs: number }): Promise<WatchedNode> {
    const port = await freePort();
    const preload = `${PRELOAD}?port=${port}&pauseMs=${pauseMs}`;
    const process = await NodeProcess.start({ ...node, args: ["--import", preload, ...node.args] });
    return new WatchedNode(process, `http://127.0.0.1:${port}`);
  }

  /** The looks since they were taken last. */
  async takeReadings(): Promise<MainThreadReadings> {
    return (await (await fetch(this.#watchUrl)).json()) as MainThreadReadings; // as the preload sends it
  }
}
