// The filters object of PATCH player: checked against the published ranges, and normalised to the form that is stored
// and echoed (protocol-v4.md section 3.3). Main thread. Where the published server accepts a value that later kills the
// track, we refuse it here.

import type { FilterEntry } from "../../filters/filter-entry.ts";
import {
  type FilterSettings,
  isReservedFilterName,
  type ModuleFilterSettings,
  type PluginFilterSettings,
  PROTOCOL_FILTER_NAMES,
  type SettingsOf,
  SWITCHED_FILTER_NAMES,
} from "../../filters/filter-settings.ts";
import { FILTER_TABLE } from "../../filters/filter-table.ts";
import type { ModuleFilters } from "../../filters/module-filters.ts";
import type { Limits } from "../access/identity.ts";
import { type FiltersBody, moduleFilterBody } from "../protocol/filter-schemas.ts";
import { ApiError } from "./api-error.ts";
import { checkFilters } from "./filter-ranges.ts";

const {
  "lavadspx.echo": lavadspxEcho,
  "lavalink-filter-plugin.echo": echo,
  "lavalink-filter-plugin.reverb": reverb,
  ...lavadspx
} = FILTER_TABLE.lavalinkPlugins;
/** By their names in `pluginFilters`; an echo is that of one plugin or the other. */
const FLAT = { ...lavadspx, reverb };
/** By their names in `pluginFilters["lavalink-filter-plugin"]`. */
const NESTED = { echo, reverb };

/** Without those of the protocol, which are no filters in `pluginFilters`; a v3 body has them there as well. */
const SWITCHED_PLUGIN_FILTERS = new Set(
  SWITCHED_FILTER_NAMES.filter((name) => !PROTOCOL_FILTER_NAMES.some((own) => own === name)),
);

const NO_FILTERS: ModuleFilters = { find: () => undefined, onLeftOut: () => undefined };

type PluginFiltersBody = NonNullable<FiltersBody["pluginFilters"]>;
type EchoSettings = SettingsOf<"lavadspx.echo"> | SettingsOf<"lavalink-filter-plugin.echo">;

/** The names of the filters in the body, as they can be switched off: Tonearm's own are one. */
export function filtersIn(body: FiltersBody, moduleFilters = NO_FILTERS): readonly string[] {
  const { "lavalink-filter-plugin": nested, ...flat } = body.pluginFilters ?? {};
  const ofPlugins = [...Object.entries(flat), ...Object.entries(nested ?? {})];
  const names = ofPlugins
    .filter(([, settings]) => settings !== undefined)
    .map(([name]) => name)
    .filter((name) => SWITCHED_PLUGIN_FILTERS.has(name) || moduleFilters.find(name) !== undefined);
  return [...PROTOCOL_FILTER_NAMES.filter((name) => body[name] !== undefined), ...new Set(names)];
}

/** Which filters may be used, by their names in `filtersIn`. */
interface FilterBounds {
  readonly disabledFilters: ReadonlySet<string>;
  readonly limits: Pick<Limits, "filters">;
}

/** Checked settings without the filters that may not be used; the same object when all may. */
export function allowedFilters<Filters extends object>(filters: Filters, bounds: FilterBounds): Filters {
  const { disabledFilters, limits } = bounds;
  const before = Object.entries(filters);
  const after = before.flatMap(([name, settings]) => {
    if (name === "pluginFilters" || name === "lavalink-filter-plugin") {
      const allowed = allowedFilters(settings, bounds);
      return isEmpty(allowed) ? [] : [[name, allowed] as const];
    }
    return disabledFilters.has(name) || limits.filters?.has(name) === false ? [] : [[name, settings] as const];
  });
  const isSame =
    after.length === before.length && after.every(([, settings], index) => settings === before[index]?.[1]);
  return isSame ? filters : (Object.fromEntries(after) as Filters); // every member may be absent
}

/** Every present filter with all members, as it is stored and echoed. Throws a 400 that names field and range. */
export function checkedFilterSettings(body: FiltersBody, moduleFilters = NO_FILTERS): FilterSettings {
  const settings = present(FILTER_TABLE.protocol, body);
  checkFilters(settings, FILTER_TABLE.protocol, "filters");
  const { pluginFilters: ofPlugins } = body;
  const pluginFilters = {
    ...checkedPluginFilters(ofPlugins ?? {}),
    ...checkedModuleFilters(ofPlugins ?? {}, moduleFilters),
  };
  return isEmpty(pluginFilters) ? settings : { ...settings, pluginFilters };
}

/** Those of Lavalink's plugins are left out while they are off, and empty objects, as the published server does. */
function checkedPluginFilters(body: PluginFiltersBody): PluginFilterSettings {
  const path = "filters.pluginFilters";
  const tonearm = present(FILTER_TABLE.tonearm, body.tonearm ?? {});
  checkFilters(tonearm, FILTER_TABLE.tonearm, `${path}.tonearm`);
  const flat = present(FLAT, body);
  checkFilters(flat, FLAT, path);
  const nested = present(NESTED, body["lavalink-filter-plugin"] ?? {});
  checkFilters(nested, NESTED, `${path}.lavalink-filter-plugin`);
  const ofFilterPlugin = onlyActive(NESTED, nested);
  return {
    ...(!isEmpty(tonearm) && { tonearm }),
    ...onlyActive(FLAT, flat),
    ...(body.echo && checkedEcho(body.echo, path)),
    ...(!isEmpty(ofFilterPlugin) && { "lavalink-filter-plugin": ofFilterPlugin }),
  };
}

/**
 * Of plugins. Those that no plugin has are dropped, as the published server does, and those that cannot be set, as
 * clients send all filters with each track.
 */
function checkedModuleFilters(
  body: Readonly<Record<string, unknown>>,
  moduleFilters: ModuleFilters,
): Readonly<Record<string, ModuleFilterSettings>> {
  const entries = Object.entries(body).flatMap(([name, value]) => {
    const filter = value === null || isReservedFilterName(name) ? undefined : moduleFilters.find(name);
    if (filter?.trouble !== undefined) moduleFilters.onLeftOut(name);
    if (filter === undefined || filter.trouble !== undefined) return [];
    const path = `filters.pluginFilters.${name}`;
    const { data: settings, error } = moduleFilterBody(filter.entry).safeParse(value);
    const [problem] = error?.issues ?? [];
    if (problem !== undefined) throw new ApiError(400, `${[path, ...problem.path].join(".")}: ${problem.message}`);
    if (!settings) return [];
    checkFilters({ [name]: settings }, { [name]: filter.entry }, "filters.pluginFilters");
    return [[name, settings] as const];
  });
  return Object.fromEntries(entries);
}

/** With `delay` it is that of lavalink-filter-plugin, unless its `echoLength` is on. */
function checkedEcho(
  { echoLength = 0, delay, decay }: NonNullable<PluginFiltersBody["echo"]>,
  path: string,
): { readonly echo?: EchoSettings } {
  if (delay !== undefined && echoLength <= 0) {
    const settings = { echo: { delay, decay } };
    checkFilters(settings, { echo }, path);
    return onlyActive({ echo }, settings);
  }
  const settings = { echo: { echoLength, decay } };
  checkFilters(settings, { echo: lavadspxEcho }, path);
  return onlyActive({ echo: lavadspxEcho }, settings);
}

/** Without those that leave the audio unchanged. */
function onlyActive<Filters extends object>(
  table: { readonly [Name in keyof Filters]: Pick<FilterEntry, "isOff"> },
  filters: Filters,
): Partial<Filters> {
  const names = Object.keys(filters) as (keyof Filters)[]; // made by `present`, or here
  const active = names.filter((name) => !table[name].isOff(filters[name] as never)); // checked by the same entry
  return Object.fromEntries(active.map((name) => [name, filters[name]])) as Partial<Filters>;
}

function isEmpty(filters: object): boolean {
  return Object.keys(filters).length === 0;
}

/** The entries of the table that the body has, in the table's order. */
function present<Table extends object, Body extends { readonly [Name in keyof Table]?: unknown }>(
  table: Table,
  body: Body,
): { readonly [Name in keyof Table]?: NonNullable<Body[Name]> } {
  const names = Object.keys(table) as (keyof Table)[]; // it is a literal
  const entries = names.map((name) => [name, body[name]] as const);
  const present = entries.filter(([, settings]) => settings !== undefined && settings !== null);
  return Object.fromEntries(present) as { [Name in keyof Table]?: NonNullable<Body[Name]> }; // under their own names
}
