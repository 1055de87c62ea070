// A TCP or TLS connection that hands out what it has received a little at a time: one small slice whenever it is due,
// so that whoever parses it (HTTP, WebSocket, TLS) never works through more at a stretch, whatever the peer sends. A
// leaf without domain knowledge; beneath voice gateways on the audio thread and beneath clients on the main thread.

import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Five hundred WebSocket frames or fifty HTTP messages at most, about half a millisecond of parsing. */
const SLICE_BYTES = 1024;

/** How much comes through, and when; what is written goes out at once and undivided. */
interface PacedSocketOptions {
  /** Told of every slice before it is handed out. False: neither it nor anything after it is. Default: all are. */
  readonly admit?: (sizeBytes: number) => boolean;
  /** Runs `handOut` when the next slice is due. Default: in the next turn of the event loop. */
  readonly schedule?: (handOut: () => void) => void;
  /** How much of a slice, at least one byte, is handed out before the rest of it. Default: all. */
  readonly cut?: (slice: Buffer) => number;
  /** The other side may end while this one goes on writing. Default: false. */
  readonly allowHalfOpen?: boolean;
}

/**
 * Takes the place of `inner`, which it owns: it ends, fails and closes as that does, and destroys it when destroyed.
 */
export class PacedSocket extends Duplex {
  protected readonly inner: Socket;
  readonly #admit: (sizeBytes: number) => boolean;
  readonly #schedule: (handOut: () => void) => void;
  readonly #cut: (slice: Buffer) => number;
  #handedOutBytes = 0;
  #isRequested = false;
  #isScheduled = false;
  #isRefused = false;
  #isHeld = false;

  constructor(inner: Socket, options: PacedSocketOptions = {}) {
    super({
      allowHalfOpen: options.allowHalfOpen ?? false,
      decodeStrings: false,
      // More would be handed out in one go once the reader has paused.
      readableHighWaterMark: SLICE_BYTES,
    });
    this.inner = inner;
    this.#admit = options.admit ?? (() => true);
    this.#schedule = options.schedule ?? setImmediate;
    this.#cut = options.cut ?? ((slice) => slice.length);
    inner.on("readable", () => this.#ask());
    inner.on("end", () => this.push(null));
    inner.on("error", (error) => this.destroy(error));
    inner.on("close", () => this.destroy());
  }

  /** What the reader has had; more may have been received. */
  get bytesRead(): number {
    return this.#handedOutBytes;
  }

  /** Nothing more is handed out until `release`, whatever the reader does. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends a `hold`: what has been received meanwhile is handed out from now on, slice by slice. */
  release(): void {
    this.#isHeld = false;
    this.#ask();
  }

  override _read(): void {
    this.#isRequested = true;
    this.#ask();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.inner.write(chunk, encoding, done);
  }

  /** What was written while the socket was corked, or busy, goes out together. */
  override _writev(
    chunks: { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    const last = chunks.length - 1;
    this.inner.cork();
    chunks.forEach(({ chunk, encoding }, index) => {
      this.inner.write(chunk, encoding, index === last ? done : undefined);
    });
    this.inner.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.inner.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.inner.destroy();
    done(error);
  }

  #ask(): void {
    if (!this.#isRequested || this.#isScheduled || this.#isRefused || this.#isHeld || this.destroyed) return;
    // How the stream learns to tell of the next bytes, and of the end.
    if (this.inner.readableLength === 0) this.inner.read(0);
    if (this.inner.readableLength === 0) return;
    this.#isScheduled = true;
    this.#schedule(() => this.#handOut());
  }

  #handOut(): void {
    this.#isScheduled = false;
    if (this.#isHeld || this.destroyed) return;
    const piece: Buffer | null = this.inner.read(Math.min(SLICE_BYTES, this.inner.readableLength));
    if (piece === null) return;
    const slice = piece.subarray(0, this.#cut(piece));
    if (slice.length < piece.length) this.inner.unshift(piece.subarray(slice.length));
    if (!this.#admit(slice.length)) {
      this.#isRefused = true;
      return;
    }
    this.#handedOutBytes += slice.length;
    this.#isRequested = false;
    if (this.push(slice)) this.#isRequested = true;
    this.#ask();
  }
}
