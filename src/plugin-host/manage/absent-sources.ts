// Sources that the node knows of and does not have at the moment: its own that are off, and services that it has no
// source for. Their links and searches get an answer that says so, instead of a web page that is no audio. Main thread;
// asked by the track loader for what no other source takes.

import { AccountBuckets } from "../../lib/account-buckets.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import type { Logger } from "../../log/log.ts";
import type { Claims } from "../../plugin-api/plugin.ts";
import { isClaimed } from "./claims.ts";

/** Unknown prefixes that were warned of are remembered; for each account so many are warned of, then one an hour. */
const WARNED_MAX = 500;
const ACCOUNT_WARNINGS = { burst: 20, perSecond: 1 / 3600 };
/** What a search may begin with: a word and a colon. Addresses have a scheme there. */
const PREFIX = /^(?!(?:https?|icy):)[a-z][a-z\d_-]{1,23}:/;

/** A source that may be absent: it counts only while no source has its name. */
export interface AbsentSource {
  /** As in a track's `sourceName`. */
  readonly name: string;
  /** Why it is absent, and what turns it on: `youtube is off on this node: set plugins.youtube.enabled: true`. */
  readonly reason: string;
  /** Which of its identifiers are refused; the others find nothing, as in Lavalink. */
  readonly refused: "all" | "links" | "none";
  readonly claims: Pick<Claims, "prefixes" | "hosts">;
}

interface AbsentSourcesOptions {
  readonly sources: readonly AbsentSource[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export class AbsentSources {
  readonly #sources: readonly AbsentSource[];
  readonly #logger: Logger;
  /** Names of sources that were warned of; with the prefix for those that do not exist. */
  readonly #warnedSources = new Set<string>();
  readonly #warnedPrefixes = new BoundedMap<string, true>(WARNED_MAX);
  readonly #warnings: AccountBuckets;

  constructor({ sources, clock, logger }: AbsentSourcesOptions) {
    this.#sources = sources;
    this.#logger = logger;
    this.#warnings = new AccountBuckets({ clock, ...ACCOUNT_WARNINGS });
  }

  /**
   * The absent source that would take the identifier, where it is refused: a link of a known service, or a prefix of a
   * source that is off. Warns once of each source and prefix that is asked for in vain. `present`: the names of the
   * sources that there are.
   */
  refusing(
    identifier: string,
    { present, owner }: { readonly present: readonly string[]; readonly owner: Owner },
  ): AbsentSource | undefined {
    const source = this.#sources.find(({ name, claims }) => !present.includes(name) && isClaimed(identifier, claims));
    if (source === undefined) {
      this.#warnOfPrefix(PREFIX.exec(identifier)?.[0], owner);
      return undefined;
    }
    const prefix = source.claims.prefixes?.find((start) => PREFIX.test(start) && identifier.startsWith(start));
    // A source that is off is told once; the prefixes of one that does not exist are told one by one.
    const asked = source.refused === "links" ? `${source.name} ${prefix ?? ""}` : source.name;
    if (!this.#warnedSources.has(asked))
      this.#logger.warn(source.reason, prefix === undefined ? {} : { asked: prefix });
    this.#warnedSources.add(asked);
    const isRefused = source.refused === "all" || (source.refused === "links" && prefix === undefined);
    return isRefused ? source : undefined;
  }

  /** Why the source of that name is absent; undefined for one that nothing is known of. */
  reasonOf(name: string): string | undefined {
    return this.#sources.find((source) => source.name === name)?.reason;
  }

  #warnOfPrefix(prefix: string | undefined, owner: Owner): void {
    if (prefix === undefined) return;
    if (this.#warnedPrefixes.get(prefix) === true || !this.#warnings.of(owner).take(1)) return;
    this.#warnedPrefixes.set(prefix, true);
    const advice = "a plugin in tonearm.plugins may add one";
    this.#logger.warn(`no source has the prefix "${prefix}": searches with it find nothing (${advice})`);
  }
}
