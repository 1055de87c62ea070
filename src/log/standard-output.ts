// Standard output and standard error, which others read, or do not: a pipe that is closed or never emptied, a full
// disk. None of that stops the node or makes it wait; what is not taken is dropped, counted and told later. Main
// thread.

import type { Writable } from "node:stream";

/** Some thousand log lines; a reader that is only slow gets them all. */
const WAITING_SIZE_MAX_BYTES = 1024 * 1024;
/** How long a reader may take at the end of the process. */
const FLUSH_TIMEOUT_MS = 1000;

type OutputStream = Pick<Writable, "write" | "on" | "writableLength">;

/**
 * One of the two streams of the process. At most 1 MiB waits for a reader; what comes then is dropped whole, never cut.
 */
export class StandardOutput {
  readonly #stream: OutputStream;
  readonly #onLost: (reason: string) => void;
  #report: ((droppedCount: number) => void) | undefined;
  #isAccepting = true;
  #droppedCount = 0;
  /** How many the text tells of that `report` is just writing. */
  #reportedCount = 0;
  /** From the telling to its being taken or refused. */
  #isReporting = false;

  /** `onLost` is called when texts begin to be dropped, and again only after some were taken. */
  constructor(stream: OutputStream, onLost: (reason: string) => void = () => undefined) {
    this.#stream = stream;
    this.#onLost = onLost;
    // Every write is told of its own failure; without a listener the first would end the process.
    stream.on("error", () => undefined);
  }

  /** Says, through `write`, how many texts were dropped, as soon as texts are taken again. */
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
      this.#dropped("nobody reads it");
      return;
    }
    this.#stream.write(bytes, (error) => {
      if (reportedCount > 0) this.#isReporting = false;
      if (error === null || error === undefined) this.#onAccepted(reportedCount);
      else this.#dropped(`it fails with ${"code" in error ? String(error.code) : error.message}`);
    });
  }

  /** Ends the process a moment after its work is done, when somebody who does not read would keep it. */
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
    // What was waiting while others were dropped does not mean that there is room.
    if (this.#stream.writableLength > WAITING_SIZE_MAX_BYTES / 2) return;
    this.#isAccepting = true;
    if (this.#droppedCount === 0 || this.#report === undefined || this.#isReporting) return;
    this.#reportedCount = this.#droppedCount;
    this.#isReporting = true;
    this.#report(this.#droppedCount);
  }
}
