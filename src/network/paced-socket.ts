// A TCP or TLS connection that hands out received bytes a little at a time: one small slice whenever it is due, so that
// its parser (HTTP, WebSocket, TLS) never processes more at a stretch, whatever the peer sends. A leaf without domain
// knowledge; used under voice gateways on the audio thread and under clients on the main thread.

import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Five hundred WebSocket frames or fifty HTTP messages at most, about half a millisecond of parsing. */
const SLICE_BYTES = 1024;

/** Size and timing of the slices; writes go out at once and undivided. */
interface PacedSocketOptions {
  /**
   * Called with every slice's size before it is handed out. False: neither it nor any later one is. Default: all are.
   */
  readonly admit?: (sizeBytes: number) => boolean;
  /** Runs `handOut` when the next slice is due. Default: in the next event loop iteration. */
  readonly schedule?: (handOut: () => void) => void;
  /** How much of a slice, at least one byte, is handed out before the rest of it. Default: all. */
  readonly cut?: (slice: Buffer) => number;
  /** The other side may end while this one keeps writing. Default: false. */
  readonly allowHalfOpen?: boolean;
}

/** Replaces `inner`, which it owns: it ends, fails and closes as that does, and destroys it when destroyed. */
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

  /** Bytes handed out; more may have been received. */
  get bytesRead(): number {
    return this.#handedOutBytes;
  }

  /** Nothing more is handed out until `release`, whatever the reader does. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends a `hold`: bytes received in the meantime are handed out from now on, slice by slice. */
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

  /** Writes collected while the socket was corked, or busy, go out together. */
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
    // Makes the stream report further bytes, and the end.
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
