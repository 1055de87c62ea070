import { expect, test } from "vitest";
import { PRESETS } from "../../../../lab/demo/presets.ts";
import { checkedFilterSettings, filtersBody } from "../../../../src/control/api/filter-settings.ts";
import { parseJson } from "../../../../src/lib/json.ts";
import { SoundChain } from "../../../../src/media/sound/sound-chain.ts";

test.each(Object.entries(PRESETS))("%s is accepted and heard", (name, filters) => {
  const checked = checkedFilterSettings(filtersBody.parse(parseJson(JSON.stringify(filters))));
  const chain = new SoundChain();
  chain.setFilters(checked);
  expect(chain.isNeutral).toBe(name === "flat");
});
