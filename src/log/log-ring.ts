// A buffer of the latest log lines, for the support bundle and for the dashboard's live log. Warnings and errors are
// buffered separately as well, so that many other lines do not push them out. Lines are stored as bytes in one area: a
// text that was cut out of a longer one would retain the longer one. Main thread; filled by log-pino.ts with lines
// whose secrets are already removed.

import type { LogLevel } from "./log.ts";

/** Limit for lines of all levels. */
const LINES_MAX = 500;
const LINES_SIZE_MAX_BYTES = 256 * 1024;
/** Limit for warnings and errors. */
const TROUBLES_MAX = 200;
const TROUBLES_SIZE_MAX_BYTES = 128 * 1024;
/** Limit of one line; the end of a longer one is cut off. An error with its causes and their stacks has some 4 KiB. */
export const LINE_SIZE_MAX_BYTES = 8 * 1024;
const LISTENERS_MAX = 32;

/** A line as the node has logged it, whatever the format on its standard output is. */
export interface LogLine {
  /**
   * 1 for the first line since the start, and one more for each further line: numbers missing between two lines were
   * dropped.
   */
  readonly number: number;
  readonly epochMs: number;
  readonly level: LogLevel;
  /** As a person reads it, with time and level; further lines of it are indented. Ends without a line break. */
  readonly text: string;
}

/** A line as it is handed in. */
interface WrittenLine extends Pick<LogLine, "epochMs" | "level"> {
  /** As it was written to standard output. Must not hold secrets. */
  readonly written: string;
  /**
   * Converts it to readable text when it is requested; `written` may be cut short. Undefined: it is readable already.
   */
  readonly read?: ((written: string) => string) | undefined;
}

/** One for the node. Takes 384 KiB, once there are lines. */
export class LogRing {
  readonly #lines = new LineStore(LINES_MAX, LINES_SIZE_MAX_BYTES);
  readonly #troubles = new LineStore(TROUBLES_MAX, TROUBLES_SIZE_MAX_BYTES);
  readonly #listeners = new Set<(line: LogLine) => void>();
  #number = 0;
  #isReporting = false;

  /** Never throws. */
  keep(line: WrittenLine): void {
    const number = ++this.#number;
    this.#lines.push(line, number);
    if (line.level === "warn" || line.level === "error") this.#troubles.push(line, number);
    if (this.#listeners.size > 0) this.#notify(line, number);
  }

  /** The lines of all levels, or the warnings and errors, the oldest first: at most the last 500, and the last 200. */
  latest(which: "all" | "troubles" = "all"): LogLine[] {
    return which === "all" ? this.#lines.read() : this.#troubles.read();
  }

  /**
   * Calls `listener` with each further line, within the call that logs it: it must be quick. Lines that the listener
   * logs itself are buffered but passed to no listener; its exceptions are dropped. Returns the unsubscribe function,
   * or undefined when there are 32 listeners already.
   */
  subscribe(listener: (line: LogLine) => void): (() => void) | undefined {
    if (this.#listeners.size >= LISTENERS_MAX) return undefined;
    const own = (line: LogLine): void => listener(line);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  #notify({ written, read, ...line }: WrittenLine, number: number): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const entry = { ...line, number, text: textOf(written.slice(0, LINE_SIZE_MAX_BYTES), read) };
    for (const listener of this.#listeners) {
      try {
        listener(entry);
      } catch {
        // To log it would only come back here; the line is written all the same.
      }
    }
    this.#isReporting = false;
  }
}

interface BufferedLine extends Omit<WrittenLine, "written"> {
  readonly number: number;
  /** Where its bytes are. */
  readonly start: number;
  readonly end: number;
}

/** The newest lines, bounded in count and bytes. */
class LineStore {
  readonly #countMax: number;
  readonly #sizeBytes: number;
  /** Circular: the oldest is at `#first`, the others follow it. */
  readonly #slots: (BufferedLine | undefined)[] = [];
  #first = 0;
  #count = 0;
  /** A separate memory area, allocated with the first line; the oldest line starts behind `#end`, if there is one. */
  #area: Buffer | undefined;
  #end = 0;

  constructor(countMax: number, sizeBytes: number) {
    this.#countMax = countMax;
    this.#sizeBytes = sizeBytes;
  }

  push({ epochMs, level, written, read }: WrittenLine, number: number): void {
    this.#area ??= Buffer.allocUnsafeSlow(this.#sizeBytes);
    const sizeBytes = Math.min(Buffer.byteLength(written), LINE_SIZE_MAX_BYTES);
    const start = this.#end + sizeBytes <= this.#sizeBytes ? this.#end : 0;
    // Wrapping around overwrites what is behind the position: the oldest lines.
    if (start < this.#end) this.#dropBetween(this.#end, this.#sizeBytes);
    this.#dropBetween(start, start + sizeBytes);
    if (this.#count === this.#countMax) this.#drop();
    // Writes whole characters only.
    this.#end = start + this.#area.write(written, start, sizeBytes);
    this.#slots[(this.#first + this.#count) % this.#countMax] = {
      number,
      epochMs,
      level,
      read,
      start,
      end: this.#end,
    };
    this.#count++;
  }

  read(): LogLine[] {
    return Array.from({ length: this.#count }, (_, index) => {
      const { read, start, end, ...line } = this.#slots[(this.#first + index) % this.#countMax]!; // one of the count
      return { ...line, text: textOf(this.#area?.toString("utf8", start, end) ?? "", read) };
    });
  }

  /** The oldest ones, as long as they begin there. */
  #dropBetween(start: number, end: number): void {
    let oldest = this.#slots[this.#first];
    while (oldest !== undefined && oldest.start >= start && oldest.start < end) {
      this.#drop();
      oldest = this.#slots[this.#first];
    }
  }

  #drop(): void {
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#countMax;
    this.#count--;
  }
}

function textOf(written: string, read: WrittenLine["read"]): string {
  return (read === undefined ? written : read(written)).trimEnd();
}
