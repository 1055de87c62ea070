// Writes one entry of the Opus cache while its track plays. Frames are copied in the tick; pages are made, hashed and
// written in the track's time slices, a piece at a time. A disk that cannot keep up ends the entry, not the track. Audio
// thread.

import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { OpusCacheEvent, OpusCacheKey } from "../../bridge/opus-cache.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { FrameRecorder } from "../demux/demuxer.ts";
import { FRAMES_AHEAD_MAX } from "../format/audio-format.ts";
import { ENTRY_HEAD_BYTES, EntryPages, writeEntryHead } from "./entry-file.ts";

/** Bytes that are written in one go: some seconds of frames. */
const WRITE_BYTES = 64 * 1024;
/** Frames that wait for the disk: more than half a minute of them. */
const WAITING_BYTES_MAX = 512 * 1024;

interface EntryRecorderOptions {
  readonly key: OpusCacheKey;
  /** Does not exist yet. */
  readonly path: string;
  /** Limit of the file. */
  readonly bytesMax: number;
  /** Resolves at a time slice of the track. */
  readonly nextSlice: () => Promise<void>;
  /** Asked with each frame. False: encoders have other settings than the key says. */
  readonly isSame: () => boolean;
  /** Exactly once: what became of the file. */
  readonly send: (event: Extract<OpusCacheEvent, { readonly type: "opusCacheWritten" }>) => void;
}

/** `open`: frames may come. `whole`: all have come. `givenUp`: there will be no entry. `reported`: the end. */
type State = "open" | "whole" | "givenUp" | "reported";

export class EntryRecorder implements FrameRecorder {
  readonly #options: EntryRecorderOptions;
  /** The last frames, which may be rewound. */
  #recent: Uint8Array[] = [];
  /** Frames before them that have no page yet, and their bytes. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  readonly #pages = new EntryPages();
  readonly #hash = createHash("sha256");
  #lengthSamples = 0;
  #state: State = "open";
  #isWorking = false;
  #handle: FileHandle | undefined;
  #sizeBytes = ENTRY_HEAD_BYTES;
  #failure: string | undefined;

  constructor(options: EntryRecorderOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#recent.length === 0;
  }

  add(frame: Uint8Array): void {
    if (this.#state !== "open") return;
    if (!this.#options.isSame()) this.giveUp();
    else this.#take(frame);
  }

  rewind(frameCount: number): void {
    if (this.#state !== "open") return;
    if (frameCount > this.#recent.length) this.giveUp();
    else this.#recent.length -= frameCount;
  }

  giveUp(): void {
    if (this.#state !== "open") return;
    this.#state = "givenUp";
    this.#dropFrames();
    this.#wake();
  }

  finish(lengthSamples: number): void {
    if (this.#state !== "open") return;
    for (const frame of this.#recent.splice(0)) this.#settle(frame);
    this.#lengthSamples = lengthSamples;
    this.#state = "whole";
    this.#wake();
  }

  #take(frame: Uint8Array): void {
    this.#recent.push(frame.slice());
    if (this.#recent.length <= FRAMES_AHEAD_MAX) return;
    this.#settle(this.#recent.shift());
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.giveUp();
    else if (this.#waitingBytes >= WRITE_BYTES) this.#wake();
  }

  #settle(frame: Uint8Array | undefined): void {
    if (frame === undefined) return;
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
  }

  #dropFrames(): void {
    this.#recent = [];
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #wake(): void {
    if (this.#isWorking || this.#state === "reported") return;
    this.#isWorking = true;
    void this.#work();
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    try {
      while (this.#waitingBytes > 0) await this.#writeWaiting();
      if (this.#state === "whole") await this.#complete();
    } catch (error) {
      this.#failure = messageOf(error);
      this.#state = "givenUp";
      this.#dropFrames();
    }
    // From here to the end nothing is awaited while the entry is open: frames that come later wake it again.
    if (this.#state !== "open") await this.#report();
    this.#isWorking = false;
  }

  async #writeWaiting(): Promise<void> {
    await this.#options.nextSlice();
    // Frames of half a minute at the most; as a rule those of four seconds.
    const frames = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#write(frames.flatMap((frame) => this.#pages.add(frame)));
  }

  async #complete(): Promise<void> {
    const last = this.#pages.end(this.#lengthSamples);
    if (last === undefined) {
      this.#state = "givenUp";
      return;
    }
    await this.#write([last]);
    const { key } = this.#options;
    const head = writeEntryHead({ key, lengthSamples: this.#lengthSamples, sha256: this.#hash.digest("hex") });
    await writeAll(this.#handle, head, 0);
  }

  async #write(pages: readonly Uint8Array[]): Promise<void> {
    if (pages.length === 0) return;
    const { path, bytesMax } = this.#options;
    const bytes = Buffer.concat(pages);
    const positionBytes = this.#sizeBytes;
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > bytesMax) {
      // Its length was not what it said.
      this.#state = "givenUp";
      this.#dropFrames();
      return;
    }
    this.#hash.update(bytes);
    this.#handle ??= await open(path, "wx", 0o600);
    await writeAll(this.#handle, bytes, positionBytes);
  }

  async #report(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    try {
      await handle?.close();
    } catch (error) {
      this.#failure ??= String(error);
      this.#state = "givenUp";
    }
    const { path, send } = this.#options;
    const isWhole = this.#state === "whole" && handle !== undefined;
    this.#state = "reported";
    const sizeBytes = isWhole ? this.#sizeBytes : undefined;
    send({ type: "opusCacheWritten", path, sizeBytes, failure: this.#failure });
  }
}

async function writeAll(handle: FileHandle | undefined, bytes: Uint8Array, positionBytes: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const result = await handle?.write(bytes, written, bytes.length - written, positionBytes + written);
    if (result === undefined || result.bytesWritten === 0) throw new Error("the disk takes no more");
    written += result.bytesWritten;
  }
}
