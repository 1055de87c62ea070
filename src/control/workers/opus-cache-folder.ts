// The folder of the Opus cache: which entries there are, which may be written, and which are removed so that the folder
// stays within its bound. Only files whose names it gives are its own; others are neither counted nor touched. Audio
// workers read and write the entries (media/opus-cache/). In full: docs/internals/opus-cache.md. Main thread.

import { chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OpusCacheAnswer, OpusCacheEvent, OpusCacheKey, OpusCacheRequest } from "../../bridge/opus-cache.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { Logger } from "../../log/log.ts";

/** Part of the bound that is for entries that are being written. */
const WRITTEN_SHARE = 1 / 4;
/** No entry takes longer to write: tracks are an hour long at most, and a pause ends the writing. */
const WRITE_MS_MAX = 2 * 3_600_000;
/** Warnings about a disk that refuses entries are at least so far apart. */
const WARNING_INTERVAL_MS = 3_600_000;
const ENTRY_NAME = /^([0-9a-f]{64})\.opus$/;
const PART_NAME = /^[0-9a-f]{64}\.\d+\.part$/;
const MEGABYTE = 1024 * 1024;
/** Files looked at in one go at the start. */
const STATS_MAX = 64;

interface OpusCacheFolderOptions {
  /** Absolute. */
  readonly path: string;
  /** Of all entries together, finished or not. */
  readonly bytesMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An entry that is being written. */
interface Writing {
  readonly key: OpusCacheKey;
  readonly bytes: number;
  readonly release: () => void;
}

/** One for the node. Until `open` has resolved it has no entries and takes none. */
export class OpusCacheFolder {
  readonly #options: OpusCacheFolderOptions;
  readonly #entryBytesMax: number;
  readonly #writingBytesMax: number;
  /** Sizes of the entries, least recently used first. */
  readonly #entries = new Map<OpusCacheKey, number>();
  #entryBytes = 0;
  /** By the path that is written to. */
  readonly #writing = new Map<string, Writing>();
  #writingBytes = 0;
  #writingCount = 0;
  #isOpen = false;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  /** Changes of the folder, one after the other. */
  #changes: Promise<void> = Promise.resolve();

  constructor(options: OpusCacheFolderOptions) {
    this.#options = options;
    this.#writingBytesMax = Math.floor(options.bytesMax * WRITTEN_SHARE);
    this.#entryBytesMax = options.bytesMax - this.#writingBytesMax;
  }

  /** Bytes of the entries, and those reserved for entries that are being written. */
  get sizeBytes(): number {
    return this.#entryBytes + this.#writingBytes;
  }

  /** Reads which entries there are. Never rejects: a folder that cannot be used is reported, and the cache stays off. */
  async open(): Promise<void> {
    const { path, bytesMax, logger } = this.#options;
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
      await this.#checkWritable();
      await this.#readEntries();
    } catch (error) {
      logger.warn("Opus cache is off: its folder (tonearm.opusCache.path) cannot be used", { path, error });
      return;
    }
    this.#isOpen = true;
    const [megabytes, megabytesMax] = [this.#entryBytes, bytesMax].map((bytes) => Math.round(bytes / MEGABYTE));
    logger.info("Opus cache is on", { path, entries: this.#entries.size, megabytes, megabytesMax });
  }

  answer({ key, reservedBytes }: OpusCacheRequest, gone: AbortSignal): OpusCacheAnswer {
    const sizeBytes = this.#entries.get(key);
    if (sizeBytes !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, sizeBytes);
      const now = this.#options.clock.epochMs() / 1000;
      // After a restart its order is a little older.
      this.#change(() => utimes(this.#pathOf(key), now, now).catch(() => undefined));
      return { kind: "entry", path: this.#pathOf(key) };
    }
    const isFull = this.#writingBytes + reservedBytes > this.#writingBytesMax;
    const isWritten = [...this.#writing.values()].some((writing) => writing.key === key);
    if (!this.#isOpen || reservedBytes <= 0 || isFull || isWritten || gone.aborted) return { kind: "none" };
    this.#writingCount += 1;
    const path = join(this.#options.path, `${key}.${this.#writingCount}.part`);
    this.#reserve(path, { key, reservedBytes }, gone);
    return { kind: "write", path };
  }

  onEvent(event: OpusCacheEvent): void {
    if (event.type === "opusCacheDamaged") this.#removeDamaged(event.key, event.reason);
    else this.#onWritten(event);
  }

  /** Resolves when what was asked for so far has happened on the disk. */
  settled(): Promise<void> {
    return this.#changes;
  }

  #pathOf(key: OpusCacheKey): string {
    return join(this.#options.path, `${key}.opus`);
  }

  /** Modes say too little: the file system may be read-only or full. */
  async #checkWritable(): Promise<void> {
    const { path } = this.#options;
    const file = join(path, `${"0".repeat(64)}.0.part`);
    await writeFile(file, "x", { mode: 0o600 });
    await rm(file);
  }

  async #readEntries(): Promise<void> {
    const { path } = this.#options;
    const names = await readdir(path);
    const isOwn = names.every((name) => ENTRY_NAME.test(name) || PART_NAME.test(name));
    // Other users are not to see what is played. Some file systems have no modes.
    if (isOwn && ((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o700).catch(() => undefined);
    for (const name of names) if (PART_NAME.test(name)) await rm(join(path, name), { force: true });
    const keys = names.flatMap((name) => ENTRY_NAME.exec(name)?.[1] ?? []);
    const found: { readonly key: string; readonly size: number; readonly mtimeMs: number }[] = [];
    for (let first = 0; first < keys.length; first += STATS_MAX) {
      const stats = keys.slice(first, first + STATS_MAX).map(async (key) => {
        const { size, mtimeMs } = await stat(this.#pathOf(key));
        return { key, size, mtimeMs };
      });
      found.push(...(await Promise.all(stats)));
    }
    for (const { key, size } of found.sort((a, b) => a.mtimeMs - b.mtimeMs)) this.#add(key, size);
    await this.#makeRoom(0);
  }

  #reserve(path: string, { key, reservedBytes: bytes }: OpusCacheRequest, gone: AbortSignal): void {
    const drop = (): void => {
      if (this.#release(path) !== undefined) this.#change(() => rm(path, { force: true }));
    };
    const timer: Timer = this.#options.clock.after(WRITE_MS_MAX, drop);
    const stopListening = onAbort(gone, drop);
    const release = (): void => {
      timer.cancel();
      stopListening();
    };
    this.#writing.set(path, { key, bytes, release });
    this.#writingBytes += bytes;
  }

  #release(path: string): Writing | undefined {
    const writing = this.#writing.get(path);
    if (writing === undefined) return undefined;
    this.#writing.delete(path);
    this.#writingBytes -= writing.bytes;
    writing.release();
    return writing;
  }

  #onWritten({ path, sizeBytes, failure }: Extract<OpusCacheEvent, { readonly type: "opusCacheWritten" }>): void {
    const writing = this.#writing.get(path);
    if (failure !== undefined) this.#warn(failure);
    if (writing === undefined) return;
    const { key, bytes } = writing;
    // The worker is done with it: it may be lost now. Its bytes are reserved until they are counted as an entry's.
    writing.release();
    this.#change(async () => {
      try {
        if (sizeBytes === undefined || sizeBytes > bytes) await rm(path, { force: true });
        else await this.#store(key, { path, sizeBytes });
      } finally {
        this.#release(path);
      }
    });
  }

  async #store(
    key: OpusCacheKey,
    { path, sizeBytes }: { readonly path: string; readonly sizeBytes: number },
  ): Promise<void> {
    try {
      await this.#makeRoom(sizeBytes);
      await rename(path, this.#pathOf(key));
      this.#add(key, sizeBytes);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  #removeDamaged(key: OpusCacheKey, reason: string): void {
    // Where it was evicted in the meantime, nothing was damaged.
    if (!this.#forget(key)) return;
    this.#change(() => rm(this.#pathOf(key), { force: true }));
    this.#options.logger.warn("Opus cache entry removed: it is damaged, and its track is transcoded again", {
      file: this.#pathOf(key),
      reason,
    });
  }

  #add(key: OpusCacheKey, sizeBytes: number): void {
    this.#entryBytes += sizeBytes - (this.#entries.get(key) ?? 0);
    this.#entries.delete(key);
    this.#entries.set(key, sizeBytes);
  }

  /** Removes entries until so many bytes more are within the bound. Only within a change, or before the first. */
  async #makeRoom(sizeBytes: number): Promise<void> {
    for (const key of this.#entries.keys()) {
      if (this.#entryBytes + sizeBytes <= this.#entryBytesMax) return;
      this.#forget(key);
      await rm(this.#pathOf(key), { force: true });
    }
  }

  /** False: there was none. */
  #forget(key: OpusCacheKey): boolean {
    const sizeBytes = this.#entries.get(key);
    if (sizeBytes === undefined) return false;
    this.#entries.delete(key);
    this.#entryBytes -= sizeBytes;
    return true;
  }

  #change(change: () => Promise<void>): void {
    this.#changes = this.#changes.then(change).catch((error: unknown) => this.#warn(String(error)));
  }

  #warn(reason: string): void {
    const { clock, logger, path } = this.#options;
    if (clock.now() - this.#warnedAtMs < WARNING_INTERVAL_MS) return;
    this.#warnedAtMs = clock.now();
    logger.warn("Opus cache entry was not stored: the disk refuses it", { path, reason });
  }
}
