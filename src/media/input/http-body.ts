// Transforms a received body into the file's bytes: skips bytes that are known already, and removes Shoutcast's titles.
// Audio thread.

import type { HttpBody } from "./http-answer.ts";
import { IcyStripper } from "./icy-metadata.ts";

/** A body without its first bytes: for servers that cannot begin in the middle. */
export class SkippingBody implements HttpBody {
  readonly #body: HttpBody;
  readonly #skipBytes: number;
  readonly #onSkipped: (data: Uint8Array, positionBytes: number) => void;
  #positionBytes = 0;

  /** @param onSkipped receives the skipped bytes; an error it throws fails the read */
  constructor(body: HttpBody, skipBytes: number, onSkipped: (data: Uint8Array, positionBytes: number) => void) {
    this.#body = body;
    this.#skipBytes = skipBytes;
    this.#onSkipped = onSkipped;
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = await this.#body.next(timeoutMs);
      if (chunk === undefined) return undefined;
      const skipped = chunk.subarray(0, Math.max(0, this.#skipBytes - this.#positionBytes));
      if (skipped.length > 0) this.#onSkipped(skipped, this.#positionBytes);
      this.#positionBytes += chunk.length;
      if (skipped.length < chunk.length) return chunk.subarray(skipped.length);
    }
  }

  cancel(): void {
    this.#body.cancel();
  }
}

/** A body in front of which its first bytes are put back. */
export class PrefixedBody implements HttpBody {
  readonly #body: HttpBody;
  #prefix: Uint8Array | undefined;

  constructor(prefix: Uint8Array, body: HttpBody) {
    this.#body = body;
    this.#prefix = prefix.length > 0 ? prefix : undefined;
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    const prefix = this.#prefix;
    if (prefix === undefined) return this.#body.next(timeoutMs);
    this.#prefix = undefined;
    return prefix;
  }

  cancel(): void {
    this.#prefix = undefined;
    this.#body.cancel();
  }
}

/** The first bytes of a body: for servers that send more than the part they were asked for. */
export class LimitedBody implements HttpBody {
  readonly #body: HttpBody;
  #bytesLeft: number;

  constructor(body: HttpBody, sizeBytesMax: number) {
    this.#body = body;
    this.#bytesLeft = sizeBytesMax;
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    const chunk = await this.#body.next(timeoutMs);
    if (chunk === undefined) return undefined;
    const part = chunk.subarray(0, this.#bytesLeft);
    this.#bytesLeft -= part.length;
    // A body that ends where it should leaves its connection to the next one.
    if (part.length > 0) return part;
    this.cancel();
    return undefined;
  }

  cancel(): void {
    this.#body.cancel();
  }
}

/** A Shoutcast body without its metadata blocks. */
export class IcyBody implements HttpBody {
  readonly #body: HttpBody;
  readonly #stripper: IcyStripper;

  constructor(body: HttpBody, intervalBytes: number, onTitle: (streamTitle: string) => void) {
    this.#body = body;
    this.#stripper = new IcyStripper(intervalBytes, onTitle);
  }

  async next(timeoutMs?: number): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = await this.#body.next(timeoutMs);
      if (chunk === undefined) return undefined;
      const audio = this.#stripper.strip(chunk);
      if (audio.length > 0) return audio;
    }
  }

  cancel(): void {
    this.#body.cancel();
  }
}
