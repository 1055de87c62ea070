// What the control side makes of a filters object as a client would write it: checked, and with all members.

import { checkedFilterSettings } from "../../src/control/api/filter-settings.ts";
import { filtersBody } from "../../src/control/protocol/filter-schemas.ts";
import type { FilterSettings } from "../../src/filters/filter-settings.ts";
import { parseJson } from "../../src/lib/json.ts";

export function filterSettings(filters: object): FilterSettings {
  return checkedFilterSettings(filtersBody.parse(parseJson(JSON.stringify(filters))));
}

/** The same for one of Tonearm's own. */
export function tonearmFilter(name: string, members: object = {}): FilterSettings {
  return filterSettings({ pluginFilters: { tonearm: { [name]: members } } });
}
