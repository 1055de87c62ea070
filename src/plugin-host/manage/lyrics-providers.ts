// The lyrics of a track: asks the plugins that provide them, one after the other. Main thread; asked by the routes of
// lyrics.

import type { FoundLyrics } from "../../bridge/plugin-extensions.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import { Tally } from "../../control/access/tally.ts";
import type { TrackLoader } from "../../control/sources/track-loader.ts";
import { NodeError } from "../../errors.ts";
import { canonicalName } from "../../lib/canonical-name.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Track } from "../../track/track.ts";
import type { InstalledPlugin } from "./installed-plugin.ts";

const LYRICS_TIMEOUT_MS = 15_000;
/** For the shares of loads: many players at once do not delay their account's searches. */
const SITE = "lyrics";

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
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Provider {
  readonly plugin: InstalledPlugin;
  readonly index: number;
  readonly name: string;
  /** Undefined: it is asked for tracks of all sources. */
  readonly sources: readonly string[] | undefined;
}

/** Neither: there are none. */
interface Asked {
  readonly lyrics?: FoundLyrics | undefined;
  readonly failure?: unknown;
}

/** One for the node. */
export class LyricsProviders {
  readonly #options: LyricsProvidersOptions;
  readonly #order: readonly string[];
  readonly #warnings = new Map<string, Tally>();

  constructor(options: LyricsProvidersOptions) {
    this.#options = options;
    this.#order = options.order.map(canonicalName);
  }

  /** Whether there is anybody to ask. */
  get isAvailable(): boolean {
    return this.#options.plugins().some(({ manifest }) => (manifest?.lyricsProviders ?? []).length > 0);
  }

  /**
   * Undefined: nobody has any. Rejects where all who might have some failed, with the error of the last one, with
   * `load-busy`, `load-timeout`, or the reason of `signal`.
   */
  async find(track: Track, options: LyricsOptions): Promise<FoundLyrics | undefined> {
    const providers = this.#providersFor(track.info.sourceName, options);
    if (providers.length === 0) return undefined;
    const asked = await this.#options.loader
      .share((signal) => this.#askEach(providers, track, { ...options, signal }), { ...options, site: SITE })
      .catch((error: unknown) => {
        options.signal.throwIfAborted();
        this.#warn("lyrics: looking for them was broken off", error);
        throw error;
      });
    if (asked.failure !== undefined) throw asked.failure;
    return asked.lyrics;
  }

  async #askEach(providers: readonly Provider[], track: Track, options: LyricsOptions): Promise<Asked> {
    const failures: unknown[] = [];
    for (const provider of providers) {
      const { lyrics, failure } = await this.#ask(provider, track, options);
      if (lyrics !== undefined) return { lyrics };
      if (failure !== undefined) failures.push(failure);
    }
    return failures.length === providers.length ? { failure: failures.at(-1) } : {};
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
  ): Promise<Asked> {
    const command = { type: "lyrics" as const, index, name, encoded, owner, sources: allowed?.names };
    try {
      const { lyrics } = await plugin.runner.request(command, { signal, timeoutMs: LYRICS_TIMEOUT_MS });
      return { lyrics };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NodeError && error.fault === "caller") {
        // That is an answer: it has none for this track.
        this.#options.logger.debug(`lyrics: ${name} refuses a track`, { reason: error.message });
        return {};
      }
      this.#warn(`lyrics: ${name} failed`, error);
      return { failure: error };
    }
  }

  /** Once a minute at most. `message`: one of few. */
  #warn(message: string, error: unknown): void {
    const tally = this.#warnings.get(message) ?? new Tally(this.#options, message);
    this.#warnings.set(message, tally);
    tally.count({ reason: messageOf(error) });
  }
}
