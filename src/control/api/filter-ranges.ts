// Checks the numbers of filters against the ranges of their entries: the filter table's, or those that a plugin declares.
// Main thread; kinds have been checked by the schemas, which are made from the same entries.

import type { FilterEntry, Members, NumberMember } from "../../filters/filter-entry.ts";
import { ApiError } from "./api-error.ts";

type Value = number | string | boolean | readonly number[];
type Values = Readonly<Record<string, Value>>;
/** The settings of any filter. */
type AnySettings = number | readonly Values[] | Values;

/** `path` is where they stand in the body. Throws a 400 that names field and range. */
export function checkFilters(
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
    const value = values[member];
    if ("numberType" in known) checkNumber(known, value, `${path}.${member}`);
    else if ("item" in known && Array.isArray(value))
      for (const [index, item] of value.entries()) checkNumber(known.item, item, `${path}.${member}[${index}]`);
  }
}

function checkNumber(member: NumberMember, value: AnySettings | Value | undefined, path: string): void {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, isMinExcluded = false } = member;
  if (typeof value === "number" && value <= max && (isMinExcluded ? value > min : value >= min)) return;
  throw new ApiError(400, `${path} must be ${rangeText(member)}, but is ${value}`);
}

function rangeText({ min, max, isMinExcluded = false }: NumberMember): string {
  if (max === undefined) return isMinExcluded ? `greater than ${min}` : `${min} or more`;
  return isMinExcluded ? `greater than ${min} and at most ${max}` : `from ${min} to ${max}`;
}
