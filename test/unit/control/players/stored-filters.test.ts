import { expect, test } from "vitest";
import { readFilterSettings } from "../../../../src/control/players/stored-filters.ts";
import { parseJson, plainJson, stringifyJson } from "../../../../src/lib/json.ts";
import { filterSettings } from "../../../support/filter-settings.ts";

test("filters with integers beyond 2^53 are read as the numbers that they were", () => {
  const filters = filterSettings({
    distortion: { offset: 2 ** 53, tanScale: -(2 ** 60) },
    equalizer: [{ band: 1, gain: 0.5 }],
  });
  const read = readFilterSettings(plainJson(parseJson(stringifyJson(filters))));
  expect(read).toEqual(filters);
});

test("what is no filters is none", () => {
  for (const value of [undefined, null, 1n, [], { volume: 9n }, { volume: "1" }])
    expect(readFilterSettings(value)).toBeUndefined();
});
