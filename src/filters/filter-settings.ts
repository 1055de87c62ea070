// The types of filter settings that cross the bridge, derived from the table: settings are checked and filled in once,
// where requests of clients arrive (the main thread), and trusted from then on. Both threads.

import type { SettingsOfEntry } from "./filter-entry.ts";
import { FILTER_TABLE } from "./filter-table.ts";

type ProtocolFilters = typeof FILTER_TABLE.protocol;
type TonearmFilters = typeof FILTER_TABLE.tonearm;

/** A filter of the protocol. */
export type ProtocolFilterName = keyof ProtocolFilters;
/** A filter of Tonearm. */
export type TonearmFilterName = keyof TonearmFilters;
/** Any filter. No two have the same name. */
export type FilterName = ProtocolFilterName | TonearmFilterName;

/** The settings of one filter: every member is present and within its range (FILTER_TABLE). */
export type SettingsOf<Name extends FilterName> = SettingsOfEntry<(ProtocolFilters & TonearmFilters)[Name]>;

type SettingsByName<Name extends FilterName> = { readonly [Each in Name]?: SettingsOf<Each> };

/**
 * The protocol's filters object after checking, with every member of each filter filled in (protocol-v4.md section
 * 3.3), in the form that is stored, echoed, and sent to audio workers. Filters that a client has not set are absent.
 */
export interface FilterSettings extends SettingsByName<ProtocolFilterName> {
  /** Absent when a client has set none. */
  readonly pluginFilters?: { readonly tonearm: SettingsByName<TonearmFilterName> };
}

/** The protocol's filters, in the order in which they are listed and echoed. */
export const PROTOCOL_FILTER_NAMES: readonly ProtocolFilterName[] = namesOf(FILTER_TABLE.protocol);

const ENTRIES: { readonly [Name in FilterName]: { isOff(settings: SettingsOf<Name>): boolean } } = {
  ...FILTER_TABLE.protocol,
  ...FILTER_TABLE.tonearm,
};

/** The settings that a client sent for one filter; undefined when it sent none. */
export function settingsIn<Name extends FilterName>(filters: FilterSettings, name: Name): SettingsOf<Name> | undefined {
  const isProtocol = Object.hasOwn(FILTER_TABLE.protocol, name);
  const group: SettingsByName<FilterName> | undefined = isProtocol ? filters : filters.pluginFilters?.tonearm;
  return group?.[name];
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
