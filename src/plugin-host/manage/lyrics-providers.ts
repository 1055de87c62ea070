// The lyrics of a track: asks the plugins that provide them, one after the other. Main thread; asked by the routes of
// lyrics.

import type { FoundLyrics } from "../../bridge/plugin-extensions.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import type { TrackLoader } from "../../control/sources/track-loader.ts";
import { canonicalName } from "../../lib/canonical-name.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { InstalledPlugin } from "./installed-plugin.ts";

const LYRICS_TIMEOUT_MS = 15_000;

export interface LyricsOptions extends WorkOptions {
  /** The track's own source is not asked. */
  readonly isSourceSkipped: boolean;
  /** The sources that the client may use. Undefined: all. */
  readonly allowed: AllowedSources | undefined;
}

interface LyricsProvidersOptions {
  /** Those that are not off, in their order. */
  readonly plugins: () => readonly InstalledPlugin[];
  readonly loader: Pick<TrackLoader, "share">;
  /** Names of providers: these are asked first, in this order. */
  readonly order: readonly string[];
  readonly logger: Logger;
}

interface Provider {
  readonly plugin: InstalledPlugin;
  readonly index: number;
  readonly name: string;
  /** Undefined: it is asked for tracks of all sources. */
  readonly sources: readonly string[] | undefined;
}

/** One for the node. */
export class LyricsProviders {
  readonly #options: LyricsProvidersOptions;
  readonly #order: readonly string[];

  constructor(options: LyricsProvidersOptions) {
    this.#options = options;
    this.#order = options.order.map(canonicalName);
  }

  /** Whether there is anybody to ask. */
  get isAvailable(): boolean {
    return this.#options.plugins().some(({ manifest }) => (manifest?.lyricsProviders ?? []).length > 0);
  }

  /**
   * Undefined: nobody has any, or those who might have failed. Rejects with `load-busy`, `load-timeout`, or the reason of
   * `signal`.
   */
  async find(track: Track, options: LyricsOptions): Promise<FoundLyrics | undefined> {
    const providers = this.#providersFor(track.info.sourceName, options);
    if (providers.length === 0) return undefined;
    return this.#options.loader.share(async (signal) => {
      for (const provider of providers) {
        const lyrics = await this.#ask(provider, track, { ...options, signal });
        if (lyrics !== undefined) return lyrics;
      }
      return undefined;
    }, options);
  }

  /** The track's own source first, then the others in the operator's order. */
  #providersFor(sourceName: string, { isSourceSkipped, allowed }: LyricsOptions): readonly Provider[] {
    const all = this.#options.plugins().flatMap((plugin) => {
      const { lyricsProviders = [] } = plugin.manifest ?? {};
      return lyricsProviders.map(({ name, sources }, index): Provider => ({ plugin, index, name, sources }));
    });
    const isOwnAsked = !isSourceSkipped && allowed?.has(sourceName) !== false;
    const own = all.filter(({ sources }) => isOwnAsked && sources?.includes(sourceName));
    const others = all.filter(({ sources }) => sources === undefined);
    return [...own, ...others.toSorted((one, other) => this.#rankOf(one) - this.#rankOf(other))];
  }

  #rankOf({ name }: Provider): number {
    const rank = this.#order.indexOf(canonicalName(name));
    return rank < 0 ? this.#order.length : rank;
  }

  async #ask(
    { plugin, index, name }: Provider,
    { encoded }: Track,
    { owner, allowed, signal }: LyricsOptions,
  ): Promise<FoundLyrics | undefined> {
    const command = { type: "lyrics" as const, index, encoded, owner, sources: allowed?.names };
    try {
      const { lyrics } = await plugin.runner.request(command, { signal, timeoutMs: LYRICS_TIMEOUT_MS });
      return lyrics;
    } catch (error) {
      signal.throwIfAborted();
      // Those that keep failing are in the log by their circuit breaker.
      this.#options.logger.debug("lyrics: a provider failed, the next one is asked", { provider: name, error });
      return undefined;
    }
  }
}
