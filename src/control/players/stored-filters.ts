// Whether a value of unknown origin is filters that an audio worker may get: workers trust what they get, as the API
// has checked it when a client sent it. Main thread; for players that are read from a store.

import type { FilterEntry, Members, NumberMember } from "../../filters/filter-entry.ts";
import { type FilterName, type FilterSettings, moduleFiltersIn, settingsIn } from "../../filters/filter-settings.ts";
import { FILTER_TABLE } from "../../filters/filter-table.ts";
import { filterSettingsSchema } from "../protocol/filter-schemas.ts";

const ENTRIES: Readonly<Record<FilterName, FilterEntry>> = {
  ...FILTER_TABLE.protocol,
  ...FILTER_TABLE.tonearm,
  ...FILTER_TABLE.lavalinkPlugins,
};

/**
 * The filters that were stored; undefined when the value is none. `plainJson` makes bigints of integers beyond 2^53, which
 * settings are not.
 */
export function readFilterSettings(value: unknown): FilterSettings | undefined {
  const filters = withoutBigints(value);
  return areFilterSettings(filters) ? filters : undefined;
}

function withoutBigints(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutBigints(member)]));
}

/** Filters as they are stored: with all members, each of its kind and within its range. Those of plugins are flat. */
function areFilterSettings(value: unknown): value is FilterSettings {
  if (!filterSettingsSchema.safeParse(value).success) return false;
  // The value, as the result of the schema would lack what it lets pass under odd names.
  const filters = value as FilterSettings;
  const names = Object.keys(ENTRIES) as FilterName[]; // it is a literal
  const { pluginFilters = {} } = filters;
  const ofModules = pluginFilters as Readonly<Record<string, unknown>>; // the schema lets any others pass
  return (
    names.every((name) => isInRange(ENTRIES[name], settingsIn(filters, name))) &&
    moduleFiltersIn(filters).every((name) => isFlat(ofModules[name]))
  );
}

function isInRange(entry: FilterEntry, settings: unknown): boolean {
  if (settings === undefined) return true;
  switch (entry.kind) {
    case "number":
      return isNumberInRange(entry.value, settings);
    case "list": {
      const list = settings as readonly object[]; // by the schema of the same entry
      return list.length <= entry.countMax && list.every((item) => areMembersInRange(entry.members, item));
    }
    case "object": {
      const values = settings as Parameters<typeof entry.isOff>[0]; // as above
      return (entry.isFreeWhenOff === true && entry.isOff(values)) || areMembersInRange(entry.members, values);
    }
  }
}

function areMembersInRange(members: Members, values: object): boolean {
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.entries(members).every(([name, member]) => {
    const value = given.get(name);
    if ("numberType" in member) return isNumberInRange(member, value);
    return !("item" in member && Array.isArray(value)) || value.every((item) => isNumberInRange(member.item, item));
  });
}

function isNumberInRange({ min, max, isMinExcluded = false }: NumberMember, value: unknown): boolean {
  if (typeof value !== "number") return false;
  if (max !== undefined && value > max) return false;
  return min === undefined || (isMinExcluded ? value > min : value >= min);
}

/** As the settings of a plugin's filter are; only the plugin knows which. */
function isFlat(settings: unknown): boolean {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return false;
  return Object.values(settings).every((value) => ["number", "boolean", "string"].includes(typeof value));
}
