// The port of a thread whose program is not loaded yet: messages of the main thread wait for it. Audio thread.

import type { MessagePort } from "node:worker_threads";
import type { ThreadEnd } from "../bridge/channel.ts";
import type { AnswerCommand } from "../bridge/commands.ts";
import type { WorkerEvent } from "../bridge/events.ts";

/** As the port it stands in front of, for one listener. */
export class EarlyPort<Command> implements ThreadEnd<Command> {
  readonly #port: Pick<MessagePort, "postMessage">;
  #early: (Command | AnswerCommand)[] | undefined = [];
  #listener: (message: Command | AnswerCommand) => void = () => undefined;

  /** `onFirst` is called with the first message that arrives before there is a listener. */
  constructor(port: Pick<MessagePort, "on" | "postMessage">, onFirst: (message: Command | AnswerCommand) => void) {
    this.#port = port;
    // The other end is compiled with the same contract.
    port.on("message", (message: Command | AnswerCommand) => {
      if (this.#early === undefined) this.#listener(message);
      else if (this.#early.push(message) === 1) onFirst(message);
    });
  }

  postMessage(event: WorkerEvent, transferList: readonly MessagePort[] = []): void {
    this.#port.postMessage(event, transferList);
  }

  /**
   * The listener receives waiting messages in the next event loop iteration: it may be half set up now, or fail to be.
   */
  on(_event: "message", listener: (message: Command | AnswerCommand) => void): void {
    setImmediate(() => {
      this.#listener = listener;
      const early = this.#early ?? [];
      this.#early = undefined;
      for (const message of early) listener(message);
    });
  }
}
