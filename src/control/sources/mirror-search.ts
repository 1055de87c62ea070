// One look for the same recording on other sources: asks one provider after another, compares what they have, and takes
// the best that can be played. Main thread; made by mirrors.ts.

import type { LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Owner, playingOwnerOf } from "../../lib/owners.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Logger } from "../../log/log.ts";
import { scoreRecording } from "../../recordings/same-recording.ts";
import { fillTemplate, plainIsrc, type SearchTemplate } from "../../recordings/search-template.ts";
import { decodeTrack, type Track } from "../../track/track.ts";
import type { TrackInfo } from "../../track/track-info.ts";
import { isWritten, readPart } from "../../track/written-tracks.ts";
import type { AllowedSources } from "../access/identity.ts";
import type { LoadResult } from "./load-result.ts";
import type { Mirror } from "./mirror-memory.ts";
import type { MirrorProviders } from "./mirror-providers.ts";
import { isSourceFailure } from "./mirror-reasons.ts";
import type { LoadOptions, TrackLoader } from "./track-loader.ts";

/** Results of a search that are compared. */
const RESULTS_MAX = 10;
/** Results of a search whose links are asked for. */
const RESOLVES_MAX = 3;
/** How long a site has to give the link of one result. */
const RESOLVE_TIMEOUT_MS = 5000;
/** A search gets no less of the time that is left. */
const SHARE_MIN_MS = 2000;
const SHOWN_LENGTH_MAX = 200;

/** What a search may take. */
export interface MirrorRequest {
  /** Whose player it is. */
  readonly owner: Owner;
  /** Found before, and not playable either. */
  readonly tried: readonly Track[];
  readonly signal: AbortSignal;
}

export interface MirrorSearchOptions {
  readonly loader: {
    load(identifier: string, options: LoadOptions): Promise<LoadResult>;
  } & Pick<TrackLoader, "playableInput">;
  readonly links: { link(request: LinkRequest, options: { readonly signal: AbortSignal }): Promise<PlayableLink> };
  readonly providers: MirrorProviders;
  /** The sources that an owner may use at this moment; undefined: all. */
  readonly allowedFor: (owner: Owner) => AllowedSources | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Candidate = Pick<Track, "encoded" | "info" | "pluginInfo">;
type ScoredMirror = Omit<Mirror, "provider">;

/** Why a track cannot be played. */
interface Refusal {
  readonly code: string;
  readonly text: string;
}

/** Its methods reject with the reason of the signal only. */
export class MirrorSearch {
  readonly #options: MirrorSearchOptions;
  readonly #request: MirrorRequest;
  readonly #wanted: Track;
  readonly #endMs: number;
  readonly #allowed: AllowedSources | undefined;
  /** Prefixes that answered. */
  readonly #searched = new Set<string>();
  /** Why others did not, or what they have cannot be played. */
  readonly #troubles: string[] = [];
  readonly #refused: TrackInfo[] = [];
  /** Those that others might search. */
  readonly #forbidden = new Set<SearchTemplate>();
  #isForAll: boolean;

  /** `wanted`: the track, with its ISRC as far as it is known. `endMs`: on the clock. */
  constructor(
    options: MirrorSearchOptions,
    request: MirrorRequest & { readonly wanted: Track; readonly endMs: number },
  ) {
    this.#options = options;
    this.#request = request;
    this.#wanted = request.wanted;
    this.#endMs = request.endMs;
    this.#allowed = options.allowedFor(request.owner);
    this.#isForAll = request.tried.length === 0 || !hasToken(request.wanted);
  }

  /** Nothing that is only so for this client has decided: its key, its share, or a token in its user data. */
  get isForAll(): boolean {
    return this.#isForAll;
  }

  /** Everybody was asked and has answered: the result would be the same for everybody, and a minute later. */
  get isConclusive(): boolean {
    const isFirst = this.#isForAll && this.#request.tried.length === 0;
    return isFirst && this.#troubles.length === 0 && this.#searched.size > 0;
  }

  /** A sentence for the client: where was looked, and why not elsewhere. */
  get missText(): string {
    const [first = "no source that could have it is on", ...more] = this.#troubles;
    const searched = [...this.#searched].join(", ");
    const parts =
      searched === ""
        ? [`The same recording was not found: ${first}`, ...more]
        : [`The same recording was looked for elsewhere (${searched}) and not found`, ...this.#troubles];
    return `${parts.join("; ")}.`;
  }

  /** The same recording, from the first provider that has it in a form that can be played. */
  async run(templates: readonly SearchTemplate[]): Promise<Mirror | undefined> {
    const { clock } = this.#options;
    // Those that cannot be asked take no share of the time.
    const searches = templates.flatMap((template) => {
      const identifier = this.#identifierOf(template);
      return identifier === undefined ? [] : [{ template, identifier }];
    });
    const unused = templates.find(({ isByIsrc }) => isByIsrc);
    if (searches.length === 0 && unused !== undefined && plainIsrc(this.#wanted.info.isrc) === undefined) {
      this.#note(`${unused.prefix} could not be searched (the track has no ISRC)`);
    }
    for (const [index, { template, identifier }] of searches.entries()) {
      const leftMs = this.#endMs - clock.now();
      if (leftMs <= 0) {
        this.#note(`${template.prefix} could not be searched (no time was left)`);
        continue;
      }
      // One that does not answer leaves the others their time.
      const shareMs = Math.max(leftMs / (searches.length - index), Math.min(SHARE_MIN_MS, leftMs));
      const found = await this.#ask(template, identifier, clock.now() + shareMs);
      if (found === undefined) continue;
      const earlier = templates.slice(0, templates.indexOf(template));
      if (earlier.some((other) => this.#forbidden.has(other))) this.#isForAll = false;
      return { ...found, provider: template.text };
    }
    return undefined;
  }

  /** Whether a track can be played by this owner: undefined, or why not. `untilMs`: on the clock. */
  async refusalOf(track: Track, untilMs: number): Promise<Refusal | undefined> {
    const { loader, links, clock } = this.#options;
    const { owner, signal } = this.#request;
    if (this.#isForbidden(track.info.sourceName)) {
      return { code: "key-forbidden", text: `this key may not use ${track.info.sourceName}` };
    }
    try {
      const { userData } = this.#wanted;
      const input = loader.playableInput({ ...track, userData });
      if (input.kind !== "site") return undefined;
      const timeoutMs = Math.min(RESOLVE_TIMEOUT_MS, untilMs - clock.now());
      // Its worker is about to ask for the same one, which is kept until then.
      const link = await withinTime({ clock, signal, timeoutMs }, (bounded) => {
        return links.link({ track: input.track, owner, reason: "start" }, { signal: bounded });
      });
      const isPreview = link.kind === "link" && link.isPreview === true;
      return isPreview ? { code: "site-unavailable", text: "only a preview of it is available" } : undefined;
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = toWireError(error);
      return { code, text: shown(message) };
    }
  }

  /** Undefined: the template cannot be asked for this track. */
  #identifierOf(template: SearchTemplate): string | undefined {
    const { info, pluginInfo } = this.#wanted;
    const { albumName } = pluginInfo;
    const album = typeof albumName === "string" ? albumName : undefined;
    const identifier = fillTemplate(template, { info, album });
    // Most have others beside it.
    if (identifier === undefined && template.isByIsrc) return undefined;
    const obstacle = this.#options.providers.obstacleTo(template, info.sourceName) ?? this.#limitOn(template);
    const trouble = identifier === undefined ? "the track has no title" : obstacle;
    if (trouble !== undefined) this.#note(`${template.prefix} could not be searched (${trouble})`);
    return trouble === undefined ? identifier : undefined;
  }

  /** What keeps this client from a search that others may use. */
  #limitOn(template: SearchTemplate): string | undefined {
    const claimant = this.#options.providers.claimantOf(template);
    if (claimant === undefined || !this.#isForbidden(claimant)) return undefined;
    this.#forbidden.add(template);
    return `this key may not use ${claimant}`;
  }

  #isForbidden(sourceName: string): boolean {
    return this.#allowed?.has(sourceName) === false;
  }

  async #ask(template: SearchTemplate, identifier: string, untilMs: number): Promise<ScoredMirror | undefined> {
    const { prefix } = template;
    const { clock, logger } = this.#options;
    const result = await this.#load(identifier, untilMs - clock.now());
    if (result.kind === "error") {
      const reason = shown(result.error.message);
      if (!isSourceFailure(result.error.code)) this.#isForAll = false;
      logger.debug("search for a mirror failed", { provider: template.text, reason });
      this.#note(`${prefix} could not be searched (${reason})`);
      return undefined;
    }
    this.#searched.add(prefix);
    for (const { encoded, score, reasons } of this.#bestOf(candidatesOf(result))) {
      const track = decodedTrack(encoded);
      if (track === undefined) continue;
      if (clock.now() >= untilMs) {
        this.#note(`what ${prefix} has could not be checked (no time was left)`);
        break;
      }
      const refusal = await this.refusalOf(track, untilMs);
      if (refusal === undefined) return { track, score: Math.round(score * 100) / 100, reasons };
      this.#refused.push(track.info);
      if (!isSourceFailure(refusal.code) || hasToken(this.#wanted)) this.#isForAll = false;
      this.#note(`what ${prefix} has could not be played (${refusal.text})`);
    }
    return undefined;
  }

  /** A failure is a result. */
  async #load(identifier: string, timeoutMs: number): Promise<LoadResult> {
    const { owner, signal } = this.#request;
    const { loader, clock } = this.#options;
    const allowed = this.#allowed;
    try {
      return await withinTime({ clock, signal, timeoutMs }, (bounded) => {
        return loader.load(identifier, { owner: playingOwnerOf(owner), signal: bounded, allowed });
      });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "error", error: toWireError(error) };
    }
  }

  /** The best first. */
  #bestOf(candidates: readonly Candidate[]): readonly (Candidate & Omit<ScoredMirror, "track">)[] {
    const { info: wanted } = this.#wanted;
    const same = candidates
      .filter((candidate) => this.#isPossible(candidate))
      .map((candidate) => ({ ...candidate, ...scoreRecording(wanted, candidate.info) }))
      .filter(({ score }) => score > 0);
    const usable = same.filter(({ info }) => !this.#isForbidden(info.sourceName));
    if (usable.length < same.length) this.#isForAll = false;
    return usable.toSorted((a, b) => b.score - a.score).slice(0, RESOLVES_MAX);
  }

  #isPossible({ info, pluginInfo }: Candidate): boolean {
    const { sourceName, isStream } = info;
    const gone = [...this.#request.tried.map((track) => track.info), ...this.#refused];
    return (
      !isStream &&
      pluginInfo?.isPreview !== true &&
      sourceName !== this.#wanted.info.sourceName &&
      !this.#options.providers.isMirrored(sourceName) &&
      !gone.some((other) => isSameItem(other, info))
    );
  }

  #note(trouble: string): void {
    if (!this.#troubles.includes(trouble)) this.#troubles.push(trouble);
  }
}

interface TimeBound {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Rejects when the work takes longer, also when that does not listen to its signal. */
export async function withinTime<Value>(
  { clock, signal, timeoutMs }: TimeBound,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const deadline = new AbortController();
  const timer = clock.after(timeoutMs, () => {
    const seconds = (Math.max(0, timeoutMs) / 1000).toFixed(1);
    deadline.abort(new NodeError("load-timeout", `no answer within ${seconds} s`));
  });
  const both = AbortSignal.any([signal, deadline.signal]);
  try {
    both.throwIfAborted();
    return await unlessAborted(work(both), both);
  } finally {
    timer.cancel();
  }
}

/** The first results of a search. */
function candidatesOf(result: LoadResult): readonly Candidate[] {
  if (result.kind === "track") return [result.track];
  if (result.kind !== "search" && result.kind !== "playlist") return [];
  const { tracks } = result.kind === "search" ? result : result.playlist;
  const [part] = isWritten(tracks) ? tracks.parts : [];
  const listed = isWritten(tracks) ? (part === undefined ? [] : readPart(part)) : tracks;
  return listed.slice(0, RESULTS_MAX);
}

/** Undefined: its plugin has written nonsense. */
function decodedTrack(encoded: string): Track | undefined {
  try {
    return decodeTrack(encoded);
  } catch {
    return undefined;
  }
}

/** Its user data has what decides what its client can play; libraries put other members there, such as the requester. */
export function hasToken({ userData }: Track): boolean {
  return typeof userData["oauth-token"] === "string";
}

export function isSameItem(a: TrackInfo, b: TrackInfo): boolean {
  return a.sourceName === b.sourceName && a.identifier === b.identifier;
}

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX);
}
