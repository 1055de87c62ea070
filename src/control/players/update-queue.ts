// Runs the updates of one player one at a time, in the order of their arrival. Main thread.

import { NodeError } from "../../errors.ts";

/** Updates that may wait for one player; one more is refused with `player-busy`. */
const WAITING_MAX = 100;

export class UpdateQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waitingCount = 0;
  /** The number of waiting and running updates. */
  #openCount = 0;
  #hasSucceeded = false;
  #closedBy: NodeError | undefined;

  /** No job has succeeded so far, and none is open. */
  get isUnused(): boolean {
    return !this.#hasSucceeded && this.#openCount === 0;
  }

  /** A job has succeeded. */
  get hasSucceeded(): boolean {
    return this.#hasSucceeded;
  }

  /** Runs `job` after those before it, also when one of them failed. Rejects as `job` does, or with `player-busy`. */
  run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#waitingCount >= WAITING_MAX) {
      return Promise.reject(new NodeError("player-busy", `${WAITING_MAX} updates of this player are waiting already`));
    }
    this.#waitingCount++;
    this.#openCount++;
    const result = this.#last.then(() => {
      this.#waitingCount--;
      if (this.#closedBy !== undefined) throw this.#closedBy;
      return job();
    });
    this.#last = result.then(
      () => this.#onSettled(true),
      () => this.#onSettled(false),
    );
    return result;
  }

  /** Counts as if a job had succeeded: the player has been restored. */
  markUsed(): void {
    this.#hasSucceeded = true;
  }

  #onSettled(isSuccess: boolean): void {
    this.#openCount--;
    this.#hasSucceeded ||= isSuccess;
  }

  /** Rejects updates that have not started with `reason`. A running one continues. */
  close(reason: NodeError): void {
    this.#closedBy ??= reason;
  }
}
