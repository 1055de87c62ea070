// What a track's input waits for of its server, kept where everything that works for the track can say so: when sound
// is missing, it tells a server that does not send from what is slow here. Audio and probe threads.

export class Upstream {
  #waitCount = 0;
  #reopenedCount = 0;

  /** Something that the track reads waits for a server: for a connection, an answer or its bytes. */
  get isAwaited(): boolean {
    return this.#waitCount > 0;
  }

  /** Times a lost connection was opened again, or that was tried. */
  get reopenedCount(): number {
    return this.#reopenedCount;
  }

  /** The same as `work`, and as long as it takes, the server is what is waited for. */
  async await<Result>(work: Promise<Result>): Promise<Result> {
    this.#waitCount += 1;
    try {
      return await work;
    } finally {
      this.#waitCount -= 1;
    }
  }

  countReopened(): void {
    this.#reopenedCount += 1;
  }
}
