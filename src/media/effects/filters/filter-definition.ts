// How a filter registers in a player's effect chain (builtin.ts). A definition has no state; the filters it creates
// belong to one player. The filter table defines its members and when it is off. Audio thread.

import {
  activeSettingsIn,
  type FilterName,
  type FilterSettings,
  type SettingsOf,
} from "../../../filters/filter-settings.ts";
import type { AudioFilter } from "./audio-filter.ts";

/** A filter that outputs as many samples as it takes. */
export interface FilterDefinition {
  /** In the filter table, or of a filter of a plugin. */
  readonly name: string;
  /**
   * The filter with its settings in `filters`; undefined when they leave it off. `previous` is the filter that this
   * definition created before, still in use: its state (phases, past audio) is copied, never shared, because the old
   * one continues for the length of a cross-fade.
   */
  create(filters: FilterSettings, previous: AudioFilter | undefined): AudioFilter | undefined;
}

/** `create` makes a `type` from settings that are validated and complete, and that change the audio. */
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
