// One end of a TCP connection that never leaves the process. Written data arrives at the other end some time later, on
// the simulation's clock; a reader that does not read blocks the writer, as a full window does.

import { Duplex } from "node:stream";

/** Transfers data from one end of a connection to the other. */
export interface Link {
  carry(from: VirtualSocket, deliver: () => void): void;
}

/** Bytes that may be in transit or unread before the writer has to wait. */
const WINDOW_BYTES = 64 * 1024;

export class VirtualSocket extends Duplex {
  readonly remoteAddress = "127.0.0.1";
  readonly remoteFamily = "IPv4";
  readonly remotePort: number;
  readonly localAddress = "127.0.0.1";
  readonly localPort: number;
  connecting = false;
  /** Received, handed out or not. */
  bytesRead = 0;
  peer: VirtualSocket | undefined;
  readonly #link: Link;
  /** Not handed out yet; null: the end. */
  readonly #inbox: (Buffer | null)[] = [];
  #isRequested = false;
  #unreadBytes = 0;
  #blocked: (() => void) | undefined;

  constructor(link: Link, ports: { readonly local: number; readonly remote: number }, allowHalfOpen: boolean) {
    super({ allowHalfOpen });
    this.#link = link;
    this.localPort = ports.local;
    this.remotePort = ports.remote;
  }

  // Methods that users of `net.Socket` call in addition to the stream's; none of them has an effect here.

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  override _read(): void {
    this.#isRequested = true;
    this.#handOut();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#unreadBytes += chunk.length;
    // The writer may use its memory again.
    const copy = Buffer.from(chunk);
    this.#carry((peer) => peer.#arrive(copy));
    if (this.#unreadBytes < WINDOW_BYTES) done();
    else this.#blocked = done;
  }

  override _final(done: () => void): void {
    this.#carry((peer) => peer.#arrive(null));
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isUnread = this.readableLength > 0 || this.#inbox.some((chunk) => chunk !== null);
    // As the kernel does: closing with unread data sends a reset to the writer.
    if (isUnread) this.#carry((peer) => peer.destroy(resetError()));
    else if (!this.writableFinished) this.#carry((peer) => peer.#arrive(null));
    this.#blocked = undefined;
    done(error);
  }

  #carry(deliver: (peer: VirtualSocket) => void): void {
    const { peer } = this;
    if (peer !== undefined) this.#link.carry(this, () => deliver(peer));
  }

  #arrive(chunk: Buffer | null): void {
    if (this.destroyed) {
      // Writing to a closed port is answered with a reset.
      if (chunk !== null) this.#carry((peer) => peer.destroy(resetError()));
      return;
    }
    this.#inbox.push(chunk);
    this.#handOut();
  }

  #handOut(): void {
    while (this.#isRequested && this.#inbox.length > 0 && !this.destroyed) {
      const chunk = this.#inbox.shift() ?? null;
      if (chunk !== null) {
        this.bytesRead += chunk.length;
        if (this.peer !== undefined) this.peer.#consumed(chunk.length);
      }
      this.#isRequested = this.push(chunk);
    }
  }

  #consumed(sizeBytes: number): void {
    this.#unreadBytes -= sizeBytes;
    const blocked = this.#blocked;
    if (blocked === undefined || this.#unreadBytes >= WINDOW_BYTES) return;
    this.#blocked = undefined;
    blocked();
  }
}

export function resetError(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}
