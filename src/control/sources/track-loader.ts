// Looks identifiers up: asks the sources in order, follows references, bounds how many lookups run and how long each may
// take. Main thread; used by GET /v4/loadtracks and by updates that name an identifier.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { LoadResult } from "./load-result.ts";
import type { Source, SourceAnswer, SourceRequest } from "./source.ts";
import { decodeTrack, type Track } from "./track.ts";

/** References followed for one identifier; what is still one then is taken to lead nowhere. */
const REFERENCES_MAX = 5;
const LOAD_TIMEOUT_MS = 20_000;
/** Lookups at once; more wait, and beyond `WAITING_MAX` are refused with `load-busy`. */
const RUNNING_MAX = 32;
const WAITING_MAX = 1000;

export class TrackLoader {
  readonly #sources: readonly Source[];
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #runningCount = 0;

  constructor(options: { sources: readonly Source[]; clock: Clock }) {
    this.#sources = options.sources;
    this.#clock = options.clock;
  }

  /** The names of the sources, in the order they are asked. */
  get sourceNames(): readonly string[] {
    return this.#sources.map((source) => source.name);
  }

  /** Looks `identifier` up. A failure is a result, not a rejection; only `signal` makes it reject. */
  async load(identifier: string, options: { signal?: AbortSignal } = {}): Promise<LoadResult> {
    const deadline = new AbortController();
    const timer = this.#clock.after(LOAD_TIMEOUT_MS, () => {
      deadline.abort(new NodeError("load-timeout", `looking the track up took more than ${LOAD_TIMEOUT_MS / 1000} s`));
    });
    const signals = options.signal === undefined ? [deadline.signal] : [deadline.signal, options.signal];
    const signal = AbortSignal.any(signals);
    try {
      return await unlessAborted(
        this.#inTurn(() => this.#follow({ identifier, title: undefined, signal })),
        signal,
      );
    } catch (error) {
      options.signal?.throwIfAborted();
      return { kind: "error", error: toWireError(error) };
    } finally {
      timer.cancel();
    }
  }

  /** A track that a client hands in, of whatever source: its metadata can be read. Throws `track-undecodable`. */
  decode(encoded: string): Track {
    return decodeTrack(encoded);
  }

  /** How the sound of `track` is fetched. Throws `source-unavailable` for sources this node does not have. */
  playableInput(track: Track): PlayableInput {
    const name = track.info.sourceName;
    const source = this.#sources.find((candidate) => candidate.name === name);
    if (source !== undefined) return source.playableInput(track);
    throw new NodeError("source-unavailable", `the source of this track is not available on this node: ${name}`);
  }

  async #follow(request: SourceRequest): Promise<LoadResult> {
    let next = request;
    for (let hop = 0; hop <= REFERENCES_MAX; hop++) {
      const answer = await this.#ask(next);
      if (answer === undefined) return { kind: "empty" };
      if (answer.kind !== "reference") return answer;
      next = { ...request, identifier: answer.identifier, title: answer.title };
    }
    return { kind: "empty" };
  }

  async #ask(request: SourceRequest): Promise<SourceAnswer | undefined> {
    for (const source of this.#sources) {
      request.signal.throwIfAborted();
      const answer = await source.load(request);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#runningCount >= RUNNING_MAX) {
      if (this.#waiting.length >= WAITING_MAX) {
        throw new NodeError("load-busy", `${WAITING_MAX} tracks are waiting to be looked up already`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#runningCount++;
    }
    try {
      return await work();
    } finally {
      // Its place goes to the next in line, or becomes free.
      const next = this.#waiting.shift();
      if (next === undefined) this.#runningCount--;
      else next();
    }
  }
}
