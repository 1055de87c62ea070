// From a playable input to packets: opens the bytes, recognises playlists and containers. Serves playing and probing
// (`probe`, for loadtracks) alike, so every track that can be loaded can be played. Audio and probe threads.

import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { Demuxer } from "../demux/demuxer.ts";
import type { ByteSource } from "../input/byte-source.ts";
import type { OpenedInput } from "../input/open-input.ts";
import type { PlaylistTarget } from "../input/playlist.ts";
import { InputReplacedError, type TrackLink } from "../input/track-link.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { ContainerHints } from "./open-demuxer.ts";

/** A probe of an input takes at most this long; the main thread requests no more than 20 s in all. */
const PROBE_TIMEOUT_MS = 15_000;
/** Less would make very low bit rates read in tiny pieces. */
const READ_AHEAD_BYTES_MIN = 64 * 1024;
/** Link lists that lead to link lists. */
const HOPS_MAX = 5;
/** Inputs that are opened for one track, other addresses of lists included. */
const OPENED_MAX = 16;
/** How long a server may take until it is known how long its file is; then the file is opened as to play it. */
const LENGTH_PATIENCE_MS = 6_000;
/** Openings of one track during which its link changed its destination. */
const REPLACED_MAX = 3;
/** Errors about bytes that are neither media nor a list that names any. */
const UNKNOWN_CODES: readonly string[] = ["media-unknown-format", "playlist-empty"];
/** The address of a file other than a page: a page there is unexpected. */
const FILE_NAME = /\.(?!(?:[a-z]?html?|php\d?|[aj]spx?|cgi)$)[a-z\d]{2,5}$/i;
/** Error of a probe that means "nothing there" to clients, as upstream answers it. */
const EMPTY_CODE = "input-not-found";

export interface TrackOpenerOptions {
  readonly openInput: (input: PlayableInput, work: OpeningWork) => Promise<OpenedInput>;
  /** Distinguishes a link list or an HLS playlist from media; undefined is media. */
  readonly readPlaylist: (input: PlayableInput, opened: OpenedInput) => Promise<PlaylistTarget | undefined>;
  /** `work.link` of a site's track: for what the playlist names as well. */
  readonly openHls: (
    url: URL,
    work: OpeningWork & { readonly isProbe: boolean; readonly originUrl: URL },
  ) => Promise<Demuxer>;
  readonly openDemuxer: (source: ByteSource, hints: ContainerHints, budget: TrackBudget) => Promise<Demuxer>;
  readonly clock: Clock;
  /** Called with the container that the link of a plugin's track declares, as early as it is known. */
  readonly onContainer?: ((container: string | undefined) => void) | undefined;
  /** Compressed audio to read ahead, where the bit rate is known. */
  readonly readAheadMs: number;
}

/** The signal that ends an opening, and its limits of time and memory. */
export interface OpeningWork {
  readonly signal: AbortSignal;
  readonly budget: TrackBudget;
  /** Link of a plugin's track that was opened before: the opening continues from it. */
  readonly link?: TrackLink | undefined;
  /** As reported to the client, for the read-ahead of files that do not say it at their beginning. */
  readonly lengthMs?: number | undefined;
  /** It begins without filters and at full volume: frames that were encoded before may be played instead. */
  readonly isUnchanged?: boolean | undefined;
  /** It is opened to be played from its first sample. */
  readonly isWhole?: boolean | undefined;
  /** Ask the server without a range: what it sent as one made no sense. */
  readonly isBare?: boolean | undefined;
  /** The link now leads to other bytes: only the buffered bytes remain (HttpByteSourceOptions). */
  readonly onReplaced?: ((link: TrackLink) => void) | undefined;
}

/** An opened track. `isStation`: the bytes are of an Icecast or Shoutcast station, which sends the same to everybody. */
export interface OpenedTrack {
  readonly demuxer: Demuxer;
  readonly isStation: boolean;
  /** The file that the demuxer reads; undefined where it reads another kind of input. */
  readonly file?: OpenedFile | undefined;
}

/** Where a file was found: the last input that a list led to, its address after redirects, and its bytes. */
export interface OpenedFile {
  readonly input: PlayableInput;
  /** Undefined on the disk. */
  readonly url: string | undefined;
  readonly source: ByteSource;
}

/** Result of opening an input. */
type Opened = OpenedMedia | ListTarget;

type ListTarget = Extract<PlaylistTarget, { kind: "link" }>;

interface OpenedMedia {
  readonly kind: "media";
  readonly demuxer: Demuxer;
  readonly opened: OpenedInput;
  /** It is described by a playlist, which `opened` is. */
  readonly isHls: boolean;
}

/** An input to be opened, its title in the list that named it, and how many lists led to it. */
interface ListedOpening {
  readonly input: PlayableInput;
  readonly title: string | undefined;
  readonly hop: number;
}

/**
 * Follows at most five link lists from one to the next. A probe takes 15 s at most; an opening ends only by its signal.
 */
export class TrackOpener {
  readonly #options: TrackOpenerOptions;

  constructor(options: TrackOpenerOptions) {
    this.#options = options;
  }

  /** Opens an input up to its first packet. Rejects with a NodeError; the caller closes the demuxer. */
  async open(input: PlayableInput, work: OpeningWork): Promise<OpenedTrack> {
    const listed = [{ input, title: undefined, hop: 0 }];
    const { demuxer, opened, isHls, ...found } = await this.#openFirst(listed, { ...work, isLengthNeeded: false });
    const { source, url } = opened;
    const file = isHls ? undefined : { input: opened.plain ?? found.input, url, source };
    return { demuxer, isStation: source.isLive === true, file };
  }

  /** Opens the first of these that can be opened, or of what lists among them lead to. */
  async #openFirst(
    inputs: readonly ListedOpening[],
    work: OpeningWork & { readonly isLengthNeeded: boolean },
  ): Promise<OpenedMedia & ListedOpening> {
    const waiting = [...inputs].reverse();
    let failure: unknown;
    for (let count = 0; count < OPENED_MAX; count++) {
      const next = waiting.pop();
      if (next === undefined) break;
      try {
        if (next.hop > HOPS_MAX) throw tooManyHopsError();
        const found = await this.#open(next.input, work);
        if (found.kind === "media") return { ...next, ...found };
        waiting.push(...listedIn(found, { ...next, hop: next.hop + 1 }).reverse());
      } catch (error) {
        work.signal.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure ?? tooManyHopsError();
  }

  /** Opens an input, describes it and closes it again. Rejects with a NodeError that says why it cannot be played. */
  async probe(input: PlayableInput, { signal, budget }: OpeningWork): Promise<ProbeResult> {
    const abort = new AbortController();
    const stopListening = onAbort(signal, () => abort.abort(signal.reason));
    const timer = this.#options.clock.after(PROBE_TIMEOUT_MS, () => abort.abort());
    try {
      const work = { signal: abort.signal, budget, isLengthNeeded: true };
      const found = await this.#open(input, work);
      if (found.kind === "media") return describeAndClose(found, { input, title: undefined, budget });
      const reference: ProbeResult = { ...found, kind: "reference" };
      if (!mayNeedCookies(found, budget)) return reference;
      // What a list leads to is loaded without the list's cookies otherwise.
      const media = await this.#openFirst(listedIn(found, { title: undefined, hop: 1 }), work).catch(() => undefined);
      abort.signal.throwIfAborted();
      return media === undefined
        ? reference
        : describeAndClose(media, { input: media.input, title: media.title, budget });
    } catch (error) {
      if (error instanceof NodeError && error.code === EMPTY_CODE) return { kind: "empty" };
      if (!abort.signal.aborted || signal.aborted) throw error;
      const message = `probing the track took more than ${PROBE_TIMEOUT_MS} ms`;
      throw new NodeError("load-timeout", message, { cause: error });
    } finally {
      timer.cancel();
      stopListening();
    }
  }

  /** Starts again when a link has changed to another file in the meantime. */
  async #open(input: PlayableInput, work: OpeningWork & { readonly isLengthNeeded: boolean }): Promise<Opened> {
    let { link } = work;
    for (let replacedCount = 0; ; replacedCount++) {
      try {
        return await this.#openOnce(input, { ...work, link });
      } catch (error) {
        if (!(error instanceof InputReplacedError) || replacedCount >= REPLACED_MAX) throw error;
        link = error.link;
      }
    }
  }

  async #openOnce(
    input: PlayableInput,
    { isLengthNeeded, ...work }: OpeningWork & { readonly isLengthNeeded: boolean },
  ): Promise<Opened> {
    const { signal, budget } = work;
    const opened = await this.#options.openInput(input, work);
    if (input.kind === "site") this.#options.onContainer?.(opened.container);
    // Reading the head of a container waits for the source alone: the signal ends it by closing the source.
    const stopListening = onAbort(signal, () => opened.source.close());
    let isMeasuring = false;
    let isLate = false;
    let patience: Timer | undefined;
    try {
      const list = await this.#options.readPlaylist(input, opened);
      if (list !== undefined) opened.source.close();
      if (list?.kind === "link") return list;
      isMeasuring = list === undefined && isLengthNeeded && isRemoteFile(input, opened);
      if (isMeasuring) {
        patience = this.#options.clock.after(LENGTH_PATIENCE_MS, () => {
          isLate = true;
          opened.source.close();
        });
      }
      const demuxer =
        list === undefined
          ? await this.#options.openDemuxer(
              opened.source,
              { ...hintsFor(input, opened), isLengthNeeded, signal },
              budget,
            )
          : await this.#options.openHls(list.url, {
              ...work,
              originUrl: list.originUrl,
              link: opened.link,
              isProbe: isLengthNeeded,
            });
      this.#aimReadAhead(opened.source, demuxer.info.lengthMs ?? work.lengthMs);
      return { kind: "media", demuxer, opened, isHls: list !== undefined };
    } catch (error) {
      opened.source.close();
      const again = { ...work, link: opened.link };
      // The beginning may be there to be played, even if the end is not.
      const isCutOff = isLate || (isMeasuring && isInterrupted(error));
      if (isCutOff) return await this.#openOnce(input, { ...again, isLengthNeeded: false });
      if (work.isBare === true || !isWorthAskingAgain(error, opened)) throw error;
      // Some servers answer a range with other bytes than a plain request, and any may be busy for a moment.
      const bare = this.#openOnce(input, { ...again, isLengthNeeded, isBare: true });
      return bare.catch(() => {
        throw error;
      });
    } finally {
      patience?.cancel();
      stopListening();
    }
  }

  /** Aims for the bytes of the configured read-ahead, now that size and length give the bit rate. */
  #aimReadAhead(source: ByteSource, lengthMs: number | undefined): void {
    if (source.sizeBytes === undefined || lengthMs === undefined || lengthMs <= 0) return;
    const neededBytes = Math.ceil((source.sizeBytes / lengthMs) * this.#options.readAheadMs);
    source.aimReadAhead?.(Math.max(READ_AHEAD_BYTES_MIN, neededBytes));
  }
}

/**
 * A first answer that is no media, nor a list of any, may be a passing one: a range that makes no sense, nothing at all,
 * or something else where a file was named.
 */
function isWorthAskingAgain(error: unknown, { isPart, url, source }: OpenedInput): boolean {
  if (!(error instanceof NodeError) || !UNKNOWN_CODES.includes(error.code) || url === undefined) return false;
  const isFile = FILE_NAME.test(new URL(url).pathname) || source.mimeType?.endsWith("mpegurl") === true;
  return isPart === true || source.sizeBytes === 0 || isFile;
}

/** True for what is read at its end for the length, over the network. */
function isRemoteFile(input: PlayableInput, { source }: OpenedInput): boolean {
  return input.kind !== "local" && (source.declared ?? source).isRandomAccess;
}

function isInterrupted(error: unknown): boolean {
  return error instanceof NodeError && error.code === "input-interrupted";
}

function tooManyHopsError(): NodeError {
  return new NodeError("input-redirects", `opening the track: more than ${HOPS_MAX} playlists lead to each other`);
}

/** The entries of a list, with the title that led there where they have none. */
function listedIn(list: ListTarget, from: Omit<ListedOpening, "input">): ListedOpening[] {
  const entries = [list, ...(list.alternatives ?? [])];
  return entries.map(({ input, title = from.title }) => ({ input, title, hop: from.hop }));
}

/** True when a cookie of the requests so far goes along to an entry of the list. */
function mayNeedCookies(list: ListTarget, { cookies, clock }: TrackBudget): boolean {
  return [list, ...(list.alternatives ?? [])].some(
    ({ input }) => input.kind === "http" && cookies.covers(new URL(input.url), clock.epochMs()),
  );
}

function describeAndClose(
  { demuxer, opened }: OpenedMedia,
  { input, title, budget }: { input: PlayableInput; title: string | undefined; budget: TrackBudget },
): ProbeResult {
  const described = describe(input, demuxer, opened);
  demuxer.close();
  // The cookies that it may need come from the original address.
  const location = budget.cookies.hasSent ? undefined : described.location;
  return { ...described, title: described.title ?? title, location };
}

function hintsFor(input: PlayableInput, opened: OpenedInput): ContainerHints {
  const current = input.kind === "site" ? opened.plain : input;
  const address = opened.url ?? (current?.kind === "http" ? current.url : undefined);
  const path = current?.kind === "local" ? current.path : address && new URL(address).pathname;
  return { mimeType: opened.source.mimeType, fileName: path, container: opened.container ?? current?.container };
}

function describe(
  input: PlayableInput,
  demuxer: Demuxer,
  opened: OpenedInput,
): Extract<ProbeResult, { kind: "track" }> {
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
