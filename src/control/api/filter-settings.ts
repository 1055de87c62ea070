// The filters object of PATCH player: checked against the published ranges, and normalised to the form that is stored
// and echoed (protocol-v4.md section 3.3). Main thread. Where the published server accepts a value that later kills the
// track, we refuse it here.

import type { FilterEntry, Members, NumberMember } from "../../filters/filter-entry.ts";
import { type FilterSettings, PROTOCOL_FILTER_NAMES } from "../../filters/filter-settings.ts";
import { FILTER_TABLE } from "../../filters/filter-table.ts";
import type { FiltersBody } from "../protocol/filter-schemas.ts";
import { ApiError } from "./api-error.ts";

/** The names of the filters in the body, as they can be switched off: Tonearm's own are one. */
export function filtersIn(body: FiltersBody): readonly string[] {
  const present: string[] = PROTOCOL_FILTER_NAMES.filter((name) => body[name] !== undefined);
  return body.pluginFilters?.tonearm === undefined ? present : [...present, "tonearm"];
}

/** Every present filter with all members, as it is stored and echoed. Throws a 400 that names field and range. */
export function checkedFilterSettings(body: FiltersBody): FilterSettings {
  const settings = present(FILTER_TABLE.protocol, body);
  const tonearm = present(FILTER_TABLE.tonearm, body.pluginFilters?.tonearm ?? {});
  check(settings, FILTER_TABLE.protocol, "filters");
  check(tonearm, FILTER_TABLE.tonearm, "filters.pluginFilters.tonearm");
  // Left out if empty, as the published server does.
  return Object.keys(tonearm).length === 0 ? settings : { ...settings, pluginFilters: { tonearm } };
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

type Values = Readonly<Record<string, number | string>>;
/** The settings of any filter. */
type AnySettings = number | readonly Values[] | Values;

/** `path` is where they stand in the body. */
function check(
  filters: Readonly<Record<string, AnySettings>>,
  table: Readonly<Record<string, FilterEntry>>,
  path: string,
): void {
  for (const [name, entry] of Object.entries(table)) {
    const settings = filters[name];
    if (settings !== undefined) checkFilter(entry, settings, `${path}.${name}`);
  }
}

function checkFilter(entry: FilterEntry, settings: AnySettings, path: string): void {
  switch (entry.kind) {
    case "number":
      checkNumber(entry.value, settings, path);
      break;
    case "list":
      // The value has this kind: the schema of the same entry has checked it.
      for (const [index, item] of (settings as readonly Values[]).entries())
        checkMembers(entry.members, item, `${path}[${index}]`);
      break;
    case "object": {
      const values = settings as Values; // as above
      if (!(entry.isFreeWhenOff && entry.isOff(values))) checkMembers(entry.members, values, path);
    }
  }
}

function checkMembers(members: Members, values: Values, path: string): void {
  for (const [member, known] of Object.entries(members)) {
    if (!("choices" in known)) checkNumber(known, values[member], `${path}.${member}`);
  }
}

function checkNumber(member: NumberMember, value: AnySettings | Values[string] | undefined, path: string): void {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, isMinExcluded = false } = member;
  if (typeof value === "number" && value <= max && (isMinExcluded ? value > min : value >= min)) return;
  throw new ApiError(400, `${path} must be ${rangeText(member)}, but is ${value}`);
}

function rangeText({ min, max, isMinExcluded = false }: NumberMember): string {
  if (max === undefined) return isMinExcluded ? `greater than ${min}` : `${min} or more`;
  return isMinExcluded ? `greater than ${min} and at most ${max}` : `from ${min} to ${max}`;
}
