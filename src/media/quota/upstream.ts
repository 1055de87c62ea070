// Whether a track's input waits for its server, and what that has sent, shared by everything that works for the track: when audio is missing,
// it distinguishes a server that does not send from slow work here. Audio and probe threads.

export class Upstream {
  #waitCount = 0;
  #reopenedCount = 0;
  #host: string | undefined;
  #receivedBytes = 0;

  /** True while something that the track reads waits for a server: for a connection, an answer or its bytes. */
  get isAwaited(): boolean {
    return this.#waitCount > 0;
  }

  /** Times a lost connection was opened again, or that was tried. */
  get reopenedCount(): number {
    return this.#reopenedCount;
  }

  /** The server that sent the last bytes, as in a URL, without credentials; undefined: nothing has come yet. */
  get host(): string | undefined {
    return this.#host;
  }

  /** Bytes received from servers so far, as the container's reader gets them. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Awaits `work`; until it settles, the input counts as waiting for the server. */
  async await<Result>(work: Promise<Result>): Promise<Result> {
    this.#waitCount += 1;
    try {
      return await work;
    } finally {
      this.#waitCount -= 1;
    }
  }

  countReceived({ host }: URL, bytes: number): void {
    this.#host = host;
    this.#receivedBytes += bytes;
  }

  countReopened(): void {
    this.#reopenedCount += 1;
  }
}
