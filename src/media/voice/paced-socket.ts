// A TCP or TLS connection that hands out what it has received a little at a time: one small slice per turn of the event
// loop, so that whoever parses it (HTTP, WebSocket) never works through more at a stretch, whatever the peer sends. Between
// the network and the gateway's WebSocket, on the audio thread.

import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** A thousand WebSocket frames or a hundred HTTP answers at most, about a millisecond of parsing. */
const SLICE_BYTES = 2048;

export interface PacedSocketOptions {
  /** Told of every slice before it is handed out. False: neither it nor anything after it is. */
  readonly admit: (sizeBytes: number) => boolean;
}

export class PacedSocket extends Duplex {
  readonly #inner: Socket;
  readonly #options: PacedSocketOptions;
  #isWanted = false;
  #isScheduled = false;
  #isRefused = false;

  constructor(inner: Socket, options: PacedSocketOptions) {
    super({ allowHalfOpen: false });
    this.#inner = inner;
    this.#options = options;
    inner.on("readable", () => this.#handOut());
    inner.on("end", () => this.push(null));
    inner.on("error", (error) => this.destroy(error));
    inner.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#isWanted = true;
    this.#handOut();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#inner.write(chunk, done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#inner.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#inner.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner.destroy();
    done(error);
  }

  #handOut(): void {
    if (!this.#isWanted || this.#isScheduled || this.#isRefused || this.destroyed) return;
    const sizeBytes = Math.min(SLICE_BYTES, this.#inner.readableLength);
    // Also when there is nothing: that is how the stream learns to tell of the next, and of the end.
    const slice: Buffer | null = sizeBytes === 0 ? this.#inner.read(0) : this.#inner.read(sizeBytes);
    if (slice === null) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#handOut();
    });
    if (!this.#options.admit(slice.length)) {
      this.#isRefused = true;
      return;
    }
    this.#isWanted = false;
    if (this.push(slice)) this.#isWanted = true;
  }
}
