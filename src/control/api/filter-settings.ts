// The filters object of PATCH player: parsed, checked against the published ranges, filled in (protocol-v4.md section
// 3.3). Main thread. Where the published server accepts a value that later kills the track, we refuse it here.

import { z } from "zod";
import type { FilterSettings } from "../../bridge/commands.ts";
import { FILTER_NAMES } from "../../bridge/filter-names.ts";
import { ApiError } from "./api-error.ts";
import { float32Field, float64Field, int32Field, listField } from "./json-fields.ts";
import { checkedTonearmSettings, tonearmFiltersBody } from "./tonearm-filter-settings.ts";

const EQUALIZER_BAND_MAX = 14;
/** There are fifteen bands; some clients send one more than once, and the last counts. */
const EQUALIZER_COUNT_MAX = 256;

const equalizerBand = z.object({ band: int32Field, gain: float32Field.prefault(1) });

/** `null` is the same as absent, but counts as present where disabled filters are refused. */
export const filtersBody = z
  .object({
    volume: float32Field.optional(),
    equalizer: listField(equalizerBand, { countMax: EQUALIZER_COUNT_MAX }).optional(),
    karaoke: float32Members({ level: 1, monoLevel: 1, filterBand: 220, filterWidth: 100 }),
    timescale: float64Members({ speed: 1, pitch: 1, rate: 1 }),
    tremolo: float32Members({ frequency: 2, depth: 0.5 }),
    vibrato: float32Members({ frequency: 2, depth: 0.5 }),
    distortion: float32Members({
      sinOffset: 0,
      sinScale: 1,
      cosOffset: 0,
      cosScale: 1,
      tanOffset: 0,
      tanScale: 1,
      offset: 0,
      scale: 1,
    }),
    rotation: float64Members({ rotationHz: 0 }),
    channelMix: float32Members({ leftToLeft: 1, leftToRight: 0, rightToLeft: 0, rightToRight: 1 }),
    lowPass: float32Members({ smoothing: 20 }),
    /** By the plugin's name; what no plugin has is dropped. */
    pluginFilters: z.object({ tonearm: tonearmFiltersBody.nullable().optional() }).nullable().optional(),
  })
  .meta({ id: "Filters" });

export type FiltersBody = z.output<typeof filtersBody>;

/** The names in the body that the configuration has switched off. */
export function disabledFiltersIn(body: FiltersBody, disabledFilters: ReadonlySet<string>): readonly string[] {
  const present = FILTER_NAMES.filter((name) => body[name] !== undefined);
  const all = body.pluginFilters?.tonearm === undefined ? present : [...present, "tonearm"];
  return all.filter((name) => disabledFilters.has(name));
}

/** Every present filter with all members, as it is kept and echoed. Throws a 400 that names field and range. */
export function checkedFilterSettings(body: FiltersBody): FilterSettings {
  for (const { path, value, range } of rangedValues(body)) {
    if (!range.contains(value)) {
      throw new ApiError(400, `filters.${path} must be ${range.text}, but is ${value}`);
    }
  }
  const present = FILTER_NAMES.map((name) => [name, body[name]] as const);
  return {
    ...Object.fromEntries(present.filter(([, settings]) => settings !== undefined && settings !== null)),
    ...checkedPluginFilters(body),
  };
}

/** Left out where there are none, as the published server does. */
function checkedPluginFilters({ pluginFilters }: FiltersBody): FilterSettings {
  const tonearm = checkedTonearmSettings(pluginFilters?.tonearm ?? {}, "filters.pluginFilters.tonearm");
  return Object.keys(tonearm).length === 0 ? {} : { pluginFilters: { tonearm } };
}

interface Range {
  readonly text: string;
  contains(value: number): boolean;
}

interface RangedValue {
  readonly path: string;
  readonly value: number;
  readonly range: Range;
}

const POSITIVE: Range = { text: "greater than 0", contains: (value) => value > 0 };
const NOT_NEGATIVE: Range = { text: "0 or more", contains: (value) => value >= 0 };
const SHARE = between(0, 1);
const VIBRATO_FREQUENCY: Range = {
  text: "greater than 0 and at most 14",
  contains: (value) => value > 0 && value <= 14,
};

function between(min: number, max: number): Range {
  return { text: `from ${min} to ${max}`, contains: (value) => value >= min && value <= max };
}

function* rangedValues(body: FiltersBody): Generator<RangedValue> {
  const { volume, equalizer, karaoke, timescale, tremolo, vibrato, channelMix } = body;
  if (volume !== undefined) yield { path: "volume", value: volume, range: between(0, 5) };
  for (const [index, { band, gain }] of (equalizer ?? []).entries()) {
    yield { path: `equalizer[${index}].band`, value: band, range: between(0, EQUALIZER_BAND_MAX) };
    yield { path: `equalizer[${index}].gain`, value: gain, range: between(-0.25, 1) };
  }
  const { level, monoLevel, filterWidth } = karaoke ?? {};
  yield* each("karaoke", { level, monoLevel }, SHARE);
  yield* each("karaoke", { filterWidth }, NOT_NEGATIVE);
  yield* each("timescale", timescale, POSITIVE);
  yield* modulation("tremolo", tremolo, POSITIVE);
  yield* modulation("vibrato", vibrato, VIBRATO_FREQUENCY);
  yield* each("channelMix", channelMix, SHARE);
}

/** Depth 0 is how clients switch these filters off; the frequency does not matter then. */
function* modulation(
  filter: string,
  settings: { frequency: number; depth: number } | null | undefined,
  frequencyRange: Range,
): Generator<RangedValue> {
  if (settings === undefined || settings === null || settings.depth === 0) return;
  yield { path: `${filter}.frequency`, value: settings.frequency, range: frequencyRange };
  yield { path: `${filter}.depth`, value: settings.depth, range: SHARE };
}

function* each(
  filter: string,
  members: Readonly<Record<string, number | undefined>> | null | undefined,
  range: Range,
): Generator<RangedValue> {
  for (const [member, value] of Object.entries(members ?? {})) {
    if (value !== undefined) yield { path: `${filter}.${member}`, value, range };
  }
}

/** An object of numbers, each with its default. */
function float32Members<Member extends string>(defaults: Record<Member, number>) {
  return members(defaults, float32Field);
}

function float64Members<Member extends string>(defaults: Record<Member, number>) {
  return members(defaults, float64Field);
}

function members<Member extends string>(
  defaults: Record<Member, number>,
  type: typeof float32Field | typeof float64Field,
) {
  const shape = Object.fromEntries(
    Object.entries<number>(defaults).map(([member, value]) => [member, type.prefault(value)]),
  ) as unknown as Record<Member, z.ZodType<number>>; // one entry per member of `defaults`
  return z.object(shape).nullable().optional();
}
