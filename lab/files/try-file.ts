// Everything that is measured of one file: what ffmpeg says, how the node loads it by path and over HTTP, what is heard,
// where a seek lands. Plain data; judge-file.ts decides what is right. Lab only.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { PlainInput } from "../../src/bridge/playable-input.ts";
import type { StereoAudio } from "../listen/received.ts";
import { MediaServer } from "../media-server/media-server.ts";
import { type AudioComparison, compareAudio, placeOf } from "./compare-audio.ts";
import {
  decodeReference,
  probeReference,
  type ReferenceAudio,
  type ReferenceFacts,
  SAMPLES_PER_SECOND,
} from "./ffmpeg-reference.ts";
import { NodeAudio, type Played } from "./node-audio.ts";

/** Kinds of web server that a file is loaded from, by the names of lab/media-server/behaviours.ts. */
export const SERVERS = { ranges: "ranges", "no-ranges": "norange", "no-length": "chunked" } as const;
export type ServerName = keyof typeof SERVERS;
export type LoadName = "path" | ServerName;

export interface TrySettings {
  /** The folder; an absolute real path. */
  readonly root: string;
  readonly servers: readonly ServerName[];
  /** The most that is played and compared of one file. */
  readonly seconds: number;
  /** The time limit of one file, for ffmpeg. */
  readonly timeoutMs: number;
}

/** What loadtracks would return, or its error. */
export type LoadFacts =
  | {
      readonly title: string | undefined;
      readonly author: string | undefined;
      /** Undefined: a stream. */
      readonly lengthMs: number | undefined;
    }
  | { readonly error: string };

export interface HeardFacts extends AudioComparison {
  /** The reference behind the node's encoder alone, measured where little of it is heard. */
  readonly encoded?: Pick<AudioComparison, "heardShare" | "levelDb"> | undefined;
  /** Undefined: the track ended as finished. */
  readonly failure: string | undefined;
}

export interface SeekFacts {
  readonly targetMs: number;
  /** Where it landed, after the target; undefined: nowhere near it. `quiet`: it cannot be told. */
  readonly offMs: number | "quiet" | undefined;
  readonly failure: string | undefined;
}

export interface FileFacts {
  /** Path below the folder. */
  readonly file: string;
  /** Undefined: ffprobe finds no audio in it. */
  readonly reference?: ReferenceFacts | undefined;
  /** Undefined: ffmpeg decodes nothing. */
  readonly decoded?: { readonly lengthMs: number; readonly isWhole: boolean; readonly isDamaged: boolean } | undefined;
  readonly loads?: Partial<Record<LoadName, LoadFacts>> | undefined;
  readonly heard?: HeardFacts | undefined;
  readonly seek?: SeekFacts | undefined;
  /** The file could not be tried to its end: a time limit, or its process has ended. */
  readonly broken?: string | undefined;
}

/** Larger files are not served: the media server has them in memory. */
const FILE_BYTES_MAX = 256 * 2 ** 20;
/** Where less is heard, the encoder may be the reason. */
const HEARD_SHARE_SURE = 0.95;
/** Shorter files are not sought in. */
const SEEK_LENGTH_MS_MIN = 1500;
/** Compared after a seek: without its first moments, in which a decoder settles. */
const AFTER_SEEK_MS = { from: 200, length: 500 };

/** Tries files one after the other. */
export class FileTrials {
  readonly #settings: TrySettings;
  readonly #media: MediaServer;
  readonly #node: NodeAudio;

  private constructor(settings: TrySettings, media: MediaServer) {
    this.#settings = settings;
    this.#media = media;
    this.#node = new NodeAudio(settings.root);
  }

  static async start(settings: TrySettings): Promise<FileTrials> {
    return new FileTrials(settings, await MediaServer.start({ root: settings.root }));
  }

  /** `audioFile`: what ffmpeg decodes instead, for the audio. */
  async try(file: string, audioFile: string = file): Promise<FileFacts> {
    const { root, seconds } = this.#settings;
    // A program that hangs ends before this process, which would leave it behind.
    const timeoutMs = this.#settings.timeoutMs / 2;
    const path = join(root, file);
    if ((await stat(path)).size > FILE_BYTES_MAX) return { file, broken: "it is larger than 256 MiB" };
    const reference = await probeReference(path, timeoutMs);
    if (reference === undefined) return { file };
    const { channelCount, container } = reference;
    const loads = await this.#loadAll(file, container);
    const decodedAudio = await decodeReference(join(root, audioFile), { channelCount, seconds, timeoutMs });
    if (decodedAudio === undefined) return { file, reference, loads };
    const decoded = describe(decodedAudio, seconds);
    const name = ["path" as const, ...this.#settings.servers].find((load) => isTrack(loads[load]));
    if (name === undefined) return { file, reference, decoded, loads };
    const input = this.#inputOf(file, name);
    const played = await this.#node.play(input, seconds);
    const heard = { ...(await this.#compare(decodedAudio.audio, played.audio)), failure: played.failure };
    const seek = await this.#seek(input, decodedAudio, loads[name]);
    return { file, reference, decoded, loads, heard, seek };
  }

  async #compare(reference: StereoAudio, received: StereoAudio): Promise<Omit<HeardFacts, "failure">> {
    const comparison = compareAudio(reference, received);
    if ((comparison.heardShare ?? 1) >= HEARD_SHARE_SURE) return comparison;
    const { heardShare, levelDb } = compareAudio(reference, await this.#node.encode(reference));
    return { ...comparison, encoded: { heardShare, levelDb } };
  }

  async #loadAll(file: string, container: string): Promise<Partial<Record<LoadName, LoadFacts>>> {
    const loads: Partial<Record<LoadName, LoadFacts>> = {};
    // The node plays HLS from web servers only.
    const names = container === "hls" ? this.#settings.servers : ["path" as const, ...this.#settings.servers];
    for (const name of names) loads[name] = await this.#load(this.#inputOf(file, name));
    return loads;
  }

  async #load(input: PlainInput): Promise<LoadFacts> {
    try {
      const result = await this.#node.load(input);
      if (result.kind === "empty") return { error: "empty: nothing there" };
      const { title, author, lengthMs } = result;
      return { title, author, lengthMs };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  async #seek(
    input: PlainInput,
    { audio }: ReferenceAudio,
    load: LoadFacts | undefined,
  ): Promise<SeekFacts | undefined> {
    const lengthMs = (audio.left.length / SAMPLES_PER_SECOND) * 1000;
    const isStream = load === undefined || "error" in load || load.lengthMs === undefined;
    if (isStream || lengthMs < SEEK_LENGTH_MS_MIN) return undefined;
    const targetMs = Math.floor(lengthMs / 2);
    const played = await this.#node.seek(input, targetMs);
    return { targetMs, offMs: landing(audio, played, targetMs), failure: played?.failure };
  }

  #inputOf(file: string, name: LoadName): PlainInput {
    const { root } = this.#settings;
    if (name === "path") return { kind: "local", path: join(root, file), container: undefined };
    const escaped = file.split("/").map(encodeURIComponent).join("/");
    return { kind: "http", url: `${this.#media.url}/${SERVERS[name]}/${escaped}`, container: undefined };
  }
}

function landing(reference: ReferenceAudio["audio"], played: Played | undefined, targetMs: number): SeekFacts["offMs"] {
  if (played === undefined) return undefined;
  const { left, right } = played.audio;
  const [from, to] = [AFTER_SEEK_MS.from * 48, (AFTER_SEEK_MS.from + AFTER_SEEK_MS.length) * 48];
  const piece = { left: left.subarray(from, to), right: right.subarray(from, to) };
  const place = placeOf(reference, piece, targetMs + AFTER_SEEK_MS.from);
  return place === undefined || place === "quiet" ? place : place.offMs;
}

function isTrack(load: LoadFacts | undefined): boolean {
  return load !== undefined && !("error" in load);
}

function describe({ audio, isDamaged }: ReferenceAudio, seconds: number): FileFacts["decoded"] {
  const lengthMs = (audio.left.length / SAMPLES_PER_SECOND) * 1000;
  return { lengthMs, isWhole: lengthMs < seconds * 1000 - 1, isDamaged };
}
