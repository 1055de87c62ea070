// What a filter says about itself: the door into a player's sound chain (builtin.ts). A definition has no state; what
// it creates belongs to one player. What members it has, and when it is off, stands in the filter table. Audio thread.

import {
  activeSettingsIn,
  type FilterName,
  type FilterSettings,
  type SettingsOf,
} from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";

/** A filter that gives as many samples as it takes. */
export interface FilterDefinition {
  readonly name: FilterName;
  /**
   * The filter with its settings in `filters`; undefined where they leave it off. `previous` is what this definition
   * created before, still at work: its state (phases, what was heard) is copied, never shared, because the old one goes
   * on for the length of a cross-fade.
   */
  create(filters: FilterSettings, previous: AudioFilter | undefined): AudioFilter | undefined;
}

/** `create` makes a `type` from settings that are checked and filled in, and would change the sound. */
export function defineFilter<Name extends FilterName, Filter extends AudioFilter>(
  name: Name,
  type: abstract new (...parameters: never[]) => Filter,
  create: (settings: SettingsOf<Name>, previous: Filter | undefined) => Filter,
): FilterDefinition {
  return {
    name,
    create(filters, previous) {
      const settings = activeSettingsIn(filters, name);
      return settings === undefined ? undefined : create(settings, previous instanceof type ? previous : undefined);
    },
  };
}
