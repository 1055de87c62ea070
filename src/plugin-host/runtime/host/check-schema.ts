// Checks a schema of options that a plugin passes, which may be anything: the main thread relies on its form. Plugin
// thread.

import type { OptionSchema } from "../../../plugin-api/plugin.ts";

/** Of one schema, with those in groups. */
const OPTIONS_MAX = 500;
const GROUPS = ["group", "groups", "named"];
const NUMBERS = ["integer", "number"];
const TEXTUAL = ["text", "secret", "server", "choice"];
const TYPES = [...TEXTUAL, ...NUMBERS, ...GROUPS, "flag", "texts"];

type Unchecked = Readonly<Record<string, unknown>>;

/** Throws what `wrong` makes of the first problem. `name`: of the schema, for messages. */
export function checkSchema(schema: OptionSchema, name: string, wrong: (what: string) => Error): void {
  let count = 0;
  const checkGroup = (members: unknown, path: string, outer: readonly unknown[]): void => {
    if (!isObject(members)) throw wrong(`${path} is an object with options by their names`);
    if (outer.includes(members)) throw wrong(`${path} contains itself`);
    for (const [member, option] of Object.entries(members)) {
      const own = `${path}.${member}`;
      if (++count > OPTIONS_MAX) throw wrong(`${name} has more than ${OPTIONS_MAX} options`);
      const problem = problemOf(option);
      if (problem !== undefined) throw wrong(`${own}: ${problem}`);
      const { type, members: inner } = option as Unchecked; // as just checked
      if (GROUPS.includes(String(type))) checkGroup(inner, own, [...outer, members]);
    }
  };
  checkGroup(schema, name, []);
}

/** Undefined: none. */
function problemOf(option: unknown): string | undefined {
  if (!isObject(option) || typeof option.type !== "string" || !TYPES.includes(option.type)) {
    return `the type is one of ${TYPES.join(", ")}`;
  }
  const { type, meaning, names, min, max } = option;
  if (typeof meaning !== "string") return "meaning is a text";
  if (NUMBERS.includes(type) && !(Number.isFinite(min) && Number.isFinite(max))) {
    return "min and max are finite numbers";
  }
  const needsNames = type === "choice" || (type === "texts" && names !== undefined);
  if (needsNames && !(isTexts(names) && names.length > 0)) return "names is a list of texts, at least one";
  if (!isDefault(type, option.default)) return `the default does not suit the type ${type}`;
  return undefined;
}

function isDefault(type: string, value: unknown): boolean {
  if (value === undefined || GROUPS.includes(type)) return true;
  if (type === "texts") return isTexts(value);
  if (type === "flag") return typeof value === "boolean";
  return NUMBERS.includes(type) ? Number.isFinite(value) : typeof value === "string";
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function isObject(value: unknown): value is Unchecked {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
