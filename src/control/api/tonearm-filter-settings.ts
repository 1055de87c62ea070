// `pluginFilters.tonearm` of the filters object: the checks of what clients send and the schema of what is echoed, both made
// from the table of the bridge. Main thread.

import { z } from "zod";
import {
  type ChoiceMember,
  type NumberMember,
  TONEARM_FILTERS,
  type TonearmFilterName,
} from "../../bridge/tonearm-filters.ts";
import { ApiError } from "./api-error.ts";
import { float64Field } from "./json-fields.ts";

type Member = NumberMember | ChoiceMember;
type Value = number | string;
type Values = Readonly<Record<string, Value>>;

const FILTERS: readonly (readonly [string, Readonly<Record<string, Member>>])[] = Object.entries(TONEARM_FILTERS);

/** Filled in, but not yet held against the ranges: that comes with the other filters', in their words. */
export const tonearmFiltersBody = z
  .object(byFilter((members) => z.object(byMember(members, bodyField)).nullable().optional()))
  .meta({ id: "TonearmFilters" });

export const tonearmSettingsSchema = z
  .strictObject(byFilter((members) => z.strictObject(byMember(members, echoedField)).optional()))
  .meta({ id: "TonearmFilterSettings", description: "What was sent of them, with all members." });

type TonearmFiltersBody = z.output<typeof tonearmFiltersBody>;

/** Those that are there. Throws a 400 that names field and range; `path` is where the body stands. */
export function checkedTonearmSettings(body: TonearmFiltersBody, path: string): Readonly<Record<string, Values>> {
  const present: Record<string, Values> = {};
  for (const [name, members] of FILTERS) {
    const settings = body[name as TonearmFilterName]; // a key of the same table
    if (settings === undefined || settings === null) continue;
    for (const [member, value] of Object.entries(settings)) check(members[member], value, `${path}.${name}.${member}`);
    present[name] = settings;
  }
  return present;
}

function check(member: Member | undefined, value: Value, path: string): void {
  if (member === undefined || "choices" in member || typeof value !== "number") return;
  const { min, max, isMinExcluded = false } = member;
  if (value <= max && (isMinExcluded ? value > min : value >= min)) return;
  const range = isMinExcluded ? `greater than ${min} and at most ${max}` : `from ${min} to ${max}`;
  throw new ApiError(400, `${path} must be ${range}, but is ${value}`);
}

function bodyField(member: Member): z.ZodType<Value> {
  if ("choices" in member) return z.enum(member.choices).prefault(member.defaultValue);
  return float64Field.prefault(member.defaultValue).meta({ type: "number", ...description(member) });
}

function echoedField(member: Member): z.ZodType<Value> {
  return "choices" in member ? z.enum(member.choices) : z.number().meta(description(member));
}

function description({ min, max, isMinExcluded = false, unit }: NumberMember): z.core.GlobalMeta {
  return {
    ...(isMinExcluded ? { exclusiveMinimum: min } : { minimum: min }),
    maximum: max,
    ...(unit === undefined ? {} : { description: unit }),
  };
}

function byFilter<Field>(fieldOf: (members: Readonly<Record<string, Member>>) => Field) {
  const fields = FILTERS.map(([name, members]) => [name, fieldOf(members)]);
  return Object.fromEntries(fields) as Record<TonearmFilterName, Field>; // one entry per filter of the table
}

function byMember<Field>(members: Readonly<Record<string, Member>>, fieldOf: (member: Member) => Field) {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, fieldOf(member)]));
}
