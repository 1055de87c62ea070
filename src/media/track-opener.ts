// From a playable input to packets: opens the bytes, recognises playlists and containers. Serves playing and looking
// (`probe`, for loadtracks) alike, so what could be loaded can be played. Audio thread.

import type { PlayableInput, ProbeResult } from "../bridge/playable-input.ts";
import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Demuxer } from "./demux/demuxer.ts";
import type { ContainerHints } from "./demux/open-demuxer.ts";
import type { ByteSource } from "./input/byte-source.ts";
import type { OpenedInput } from "./input/open-input.ts";

/** A look at an input takes at most this long; the main thread asks for no more than 20 s in all. */
const PROBE_TIMEOUT_MS = 15_000;

export interface TrackOpenerOptions {
  readonly openInput: (input: PlayableInput, signal: AbortSignal) => Promise<OpenedInput>;
  readonly openDemuxer: (source: ByteSource, hints: ContainerHints) => Promise<Demuxer>;
  readonly clock: Clock;
}

interface OpenedTrack {
  readonly demuxer: Demuxer;
  readonly opened: OpenedInput;
}

export class TrackOpener {
  readonly #options: TrackOpenerOptions;

  constructor(options: TrackOpenerOptions) {
    this.#options = options;
  }

  /** Opens an input up to its first packet. Rejects with a NodeError; the caller closes the demuxer. */
  async open(input: PlayableInput, signal: AbortSignal): Promise<Demuxer> {
    return (await this.#open(input, signal)).demuxer;
  }

  /** Looks at an input and closes it again. Rejects with a NodeError that says why it cannot be played. */
  async probe(input: PlayableInput): Promise<ProbeResult> {
    const abort = new AbortController();
    const timer = this.#options.clock.after(PROBE_TIMEOUT_MS, () => abort.abort());
    try {
      const { demuxer, opened } = await this.#open(input, abort.signal);
      const result = describe(input, demuxer, opened);
      demuxer.close();
      return result;
    } catch (error) {
      if (error instanceof NodeError && error.code === "input-not-found") return { kind: "empty" };
      if (abort.signal.aborted) {
        throw new NodeError("load-timeout", `looking at the track took more than ${PROBE_TIMEOUT_MS} ms`, {
          cause: error,
        });
      }
      throw error;
    } finally {
      timer.cancel();
    }
  }

  async #open(input: PlayableInput, signal: AbortSignal): Promise<OpenedTrack> {
    const opened = await this.#options.openInput(input, signal);
    const closeSource = () => opened.source.close();
    // Reading the head of a container waits for the source alone: the signal ends it by closing the source.
    signal.addEventListener("abort", closeSource, { once: true });
    try {
      const demuxer = await this.#options.openDemuxer(opened.source, hintsFor(input, opened));
      return { demuxer, opened };
    } catch (error) {
      opened.source.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", closeSource);
    }
  }
}

function hintsFor(input: PlayableInput, opened: OpenedInput): ContainerHints {
  const path = input.kind === "local" ? input.path : new URL(opened.url ?? input.url).pathname;
  return { mimeType: opened.source.mimeType, fileName: path, container: input.container };
}

function describe(input: PlayableInput, demuxer: Demuxer, opened: OpenedInput): ProbeResult {
  const { info } = demuxer;
  const station = opened.station();
  const hasMoved = input.kind === "http" && opened.url !== undefined && opened.url !== new URL(input.url).href;
  return {
    kind: "track",
    container: info.probeName,
    location: hasMoved ? opened.url : undefined,
    title: info.title ?? station?.description ?? station?.url,
    author: info.author ?? station?.name,
    artworkUrl: info.artworkUrl,
    isrc: info.isrc,
    lengthMs: info.lengthMs,
    isSeekable: demuxer.isSeekable,
  };
}
