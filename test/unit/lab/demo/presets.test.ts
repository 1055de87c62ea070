import { expect, test } from "vitest";
import { PRESETS } from "../../../../lab/demo/presets.ts";
import { SoundChain } from "../../../../src/media/sound/sound-chain.ts";
import { filterSettings } from "../../../support/filter-settings.ts";

test.each(Object.entries(PRESETS))("%s is accepted and heard", (name, filters) => {
  const chain = new SoundChain();
  chain.setFilters(filterSettings(filters));
  expect(chain.isNeutral).toBe(name === "flat");
});
