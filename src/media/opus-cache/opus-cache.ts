// Between opening a track and playing it: where an entry of the Opus cache is what the track would be encoded to, that is
// played, and passed through; where there is none, the frames of this play may become one. Loaded only where the cache is
// on. In full: docs/internals/opus-cache.md. Audio thread.

import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { OpusCacheAnswer, OpusCacheEvent, OpusCacheKey, OpusCacheRequest } from "../../bridge/opus-cache.ts";
import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import { messageOf } from "../../lib/message-of.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { Demuxer } from "../demux/demuxer.ts";
import { FileByteSource } from "../input/file-byte-source.ts";
import { openDemuxer } from "../probe/open-demuxer.ts";
import type { OpenedFile, OpenedTrack, OpeningWork } from "../probe/track-opener.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { ENTRY_HEAD_BYTES, FORMAT_VERSION, readEntryHead } from "./entry-file.ts";
import { EntryRecorder } from "./entry-recorder.ts";

/** Longer tracks are not stored: an hour. */
const LENGTH_MS_MAX = 3_600_000;
/** The part of a file that its key depends on; every source keeps it (RANDOM_ACCESS_HEAD_BYTES of http-byte-source.ts). */
const HEAD_BYTES = 4 * 1024;
/** An entry takes at most this much more than its bit rate says, for pages and for passages that need more bits. */
const SIZE_MARGIN = 1.25;
const SIZE_MARGIN_BYTES = 64 * 1024;
const READ_BYTES = 64 * 1024;

interface OpusCacheOptions {
  readonly openTrack: (input: PlayableInput, work: OpeningWork) => Promise<OpenedTrack>;
  readonly opus: WorkerSettings["opus"];
  /** See `EventChannel.requestOpusCache`. */
  readonly request: (request: OpusCacheRequest) => Promise<OpusCacheAnswer>;
  readonly send: (event: OpusCacheEvent) => void;
  /** The current complexity of encoders. */
  readonly complexity: () => number;
}

/** Why a file is not an entry. */
interface Damage {
  readonly reason: string;
}

/** One per worker. */
export class OpusCache {
  readonly #options: OpusCacheOptions;

  constructor(options: OpusCacheOptions) {
    this.#options = options;
  }

  /** Opens an input up to its first packet, as `TrackOpener.open`: of the cache, if it has the track. */
  async open(input: PlayableInput, work: OpeningWork): Promise<OpenedTrack> {
    const opened = await this.#options.openTrack(input, work);
    const { signal, budget } = work;
    const request = this.#requestFor(opened, work);
    if (request === undefined) return opened;
    let entry: Demuxer | undefined;
    try {
      budget.pause();
      // The cache saves work: without its answer the track plays all the same.
      const answer = await this.#options.request(request).catch((): OpusCacheAnswer => ({ kind: "none" }));
      budget.resume();
      if (answer.kind === "write") this.#record(opened.demuxer, { request, path: answer.path, work });
      if (answer.kind === "entry") entry = await this.#openEntry(answer.path, request.key, work);
      signal.throwIfAborted();
      if (entry === undefined) return opened;
      opened.demuxer.close();
      return { demuxer: entry, isStation: false };
    } catch (error) {
      entry?.close();
      opened.demuxer.close();
      throw error;
    }
  }

  /** Undefined: the cache is not to be asked for this track. */
  #requestFor({ demuxer, isStation, file }: OpenedTrack, work: OpeningWork): OpusCacheRequest | undefined {
    const { lengthMs = demuxer.info.lengthMs, isUnchanged, isWhole, link } = work;
    if (isUnchanged !== true || isStation || file === undefined || link !== undefined) return undefined;
    if (lengthMs === undefined || lengthMs <= 0 || lengthMs > LENGTH_MS_MAX) return undefined;
    // Most Opus is passed through as it is.
    if (demuxer.stream.codec === "opus") return undefined;
    const key = keyOf(file, demuxer.stream.codec, this.#encoding);
    if (key === undefined) return undefined;
    return { key, reservedBytes: isWhole === true && this.#isSame() ? this.#bytesMaxOf(lengthMs) : 0 };
  }

  #bytesMaxOf(lengthMs: number): number {
    const bytes = (lengthMs / 8000) * this.#options.opus.bitrateBps;
    return Math.ceil(bytes * SIZE_MARGIN) + SIZE_MARGIN_BYTES;
  }

  /** What decides how frames are encoded. */
  get #encoding(): readonly unknown[] {
    const { encoder, bitrateBps, complexity } = this.#options.opus;
    return [encoder, bitrateBps, encoder === "libopus" ? complexity : undefined];
  }

  /** False while the complexity is reduced because the worker has too much to do. */
  #isSame(): boolean {
    const { opus, complexity } = this.#options;
    return opus.encoder !== "libopus" || complexity() >= opus.complexity;
  }

  #record(
    demuxer: Demuxer,
    { request, path, work }: { readonly request: OpusCacheRequest; readonly path: string; readonly work: OpeningWork },
  ): void {
    const { budget, signal } = work;
    const recorder = new EntryRecorder({
      key: request.key,
      path,
      bytesMax: request.reservedBytes,
      nextSlice: () => budget.nextSlice(),
      isSame: () => this.#isSame(),
      send: (event) => {
        stopListening();
        this.#options.send(event);
      },
    });
    demuxer.recorder = recorder;
    // The track is over, whether a frame of it was encoded or not.
    let stopListening = (): void => undefined;
    stopListening = onAbort(signal, () => recorder.giveUp());
  }

  /** Undefined when the file is gone, or is not that entry, which is reported. */
  async #openEntry(path: string, key: OpusCacheKey, { budget }: OpeningWork): Promise<Demuxer | undefined> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, "r");
      const damage = await findDamage(handle, key, budget);
      if (damage !== undefined) throw new Error(damage.reason);
      return await openDemuxer(await FileByteSource.open(handle), { fileName: path }, budget);
    } catch (error) {
      // Nothing was written to it.
      await handle?.close().catch(() => undefined);
      const reason = messageOf(error);
      this.#options.send({ type: "opusCacheDamaged", key, reason });
      return undefined;
    }
  }
}

/**
 * The name of what this file is encoded to. Undefined where another file could have the same: without a size, or
 * anything that says when it changed.
 */
export function keyOf(
  { input, url, source }: OpenedFile,
  codec: string,
  encoding: readonly unknown[],
): OpusCacheKey | undefined {
  const { sizeBytes, version } = source;
  const head = source.readBuffered(0, HEAD_BYTES);
  if (sizeBytes === undefined || version === undefined || head === undefined || head.length === 0) return undefined;
  const name = nameOf(input, url);
  const headHash = createHash("sha256").update(head).digest("hex");
  const facts = [FORMAT_VERSION, encoding, name, version, sizeBytes, codec, headHash];
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}

/**
 * Whose bytes they are. A site's link is signed again for each play, so there it is the track as the client has it, and the
 * server and path that its bytes come from: what a client invents leads to another server, and so to another name.
 */
function nameOf(input: PlayableInput, url: string | undefined): readonly unknown[] {
  if (input.kind === "local") return [input.kind, input.path];
  if (input.kind === "site") {
    const { origin, pathname } = new URL(url ?? "none:");
    return [input.kind, input.track.sourceName, input.track.encoded, origin, pathname];
  }
  const address = new URL(input.url);
  address.username = "";
  address.password = "";
  return [input.kind, address.href];
}

/** Reads the whole file: half a minute of music takes less than a millisecond. */
async function findDamage(handle: FileHandle, key: OpusCacheKey, budget: TrackBudget): Promise<Damage | undefined> {
  const buffer = Buffer.alloc(READ_BYTES);
  const { bytesRead: headBytes } = await handle.read(buffer, 0, ENTRY_HEAD_BYTES, 0);
  const head = readEntryHead(buffer.subarray(0, headBytes), key);
  if (head === undefined) return { reason: "its head is not that of the entry" };
  const hash = createHash("sha256");
  for (let positionBytes = ENTRY_HEAD_BYTES; ; ) {
    if (budget.isSpent) await budget.yield();
    const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, positionBytes);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    positionBytes += bytesRead;
  }
  return hash.digest("hex") === head.sha256 ? undefined : { reason: "its bytes are not those that were written" };
}
