// The types of filter settings that cross the bridge, derived from the table: settings are checked and filled in once,
// where requests of clients arrive (the main thread), and trusted from then on. Both threads.

import type { SettingsOfEntry } from "./filter-entry.ts";
import { FILTER_TABLE } from "./filter-table.ts";

type ProtocolFilters = typeof FILTER_TABLE.protocol;
type TonearmFilters = typeof FILTER_TABLE.tonearm;
type LavalinkPluginFilters = typeof FILTER_TABLE.lavalinkPlugins;

/** A filter of the protocol. */
export type ProtocolFilterName = keyof ProtocolFilters;
/** A filter of Tonearm. */
export type TonearmFilterName = keyof TonearmFilters;
/** A filter of one of Lavalink's plugins. */
type LavalinkPluginFilterName = keyof LavalinkPluginFilters;
/** Any filter. No two have the same name. */
export type FilterName = ProtocolFilterName | TonearmFilterName | LavalinkPluginFilterName;

/** The settings of one filter: every member is present and within its range (FILTER_TABLE). */
export type SettingsOf<Name extends FilterName> = SettingsOfEntry<
  (ProtocolFilters & TonearmFilters & LavalinkPluginFilters)[Name]
>;

type SettingsByName<Name extends FilterName> = { readonly [Each in Name]?: SettingsOf<Each> | undefined };

/**
 * The protocol's filters object after checking, with every member of each filter filled in (protocol-v4.md section
 * 3.3), in the form that is stored, echoed, and sent to audio workers. Filters that a client has not set are absent.
 */
export interface FilterSettings extends SettingsByName<ProtocolFilterName> {
  /** Absent when a client has set none. */
  readonly pluginFilters?: PluginFilterSettings;
}

/** The settings of a filter of a plugin, by the schema that the plugin declares. */
export type ModuleFilterSettings = Readonly<Record<string, number | boolean | string>>;

/** What stands in `pluginFilters`; other names are those of filters of plugins (`moduleSettingsIn`). */
export interface PluginFilterSettings extends SettingsByName<"high-pass" | "low-pass" | "normalization"> {
  readonly tonearm?: SettingsByName<TonearmFilterName>;
  /** Of LavaDSPX, or of lavalink-filter-plugin. */
  readonly echo?: SettingsOf<"lavadspx.echo"> | SettingsOf<"lavalink-filter-plugin.echo">;
  readonly reverb?: SettingsOf<"lavalink-filter-plugin.reverb">;
  /** The same filters as some clients send them. */
  readonly "lavalink-filter-plugin"?: {
    readonly echo?: SettingsOf<"lavalink-filter-plugin.echo">;
    readonly reverb?: SettingsOf<"lavalink-filter-plugin.reverb">;
  };
}

/** The protocol's filters, in the order in which they are listed and echoed. */
export const PROTOCOL_FILTER_NAMES: readonly ProtocolFilterName[] = namesOf(FILTER_TABLE.protocol);

/** The filters of Lavalink's plugins by the names that clients send, with the plugins that have them there. */
export const LAVALINK_PLUGIN_FILTERS = {
  "high-pass": ["lavadspx-plugin"],
  "low-pass": ["lavadspx-plugin"],
  normalization: ["lavadspx-plugin"],
  echo: ["lavadspx-plugin", "lavalink-filter-plugin"],
  reverb: ["lavalink-filter-plugin"],
} as const satisfies Partial<Readonly<Record<keyof PluginFilterSettings, readonly string[]>>>;

/** Names that stand in `pluginFilters`, or beside them in v3, and mean something else. */
const RESERVED_NAMES = ["pluginFilters", "lavalink-filter-plugin", "op", "guildId"];

/** True for names that filters of plugins cannot have. */
export function isReservedFilterName(name: string): boolean {
  return RESERVED_NAMES.includes(name) || SWITCHED_FILTER_NAMES.includes(name);
}

/** Every filter that can be switched off or allowed by its name; Tonearm's own are one. */
export const SWITCHED_FILTER_NAMES: readonly string[] = [
  ...PROTOCOL_FILTER_NAMES,
  ...namesOf(LAVALINK_PLUGIN_FILTERS),
  "tonearm",
];

const ENTRIES: { readonly [Name in FilterName]: { isOff(settings: SettingsOf<Name>): boolean } } = {
  ...FILTER_TABLE.protocol,
  ...FILTER_TABLE.tonearm,
  ...FILTER_TABLE.lavalinkPlugins,
};

/** The settings that a client sent for one filter; undefined when it sent none. */
export function settingsIn<Name extends FilterName>(filters: FilterSettings, name: Name): SettingsOf<Name> | undefined {
  const { pluginFilters } = filters;
  const group: SettingsByName<FilterName> | undefined = Object.hasOwn(FILTER_TABLE.protocol, name)
    ? filters
    : Object.hasOwn(FILTER_TABLE.tonearm, name)
      ? pluginFilters?.tonearm
      : pluginFilters && lavalinkPluginFilters(pluginFilters);
  return group?.[name];
}

/** The settings that a client sent for a filter of a plugin; undefined when it sent none. */
export function moduleSettingsIn({ pluginFilters }: FilterSettings, name: string): ModuleFilterSettings | undefined {
  if (pluginFilters === undefined || isReservedFilterName(name)) return undefined;
  if (!Object.hasOwn(pluginFilters, name)) return undefined;
  return (pluginFilters as Readonly<Record<string, ModuleFilterSettings>>)[name]; // all others are of plugins
}

/** The names of the filters of plugins that a client has set. */
export function moduleFiltersIn({ pluginFilters = {} }: FilterSettings): readonly string[] {
  return Object.keys(pluginFilters).filter((name) => !isReservedFilterName(name));
}

/** The same settings without that filter of a plugin. */
export function withoutModuleFilter(filters: FilterSettings, name: string): FilterSettings {
  const { pluginFilters = {}, ...others } = filters;
  const rest = Object.entries(pluginFilters).filter(([other]) => other !== name);
  return rest.length === 0 ? others : { ...others, pluginFilters: Object.fromEntries(rest) };
}

/** By their names in the table. */
function lavalinkPluginFilters(given: PluginFilterSettings): SettingsByName<LavalinkPluginFilterName> {
  const { echo, reverb, "lavalink-filter-plugin": nested, ...others } = given;
  const isOfFilterPlugin = echo !== undefined && "delay" in echo;
  return {
    ...others,
    "lavadspx.echo": isOfFilterPlugin ? undefined : echo,
    "lavalink-filter-plugin.echo": nested?.echo ?? (isOfFilterPlugin ? echo : undefined),
    "lavalink-filter-plugin.reverb": nested?.reverb ?? reverb,
  };
}

/**
 * The settings that a client sent for one filter; undefined when it sent none, and when they would leave the audio
 * unchanged.
 */
export function activeSettingsIn<Name extends FilterName>(
  filters: FilterSettings,
  name: Name,
): SettingsOf<Name> | undefined {
  const settings = settingsIn(filters, name);
  return settings === undefined || ENTRIES[name].isOff(settings) ? undefined : settings;
}

/** The filters that change the audio, in the order of the table. */
export function activeFilterNames(filters: FilterSettings): readonly FilterName[] {
  return namesOf(ENTRIES).filter((name) => activeSettingsIn(filters, name) !== undefined);
}

function namesOf<Name extends string>(entries: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(entries) as Name[]; // the keys that the type names, in the order in which they are written
}
