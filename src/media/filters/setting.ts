// Reads members of a filter's settings. The control side has checked and filled them in; here a value that is no usable
// number becomes its default all the same, so that nothing a client sends can break the sound. Audio thread.

import type { FilterSettings } from "../../bridge/commands.ts";
import {
  type ChoiceMember,
  type NumberMember,
  TONEARM_FILTERS,
  type TonearmFilterName,
  type TonearmSettings,
} from "../../bridge/tonearm-filters.ts";
import type { FilterDefinition } from "./filter-definition.ts";

/** `settings[member]` cut to `min` … `max`, or `fallback` where it is missing or not a finite number. */
export function numberSetting(
  settings: unknown,
  member: string,
  { fallback, min = -Number.MAX_VALUE, max = Number.MAX_VALUE }: { fallback: number; min?: number; max?: number },
): number {
  const value = memberOf(settings, member);
  if (typeof value !== "number" || !Number.isFinite(value)) return fallback;
  return Math.min(Math.max(value, min), max);
}

/** True when the filter is there at all: `null` is the same as absent. */
export function isPresent(settings: unknown): boolean {
  return typeof settings === "object" && settings !== null;
}

/** What the client sent for a filter: under its name, or that of a plugin and its own. */
export function settingsOf(
  { plugin, name }: Pick<FilterDefinition, "plugin" | "name">,
  filters: FilterSettings,
): unknown {
  return plugin === undefined ? filters[name] : memberOf(memberOf(filters.pluginFilters, plugin), name);
}

/** The settings of one of Tonearm's own, or undefined where the client has not asked for it. */
export function tonearmSettingsIn<Name extends TonearmFilterName>(
  filters: FilterSettings,
  name: Name,
): TonearmSettings<Name> | undefined {
  const settings = settingsOf({ plugin: "tonearm", name }, filters);
  return isPresent(settings) ? tonearmSettings(name, settings) : undefined;
}

/** Whether the client has asked for any of Tonearm's own. */
export function hasTonearmSettings({ pluginFilters }: FilterSettings): boolean {
  const settings = memberOf(pluginFilters, "tonearm");
  return isPresent(settings) && Object.values(settings as object).some(isPresent);
}

/** All members, by the table of the bridge: cut to their ranges, defaults where there is nothing usable. */
export function tonearmSettings<Name extends TonearmFilterName>(name: Name, settings: unknown): TonearmSettings<Name> {
  const members: Readonly<Record<string, NumberMember | ChoiceMember>> = TONEARM_FILTERS[name];
  const values = Object.entries(members).map(([member, known]) => {
    if (!("choices" in known))
      return [member, numberSetting(settings, member, { fallback: known.defaultValue, ...known })];
    const value = memberOf(settings, member);
    return [member, known.choices.some((choice) => choice === value) ? value : known.defaultValue];
  });
  return Object.fromEntries(values) as TonearmSettings<Name>; // one entry per member of the table
}

function memberOf(settings: unknown, member: string): unknown {
  return typeof settings === "object" && settings !== null ? Reflect.get(settings, member) : undefined;
}
