// Plays tracks from other sources: those whose source has no audio (mirrors), and those that their source could not
// play (`fallback`). Finds the same recording, and remembers it. Main thread; one for the node, used by
// players.

import type { SiteTrack } from "../../bridge/playable-input.ts";
import type { WireError } from "../../bridge/wire-error.ts";
import { AccountBuckets } from "../../lib/account-buckets.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import { plainIsrc } from "../../recordings/search-template.ts";
import { decodeTrack, type Track } from "../../track/track.ts";
import { type Mirror, MirrorMemory } from "./mirror-memory.ts";
import { type MirroredSource, MirrorProviders, type MirrorProvidersOptions } from "./mirror-providers.ts";
import { isMirrorFailure, isSourceFailure } from "./mirror-reasons.ts";
import {
  hasToken,
  isSameItem,
  type MirrorRequest,
  MirrorSearch,
  type MirrorSearchOptions,
  withinTime,
} from "./mirror-search.ts";

/** How long one look for a track takes at most, shared out among the providers that are left. */
const SEARCH_TIMEOUT_MS = 10_000;
/** How much of that its own source may take to say its ISRC. */
const ISRC_TIMEOUT_MS = 3000;
/** How much of that the site of an earlier choice may take to give its link again. */
const RECALL_TIMEOUT_MS = 2000;
/** Misses of each account that are logged: so many, then one an hour. */
const ACCOUNT_LINES = { burst: 20, perSecond: 1 / 3600 };

/** What one look has led to. */
export type MirrorResult =
  | { readonly mirror: Mirror }
  /**
   * `missText`: a sentence for the client: where was looked, and why not elsewhere. `isLogged`: it is to be logged, as
   * it is new, and its account has not had many of them.
   */
  | { readonly mirror: undefined; readonly missText: string; readonly isLogged: boolean };

/** How many tracks of a source were heard from another one. `to`: "none": they were looked for, and never heard. */
export interface MirrorCount {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

interface MirrorsOptions extends Omit<MirrorProvidersOptions, "loader">, Omit<MirrorSearchOptions, "providers"> {
  readonly loader: MirrorProvidersOptions["loader"] & MirrorSearchOptions["loader"];
  readonly links: MirrorSearchOptions["links"] & {
    /** The ISRC by which a mirrored source knows its track, if it does. */
    isrcOf(track: SiteTrack, options: WorkOptions): Promise<string | undefined>;
  };
}

interface FindOptions extends MirrorRequest {
  /** When the search has to be over, on the clock. Default: after 10 s, as in any case. */
  readonly untilMs?: number | undefined;
}

export class Mirrors {
  readonly #options: MirrorsOptions;
  readonly #providers: MirrorProviders;
  readonly #memory: MirrorMemory;
  readonly #missLines: AccountBuckets;
  readonly #counts = { mirrors: new Map<string, MirrorCount>(), fallbacks: new Map<string, MirrorCount>() };

  constructor(options: MirrorsOptions) {
    this.#options = options;
    this.#providers = new MirrorProviders(options);
    this.#memory = new MirrorMemory(options.clock);
    this.#missLines = new AccountBuckets({ clock: options.clock, ...ACCOUNT_LINES });
  }

  /** Counts of tracks whose source has no audio. */
  get mirrorCounts(): readonly MirrorCount[] {
    return [...this.#counts.mirrors.values()];
  }

  /** Counts of tracks that their source could not play. */
  get fallbackCounts(): readonly MirrorCount[] {
    return [...this.#counts.fallbacks.values()];
  }

  /** The mirrored sources that are on, with the search prefixes by which their tracks are found. */
  get mirrored(): readonly MirroredSource[] {
    return this.#providers.mirrored;
  }

  /** Whether the track's source has no audio for it. */
  isNeeded(track: Track): boolean {
    return this.#providers.isMirrored(track.info.sourceName) && !track.info.isStream && !isPreview(track);
  }

  /**
   * Whether a track that failed with this error is looked for elsewhere. `hasMirror`: what failed was its mirror. For
   * the track itself: before any of it was audible.
   */
  isFor(
    track: Track,
    { code }: Pick<WireError, "code">,
    { hasMirror = false }: { readonly hasMirror?: boolean } = {},
  ): boolean {
    if (track.info.isStream || isPreview(track)) return false;
    if (hasMirror) return isMirrorFailure(code);
    if (!isSourceFailure(code)) return false;
    if (code === "mirror-needed" || this.isNeeded(track)) return true;
    return this.#providers.fallbackFor(track.info.sourceName).length > 0;
  }

  /**
   * The same recording on another source that its owner may use. Takes 10 s at most. Rejects with the reason of the
   * signal.
   */
  async find(track: Track, { untilMs = Number.POSITIVE_INFINITY, ...request }: FindOptions): Promise<MirrorResult> {
    const { clock } = this.#options;
    const endMs = Math.min(untilMs, clock.now() + SEARCH_TIMEOUT_MS);
    const known = await this.#recall(track, { ...request, endMs });
    return known ?? (await this.#search(track, { ...request, endMs }));
  }

  /** This mirror of the track has failed: it is looked for again. */
  forget(track: Track, mirror: Track): void {
    if (this.#memory.outcomeOf(track)?.mirror?.encoded === mirror.encoded) this.#memory.forget(track);
  }

  /** To be called once for a track: when its first mirror is heard, or when it ends without (`undefined`). */
  count(track: Track, mirror: Track | undefined): void {
    const counts = this.isNeeded(track) ? this.#counts.mirrors : this.#counts.fallbacks;
    const [from, to] = [track.info.sourceName, mirror?.info.sourceName ?? "none"];
    const key = JSON.stringify([from, to]);
    counts.set(key, { from, to, count: (counts.get(key)?.count ?? 0) + 1 });
  }

  /** Logs a warning for each provider that leads nowhere. */
  warnOfUnknown(): void {
    this.#providers.warn();
  }

  /** The earlier outcome, if it is still valid. */
  async #recall(track: Track, request: MirrorRequest & { endMs: number }): Promise<MirrorResult | undefined> {
    const known = this.#memory.outcomeOf(track);
    if (known === undefined) return undefined;
    const { owner, tried } = request;
    if (known.mirror === undefined) return tried.length === 0 ? { ...known, isLogged: false } : undefined;
    const { encoded, ...more } = known.mirror;
    const mirror = { ...more, track: decodeTrack(encoded) };
    const { info } = mirror.track;
    // It is good for others.
    if (this.#options.allowedFor(owner)?.has(info.sourceName) === false) return undefined;
    const isTried = tried.some((other) => isSameItem(other.info, info));
    const untilMs = Math.min(request.endMs, this.#options.clock.now() + RECALL_TIMEOUT_MS);
    const search = this.#newSearch({ ...request, wanted: track });
    const refusal = isTried ? undefined : await search.refusalOf(mirror.track, untilMs);
    if (!isTried && refusal === undefined) return { mirror };
    // What a token of this client, or its share, decides is nothing to others.
    if (refusal === undefined || (isSourceFailure(refusal.code) && !hasToken(track))) this.#memory.forget(track);
    return undefined;
  }

  async #search(track: Track, request: MirrorRequest & { endMs: number }): Promise<MirrorResult> {
    const isrc = await this.#isrcOf(track, request);
    const wanted = isrc === undefined ? track : { ...track, info: { ...track.info, isrc } };
    const search = this.#newSearch({ ...request, wanted });
    const mirror = await search.run(this.#providers.for(track.info.sourceName));
    if (mirror !== undefined) {
      if (search.isForAll) this.#memory.keepMirror(track, mirror, request.owner);
      return { mirror };
    }
    const { missText } = search;
    if (search.isConclusive) this.#memory.keepMiss(track, missText, request.owner);
    return { mirror: undefined, missText, isLogged: this.#missLines.of(request.owner).take(1) };
  }

  /** Its own, or the one that its source knows. */
  async #isrcOf(track: Track, request: MirrorRequest & { endMs: number }): Promise<string | undefined> {
    const own = plainIsrc(track.info.isrc);
    if (own !== undefined || !this.isNeeded(track)) return own;
    const learned = this.#memory.learnedIsrcOf(track);
    if (learned !== undefined) return learned.isrc;
    const { loader, links, clock } = this.#options;
    const { owner, signal, endMs } = request;
    const timeoutMs = Math.min(ISRC_TIMEOUT_MS, endMs - clock.now());
    try {
      const input = loader.playableInput(track);
      if (input.kind !== "site") return undefined;
      const isrc = plainIsrc(
        await withinTime({ clock, signal, timeoutMs }, (bounded) => {
          return links.isrcOf(input.track, { owner, signal: bounded });
        }),
      );
      this.#memory.learnIsrc(track, isrc, owner);
      return isrc;
    } catch {
      signal.throwIfAborted();
      // It is a help.
      return undefined;
    }
  }

  #newSearch(request: ConstructorParameters<typeof MirrorSearch>[1]): MirrorSearch {
    return new MirrorSearch({ ...this.#options, providers: this.#providers }, request);
  }
}

/** Its site has the first seconds of it, which is what its client asked for. */
function isPreview({ pluginInfo, details }: Track): boolean {
  return pluginInfo.isPreview === true || (details.kind === "album" && details.isPreview);
}
