// The bytes of one track as the demuxers see them: positioned reads over a file, an HTTP body, or a list of segments.
// Audio thread. Implementations keep a bounded read-ahead of compressed bytes and reopen dropped connections
// themselves.

/** One reader at a time. Positions and lengths are whole bytes, 0 or more. */
export interface ByteSource {
  /** Whole size in bytes; undefined while unknown (chunked body, live stream). */
  readonly sizeBytes: number | undefined;
  /**
   * True when any position may be read at any time (file, HTTP with ranges). Otherwise reads must go forward; only what
   * lies in the buffered window (at least the last 64 KiB, and the first 64 KiB of the body) may be read again.
   */
  readonly isRandomAccess: boolean;
  /**
   * The two above as they were when it was opened, where they may change: what a file is taken for must not depend on
   * how soon its end has arrived.
   */
  readonly declared?: Pick<ByteSource, "sizeBytes" | "isRandomAccess"> | undefined;
  /** True for a station: what its first bytes say of a length is about the file that it is playing. */
  readonly isLive?: boolean | undefined;
  /**
   * Changes when the bytes do: a strong ETag or the date of the last change, of a file also its number. Undefined where
   * nothing says that they have changed.
   */
  readonly version?: string | undefined;
  /** Media type from the server or undefined, lower case, without parameters. A hint only: content decides. */
  readonly mimeType: string | undefined;
  /**
   * Reads `lengthBytes` at `positionBytes`: exactly that many, fewer only when the end of the data was reached, none at
   * or behind the end. The result may be a view of an internal buffer that is never written again. Rejects with a
   * NodeError when the data is unavailable (after the source's own bounded retries) or the source was closed.
   */
  read(positionBytes: number, lengthBytes: number): Promise<Uint8Array>;
  /**
   * Returns what `read` would, synchronously, if those bytes are buffered (or the end is known); undefined means: use
   * `read`.
   */
  readBuffered(positionBytes: number, lengthBytes: number): Uint8Array | undefined;
  /** Says how far to read ahead from now on; the source's own upper bound stays. Only where reading ahead is done. */
  aimReadAhead?(sizeBytes: number): void;
  /**
   * Says that the content is a file, which ends where its first body did or will, even if the server calls itself a
   * station: otherwise what stations send is continued wherever it ends. Only where that is done.
   */
  expectEnd?(): void;
  /** Frees connections and buffers; pending reads reject. May be called at any time, more than once. */
  close(): void;
}
