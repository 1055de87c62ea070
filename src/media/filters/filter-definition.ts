// What a filter says about itself: the one door into a player's sound chain, for our own filters (builtin.ts) and for those
// of plugins. A definition has no state; what it creates belongs to one player. Audio thread.

import type { AudioFilter } from "./audio-filter.ts";
import type { RateFilter } from "./rate-filter.ts";

interface NamedFilter {
  /** The key in the protocol's filters object, or with `plugin` in what stands under that name in its `pluginFilters`. */
  readonly name: string;
  readonly plugin?: string;
  /** False for settings that would leave the sound as it is: such a filter is not built. Never throws. */
  isEnabled(settings: unknown): boolean;
}

/** A filter that gives as many samples as it takes. */
export interface FilterDefinition extends NamedFilter {
  /**
   * A filter with these settings (checked and filled in by the control side; what is missing or nonsense all the same
   * becomes the default). `previous` is what this definition created before, still at work: its state (phases, what was
   * heard) is copied, never shared, because the old one goes on for the length of a cross-fade.
   */
  create(settings: unknown, previous?: AudioFilter): AudioFilter;
}

/** A filter that changes how long sound lasts; the chain has at most one. */
export interface RateFilterDefinition extends NamedFilter {
  create(settings: unknown): RateFilter;
}
