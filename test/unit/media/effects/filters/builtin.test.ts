import { expect, test } from "vitest";
import { FILTER_TABLE } from "../../../../../src/filters/filter-table.ts";
import { FILTERS_AFTER_TIMESCALE, FILTERS_BEFORE_TIMESCALE } from "../../../../../src/media/effects/filters/builtin.ts";

/** Effects that EffectChain and TrackFades apply themselves: they need more than the samples at hand. */
const ELSEWHERE = ["timescale", "loudness", "fadeIn", "fadeOut", "crossfade"];

test("every filter of the table has exactly one position in the chain", () => {
  const built = [...FILTERS_BEFORE_TIMESCALE, ...FILTERS_AFTER_TIMESCALE].map(({ name }) => name);
  const all = Object.keys({ ...FILTER_TABLE.protocol, ...FILTER_TABLE.tonearm, ...FILTER_TABLE.lavalinkPlugins });
  expect([...built, ...ELSEWHERE].toSorted()).toEqual(all.toSorted());
});
