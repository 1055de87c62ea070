// Standard output and standard error, whose reader may be slow or gone: a closed pipe, a pipe that is never read, a
// full disk. None of that stops or blocks the node; texts that cannot be written are dropped, counted and reported
// later. Main thread.

import type { Writable } from "node:stream";

/** Some thousand log lines; a reader that is only slow gets them all. */
const WAITING_SIZE_MAX_BYTES = 1024 * 1024;
/** How long a reader may take at the end of the process. */
const FLUSH_TIMEOUT_MS = 1000;

type OutputStream = Pick<Writable, "write" | "on" | "writableLength">;

/** One of the two streams of the process. At most 1 MiB is buffered; further texts are dropped whole, never cut. */
export class StandardOutput {
  readonly #stream: OutputStream;
  readonly #onLost: (reason: string) => void;
  #report: ((droppedCount: number) => void) | undefined;
  #isAccepting = true;
  #droppedCount = 0;
  /** Number of dropped texts in the message that `report` is writing. */
  #reportedCount = 0;
  /** From the telling to its being taken or refused. */
  #isReporting = false;

  /** `onLost` is called when texts begin to be dropped, and again only after some were taken. */
  constructor(stream: OutputStream, onLost: (reason: string) => void = () => undefined) {
    this.#stream = stream;
    this.#onLost = onLost;
    // Each write receives its own error in a callback; without this listener the first error would end the process.
    stream.on("error", () => undefined);
  }

  /** Calls `report` with the number of dropped texts as soon as texts can be written again; `report` calls `write`. */
  reportDropped(report: (droppedCount: number) => void): void {
    this.#report = report;
  }

  /** Never throws, never waits. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    const reportedCount = this.#reportedCount;
    this.#reportedCount = 0;
    const waitingBytes = this.#stream.writableLength;
    if (waitingBytes > 0 && waitingBytes + bytes.length > WAITING_SIZE_MAX_BYTES) {
      this.#dropped("it is not being read");
      return;
    }
    this.#stream.write(bytes, (error) => {
      if (reportedCount > 0) this.#isReporting = false;
      if (error === null || error === undefined) this.#onAccepted(reportedCount);
      else this.#dropped(`writing fails with ${"code" in error ? String(error.code) : error.message}`);
    });
  }

  /** Exits shortly after the work of the process is done, even when unread output would keep it running. */
  end(exit: () => void): void {
    if (this.#stream.writableLength > 0) setTimeout(exit, FLUSH_TIMEOUT_MS).unref();
  }

  #dropped(reason: string): void {
    this.#droppedCount++;
    if (!this.#isAccepting) return;
    this.#isAccepting = false;
    this.#onLost(reason);
  }

  #onAccepted(reportedCount: number): void {
    this.#droppedCount -= reportedCount;
    // A write that was queued while others were dropped does not mean that there is space again.
    if (this.#stream.writableLength > WAITING_SIZE_MAX_BYTES / 2) return;
    this.#isAccepting = true;
    if (this.#droppedCount === 0 || this.#report === undefined || this.#isReporting) return;
    this.#reportedCount = this.#droppedCount;
    this.#isReporting = true;
    this.#report(this.#droppedCount);
  }
}
