// Checks a filter that a plugin adds, before anything of the node relies on it. Plugin thread.

import { isReservedFilterName } from "../../../filters/filter-settings.ts";
import type { Filter, FilterSetting } from "../../../plugin-api/plugin.ts";

const NAME = /^[a-z][A-Za-z0-9-]{0,39}$/;
const NAME_FORM = "a lower-case letter, then up to 39 letters, digits and dashes";
const SETTINGS_MAX = 30;

/** Throws what is wrong with it. */
export function checkFilter({ name, module, settings }: Filter): void {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new Error(`a filter's name is ${NAME_FORM}, not ${String(name)}`);
  }
  if (isReservedFilterName(name)) throw new Error(`the filter ${name} needs another name: the node uses that one`);
  if (!URL.canParse(String(module)) || new URL(module).protocol !== "file:") {
    throw new Error(`the filter ${name} has no module; give it new URL("./its-file.mjs", import.meta.url)`);
  }
  if (typeof settings !== "object" || settings === null) {
    throw new Error(`the filter ${name} has no settings; {} is for none`);
  }
  const entries = Object.entries(settings);
  if (entries.length > SETTINGS_MAX) throw new Error(`the filter ${name} has more than ${SETTINGS_MAX} settings`);
  for (const [member, setting] of entries) {
    const problem = NAME.test(member) ? problemOf(setting) : `its name is not ${NAME_FORM}`;
    if (problem !== undefined) throw new Error(`the setting ${member} of the filter ${name}: ${problem}`);
  }
}

function problemOf(setting: FilterSetting): string | undefined {
  if (typeof setting !== "object" || setting === null) return "it must be an object with a type";
  switch (setting.type) {
    case "integer":
    case "number": {
      const { default: value, min, max } = setting;
      if (![value, min, max].every(Number.isFinite)) return "default, min and max must be numbers";
      if (setting.type === "integer" && !Number.isInteger(value)) return "its default must be a whole number";
      return value >= min && value <= max ? undefined : "its default is not from min to max";
    }
    case "flag":
      return typeof setting.default === "boolean" ? undefined : "its default must be true or false";
    case "choice":
      if (!Array.isArray(setting.names)) return "it needs names, a list of texts";
      return setting.names.includes(setting.default) ? undefined : "its default is none of its names";
    default:
      return "its type must be integer, number, flag or choice";
  }
}
