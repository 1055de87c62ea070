// Where an HTTP message may end in what a connection hands out, so that a slice ends there too: Node's server forgets
// what it was given behind a request that asks to switch protocols and is not let. Main thread, beneath the HTTP
// server.

const EMPTY_LINE = "\r\n\r\n";

/** Follows the bytes of one connection. */
export class MessageEnds {
  /** The last bytes that were handed out: the beginning of an empty line may be among them. */
  #tail = "";
  #bodyBytesLeft = 0;

  /** A body of this length, in bytes, begins with the next slice. */
  expectBody(sizeBytes: number): void {
    this.#bodyBytesLeft = sizeBytes;
  }

  /**
   * The size of the part of the slice to hand out first: up to the end of the expected body, or to the first empty
   * line, as heads and chunked bodies end with one. Most empty lines are no such end, which is harmless.
   */
  cut(slice: Buffer): number {
    const sizeBytes = this.#bodyBytesLeft > 0 ? Math.min(slice.length, this.#bodyBytesLeft) : this.#toEmptyLine(slice);
    this.#bodyBytesLeft = Math.max(0, this.#bodyBytesLeft - sizeBytes);
    this.#tail = (this.#tail + slice.toString("latin1", 0, sizeBytes)).slice(1 - EMPTY_LINE.length);
    return sizeBytes;
  }

  #toEmptyLine(slice: Buffer): number {
    const at = (this.#tail + slice.toString("latin1")).indexOf(EMPTY_LINE);
    return at < 0 ? slice.length : at + EMPTY_LINE.length - this.#tail.length;
  }
}
