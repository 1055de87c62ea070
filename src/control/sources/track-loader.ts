// Loads identifiers: asks the sources in order, follows references, bounds how long each load may take;
// load-scheduler.ts bounds how many run. Main thread; used by GET /v4/loadtracks and by updates that name an
// identifier.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner, WorkOptions } from "../../lib/owners.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Track } from "../../track/track.ts";
import type { AllowedSources } from "../access/identity.ts";
import type { LoadResult } from "./load-result.ts";
import { LoadScheduler } from "./load-scheduler.ts";
import type { Reference, Source, SourceAnswer, SourceRequest } from "./source.ts";

/** References followed for one identifier; a further one is treated as leading nowhere. */
const REFERENCES_MAX = 5;
/** Identifiers that are asked for in one load, other addresses of playlists included. */
const IDENTIFIERS_MAX = 16;
const LOAD_TIMEOUT_MS = 20_000;
/** Characters that are shown of a source name that only a client's track has. */
const NAME_LENGTH_MAX = 64;
/** Takes every link that no other source takes. */
const LAST_SOURCE = "http";
/** The site of all that is no address. */
const WORDS = "";

/** Whose a load is, and its time limit. */
export interface LoadOptions {
  /** Shares are counted by it. */
  readonly owner: Owner;
  readonly signal: AbortSignal;
  /** How many loads of plugins led here. Default: none. */
  readonly depth?: number | undefined;
  /** A part of a load or link that runs already takes no further permit: it would wait for itself. */
  readonly isPartOfWork?: boolean;
  /** The sources that the client may use. Default: all. */
  readonly allowed?: AllowedSources | undefined;
  /** Called with the name of the source whose answer or failure is the result; not where none was the right one. */
  readonly onSource?: ((name: string) => void) | undefined;
}

/** What is known of sources that are not there; plugin-host/manage/absent-sources.ts is the real one. */
interface Absent {
  /**
   * Asked for what no source but `http` takes: the one that would, and why it is not there. `present`: the names of the
   * sources that there are.
   */
  refusing(
    identifier: string,
    options: { readonly present: readonly string[]; readonly owner: Owner },
  ): Refusing | undefined;
  /** Undefined: nothing is known of it. */
  reasonOf(name: string): string | undefined;
}

interface Refusing {
  readonly name: string;
  readonly reason: string;
}

/** One for the node. A load takes 20 s at most, including its wait, and follows five references. */
export class TrackLoader {
  readonly #listSources: () => readonly Source[];
  readonly #absent: Absent | undefined;
  readonly #clock: Clock;
  readonly #scheduler: LoadScheduler;

  /** `listSources`: all that there are at this moment, in the order in which they are asked. */
  constructor(options: { listSources: () => readonly Source[]; absent?: Absent; clock: Clock }) {
    this.#listSources = options.listSources;
    this.#absent = options.absent;
    this.#clock = options.clock;
    this.#scheduler = new LoadScheduler(options.clock);
  }

  /** The names of the sources, in the order they are asked. */
  get sourceNames(): readonly string[] {
    return this.#listSources().map((source) => source.name);
  }

  /** The names of those whose tracks are played from others. */
  get mirroredNames(): readonly string[] {
    return this.#listSources().flatMap(({ name, isMirrored }) => (isMirrored === true ? [name] : []));
  }

  /**
   * Looks `identifier` up. A failure is a result, not a rejection; only `signal` makes it reject, and `key-forbidden`:
   * it is for a source that may not be used.
   */
  async load(identifier: string, options: LoadOptions): Promise<LoadResult> {
    const deadline = new AbortController();
    let asked: string | undefined;
    const timer = this.#clock.after(LOAD_TIMEOUT_MS, () => {
      const last = asked === undefined ? "" : `; ${asked} was asked last`;
      const text = `looking the track up took more than ${LOAD_TIMEOUT_MS / 1000} s${last}`;
      deadline.abort(new NodeError("load-timeout", text));
    });
    const onAsk: OnAsk = (source) => {
      asked = source;
    };
    const { depth = 0, allowed, owner, isPartOfWork = false } = options;
    const ended = AbortSignal.any([deadline.signal, options.signal]);
    const follow = (signal: AbortSignal): Promise<LoadResult> =>
      this.#follow({ identifier, title: undefined, depth, owner, allowed, signal }, onAsk);
    try {
      if (isPartOfWork) return await unlessAborted(follow(ended), ended);
      return await this.#scheduler.run({ owner, site: siteOf(identifier), signal: ended }, follow);
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof NodeError && error.code === "key-forbidden") throw error;
      return { kind: "error", error: toWireError(error) };
    } finally {
      timer.cancel();
      if (asked !== undefined) options.onSource?.(asked);
    }
  }

  /**
   * Carries out other work for a client, such as a search of several kinds, within the shares and the time of a load.
   * `site`: a name for work that is not to take the shares of searches. Rejects with its error, `load-busy`,
   * `load-timeout`, or the reason of `signal`.
   */
  async share<Value>(
    work: (signal: AbortSignal) => Promise<Value>,
    { owner, signal, site = WORDS }: WorkOptions & { readonly site?: string },
  ): Promise<Value> {
    const deadline = new AbortController();
    const timer = this.#clock.after(LOAD_TIMEOUT_MS, () => {
      deadline.abort(new NodeError("load-timeout", `the search took more than ${LOAD_TIMEOUT_MS / 1000} s`));
    });
    try {
      const ended = AbortSignal.any([deadline.signal, signal]);
      return await this.#scheduler.run({ owner, site, signal: ended }, work);
    } finally {
      timer.cancel();
    }
  }

  /** The name of the first source that claims the identifier. */
  claimantOf(identifier: string): string | undefined {
    return this.#listSources().find((source) => source.isClaimed(identifier))?.name;
  }

  /** How the audio of `track` is fetched. Throws `source-unavailable` for sources this node does not have. */
  playableInput(track: Track): PlayableInput {
    const name = track.info.sourceName;
    const source = this.#listSources().find((candidate) => candidate.name === name);
    if (source !== undefined) return source.playableInput(track);
    const shown = this.#absent?.reasonOf(name) ?? name.slice(0, NAME_LENGTH_MAX);
    throw new NodeError("source-unavailable", `the source of this track is not available on this node: ${shown}`);
  }

  async #follow(request: SourceRequest, onAsk: OnAsk): Promise<LoadResult> {
    const waiting: (Reference & { readonly hop: number })[] = [{ ...request, hop: 0 }];
    let failure: unknown;
    for (let count = 0; count < IDENTIFIERS_MAX; count++) {
      const next = waiting.pop();
      if (next === undefined) break;
      const { identifier, title, hop } = next;
      try {
        const answer = await this.#ask({ ...request, identifier, title }, onAsk);
        if (answer?.kind === "reference") {
          const references = [answer, ...(answer.alternatives ?? [])].map((reference) => ({
            ...reference,
            hop: hop + 1,
          }));
          if (hop < REFERENCES_MAX) waiting.push(...references.reverse());
        } else if (answer !== undefined && answer.kind !== "empty") return answer;
      } catch (error) {
        request.signal.throwIfAborted();
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return { kind: "empty" };
  }

  async #ask(request: SourceRequest, onAsk: OnAsk): Promise<SourceAnswer | undefined> {
    const sources = this.#listSources();
    const isLast = ({ name }: Source): boolean => name === LAST_SOURCE;
    const others = sources.filter((source) => !isLast(source));
    const answer = await this.#askEach(others, request, onAsk);
    if (answer !== undefined) return answer;
    this.#refuseAbsent(request, others, onAsk);
    return this.#askEach(sources.filter(isLast), request, onAsk);
  }

  async #askEach(sources: readonly Source[], request: SourceRequest, onAsk: OnAsk): Promise<SourceAnswer | undefined> {
    const { allowed } = request;
    for (const source of sources) {
      request.signal.throwIfAborted();
      if (allowed?.has(source.name) === false) {
        // No other source is asked for an identifier of this one: a page of its site is not audio.
        if (source.isClaimed(request.identifier)) allowed.check(source.name);
        continue;
      }
      onAsk(source.name);
      const answer = await source.load(request);
      if (answer !== undefined) return answer;
    }
    onAsk(undefined);
    return undefined;
  }

  /** A link that a source claims and gives away may be anything. */
  #refuseAbsent({ identifier, owner }: SourceRequest, sources: readonly Source[], onAsk: OnAsk): void {
    if (this.#absent === undefined || sources.some((source) => source.isClaimed(identifier))) return;
    const absent = this.#absent.refusing(identifier, { present: sources.map(({ name }) => name), owner });
    if (absent === undefined) return;
    onAsk(absent.name);
    throw new NodeError("source-unavailable", absent.reason);
  }
}

/** Undefined: none was the right one. */
type OnAsk = (source: string | undefined) => void;

/**
 * The site of an identifier, for shares: the last two labels of the host name, as the owner of a domain has any number
 * of names below it, with the port. All identifiers that are not addresses share one site.
 */
function siteOf(identifier: string): string {
  const url = parseUrl(identifier);
  if (url === undefined) return WORDS;
  const isName = /[a-z]$/i.test(url.hostname);
  return isName ? `${url.hostname.split(".").slice(-2).join(".")}:${url.port}` : url.host;
}
