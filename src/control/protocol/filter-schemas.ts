// The filters object as clients send it and as it is echoed (protocol-v4.md section 3.3): both schemas are made from
// the filter table. Main thread.

import { z } from "zod";
import type {
  FilterEntry,
  Member,
  Members,
  NumberMember,
  ObjectFilter,
  SettingsOfEntry,
} from "../../filters/filter-entry.ts";
import type {
  FilterName,
  FilterSettings,
  ModuleFilterSettings,
  ProtocolFilterName,
  SettingsOf,
  TonearmFilterName,
} from "../../filters/filter-settings.ts";
import { FILTER_TABLE } from "../../filters/filter-table.ts";
import { booleanField, float32Field, float64Field, int32Field, listField } from "./json-fields.ts";

const NUMBER_FIELDS = { float: float32Field, double: float64Field, integer: int32Field };

type Table = typeof FILTER_TABLE.protocol & typeof FILTER_TABLE.tonearm & typeof FILTER_TABLE.lavalinkPlugins;
/** The schema of one filter: numbers and lists are not nullable, as with the published server. */
type BodySchema<Name extends FilterName> = z.ZodOptional<
  Table[Name] extends ObjectFilter ? z.ZodNullable<z.ZodType<SettingsOf<Name>>> : z.ZodType<SettingsOf<Name>>
>;

/** Filled in, but not yet checked against the ranges: `checkedFilterSettings` does that, whose messages name them. */
const tonearmFiltersBody = z
  .object(byFilter<{ [Name in TonearmFilterName]: BodySchema<Name> }>(FILTER_TABLE.tonearm, bodySchema))
  .meta({ id: "TonearmFilters" });

const {
  "high-pass": highPass,
  "low-pass": lowPass,
  normalization,
  "lavadspx.echo": lavadspxEcho,
  "lavalink-filter-plugin.echo": filterPluginEcho,
  "lavalink-filter-plugin.reverb": filterPluginReverb,
} = FILTER_TABLE.lavalinkPlugins;

/** The echo of either plugin; `checkedFilterSettings` tells which. */
const eitherEcho = z.object({
  echoLength: float32Field.optional().catch(undefined),
  delay: float32Field.optional().catch(undefined),
  decay: float32Field.prefault(0).catch(0),
});

/**
 * `pluginFilters` of an update. Those of Lavalink's plugins are read as leniently as there: what is of another kind
 * counts as absent. Others are of plugins, if any: `moduleFilterBody` reads them.
 */
export const pluginFiltersBody = z.looseObject({
  tonearm: tonearmFiltersBody.nullable().optional(),
  "high-pass": lenientBody(highPass),
  "low-pass": lenientBody(lowPass),
  normalization: lenientBody(normalization),
  echo: eitherEcho.nullable().optional().catch(undefined),
  reverb: lenientBody(filterPluginReverb),
  "lavalink-filter-plugin": z
    .object({ echo: lenientBody(filterPluginEcho), reverb: lenientBody(filterPluginReverb) })
    .nullable()
    .optional()
    .catch(undefined),
});

/**
 * The filters object of an update. `null` is equivalent to absent, but counts as present where disabled filters are
 * refused.
 */
export const filtersBody = z
  .object({
    ...byFilter<{ [Name in ProtocolFilterName]: BodySchema<Name> }>(FILTER_TABLE.protocol, bodySchema),
    /** By the plugin's name; what no plugin has is dropped. */
    pluginFilters: pluginFiltersBody.nullable().optional(),
  })
  .meta({ id: "Filters" });

/** `filtersBody`, read; hand it to `checkedFilterSettings` before anything else. */
export type FiltersBody = z.output<typeof filtersBody>;

const tonearmSettingsSchema = z
  .strictObject(byFilter(FILTER_TABLE.tonearm, echoedSchema))
  .meta({ id: "TonearmFilterSettings", description: "The requested filters, with all members." });

/** Schema of the echoed filters. Describes FilterSettings, whose type is derived from the same table. */
export const filterSettingsSchema = z
  .strictObject({
    ...byFilter(FILTER_TABLE.protocol, echoedSchema),
    pluginFilters: z
      .looseObject({
        tonearm: tonearmSettingsSchema.optional(),
        "high-pass": echoedSchema(highPass),
        "low-pass": echoedSchema(lowPass),
        normalization: echoedSchema(normalization),
        echo: z.union([echoedSchema(lavadspxEcho), echoedSchema(filterPluginEcho)]).optional(),
        reverb: echoedSchema(filterPluginReverb),
        "lavalink-filter-plugin": z
          .strictObject({ echo: echoedSchema(filterPluginEcho), reverb: echoedSchema(filterPluginReverb) })
          .optional(),
      })
      .optional(),
  })
  .meta({
    id: "FilterSettings",
    description: "Every filter that was set, with all its members.",
  }) as z.ZodType as z.ZodType<FilterSettings>; // made from the table that the type is made from

/** The settings of a filter of a plugin, filled in. */
export function moduleFilterBody(entry: ObjectFilter): z.ZodType<ModuleFilterSettings | null | undefined> {
  return bodySchema(entry) as z.ZodType<ModuleFilterSettings | null | undefined>; // by its kind
}

function bodySchema(entry: FilterEntry): z.ZodType {
  switch (entry.kind) {
    case "number":
      return bodyField(entry.value).optional();
    case "list":
      return listField(z.object(byMember(entry.members, bodyField)), { countMax: entry.countMax }).optional();
    case "object":
      return z.object(byMember(entry.members, bodyField)).nullable().optional();
  }
}

function lenientBody<Known extends ObjectFilter>(
  entry: Known,
): z.ZodCatch<z.ZodOptional<z.ZodNullable<z.ZodType<SettingsOfEntry<Known>>>>> {
  const settings = z.object(byMember(entry.members, lenientField)) as z.ZodType as z.ZodType<SettingsOfEntry<Known>>; // by its kind
  return settings.nullable().optional().catch(undefined);
}

function lenientField(member: Member): z.ZodType {
  const field = bodyField(member);
  if ("item" in member) return z.preprocess((value) => (Array.isArray(value) ? value : []), field);
  return member.defaultValue === undefined ? field : field.catch(member.defaultValue);
}

function bodyField(member: Member): z.ZodType {
  if ("choices" in member) return z.enum(member.choices).prefault(member.defaultValue);
  if ("item" in member) return listField(bodyField(member.item), { countMax: member.countMax }).prefault([]);
  if (typeof member.defaultValue === "boolean") return booleanField.prefault(member.defaultValue);
  const field = NUMBER_FIELDS[member.numberType];
  return (member.defaultValue === undefined ? field : field.prefault(member.defaultValue)).meta(description(member));
}

function echoedSchema(entry: FilterEntry): z.ZodType {
  switch (entry.kind) {
    case "number":
      return echoedField(entry.value).optional();
    case "list":
      return z.array(z.strictObject(byMember(entry.members, echoedField))).optional();
    case "object":
      return z.strictObject(byMember(entry.members, entry.isFreeWhenOff ? echoedFreeField : echoedField)).optional();
  }
}

function echoedField(member: Member): z.ZodType {
  const isNumber = "numberType" in member;
  return isNumber ? echoedFreeField(member).meta(description(member)) : echoedFreeField(member);
}

/** Schema of a member without a range. */
function echoedFreeField(member: Member): z.ZodType {
  if ("choices" in member) return z.enum(member.choices);
  if ("item" in member) return z.array(echoedField(member.item)).max(member.countMax);
  if (!("numberType" in member)) return z.boolean();
  return member.numberType === "integer" ? z.int() : z.number();
}

function description({ min, max, isMinExcluded, unit }: NumberMember): z.core.GlobalMeta {
  return {
    ...(min === undefined ? {} : isMinExcluded ? { exclusiveMinimum: min } : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
    ...(unit === undefined ? {} : { description: unit }),
  };
}

function byFilter<Schemas extends Readonly<Record<string, z.ZodType>>>(
  entries: Readonly<Record<keyof Schemas & string, FilterEntry>>,
  schemaOf: (entry: FilterEntry) => z.ZodType,
): Schemas {
  const schemas = Object.entries<FilterEntry>(entries).map(([name, entry]) => [name, schemaOf(entry)]);
  return Object.fromEntries(schemas) as Schemas; // one schema per entry of the table, of what its type follows from
}

function byMember(members: Members, fieldOf: (member: Member) => z.ZodType) {
  return Object.fromEntries(Object.entries(members).map(([member, known]) => [member, fieldOf(known)]));
}
