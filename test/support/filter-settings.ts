// A filters object of a client as the control side normalises it: checked, and with all members.

import { checkedFilterSettings } from "../../src/control/api/filter-settings.ts";
import { filtersBody } from "../../src/control/protocol/filter-schemas.ts";
import type { FilterSettings } from "../../src/filters/filter-settings.ts";
import { parseJson } from "../../src/lib/json.ts";

export function filterSettings(filters: object): FilterSettings {
  return checkedFilterSettings(filtersBody.parse(parseJson(JSON.stringify(filters))));
}

/** The settings of one of Tonearm's own filters. */
export function tonearmFilter(name: string, members: object = {}): FilterSettings {
  return filterSettings({ pluginFilters: { tonearm: { [name]: members } } });
}
