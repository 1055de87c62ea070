import { expect, test } from "vitest";
import { PRESETS } from "../../../../lab/demo/presets.ts";
import { EffectChain } from "../../../../src/media/effects/effect-chain.ts";
import { filterSettings } from "../../../support/filter-settings.ts";

test.each(Object.entries(PRESETS))("the preset %s is accepted and audible", (name, filters) => {
  const chain = new EffectChain();
  chain.setFilters(filterSettings(filters));
  expect(chain.isNeutral).toBe(name === "flat");
});
