// Validates the sources that a plugin registers. Plugin thread; the main thread trusts only valid ones.

import type { Source, TrackField } from "../../../plugin-api/plugin.ts";

const NAME = /^[\w.-]{1,64}$/;
const CLAIMS_MAX = 200;
const CLAIM_LENGTH_MAX = 200;
const HOST = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const ENDING = /^\.[a-z0-9.-]+$/;
const FIELDS_MAX = 32;
const FIELD_TYPES: readonly TrackField["type"][] = ["text", "optionalText", "flag"];

/** Throws an Error that describes the violation. */
export function checkSource(source: Source): void {
  // The methods of a class instance are not copied.
  const { name, prefixes = [], hosts = [], endings = [], words = [], fields = [] } = source;
  if (typeof name !== "string" || !NAME.test(name))
    throw new Error("a source has a name of 1 to 64 letters, digits, dots, dashes and underscores");
  const wrong = (what: string) => new Error(`the source ${name}: ${what}`);
  if (typeof source.load !== "function" || typeof source.resolve !== "function") {
    throw wrong("load and resolve have to be functions");
  }
  for (const list of [prefixes, hosts, endings, words, fields]) {
    if (!Array.isArray(list)) throw wrong("prefixes, hosts, endings, words and fields are lists");
  }
  const claimCount = prefixes.length + hosts.length + endings.length + words.length;
  if (claimCount > CLAIMS_MAX) throw wrong(`more than ${CLAIMS_MAX} claims`);
  for (const prefix of prefixes) {
    if (!isText(prefix)) throw wrong(`a prefix is a text of 1 to ${CLAIM_LENGTH_MAX} characters`);
  }
  for (const host of hosts) {
    if (!isText(host) || !HOST.test(host))
      throw wrong(`"${host}" is not a host; write it like example.org or *.example.org`);
  }
  for (const ending of endings) {
    if (!isText(ending) || !ENDING.test(ending))
      throw wrong(`"${ending}" is not an ending of a path; write it like .rss`);
  }
  for (const { startsWith, length } of words) {
    if (startsWith === undefined && length === undefined) throw wrong("a word has a beginning or a length");
    if (startsWith !== undefined && !isText(startsWith)) throw wrong("a word begins with a text");
    if (length !== undefined && !Number.isSafeInteger(length)) throw wrong("the length of a word is a whole number");
  }
  if (fields.length > FIELDS_MAX) throw wrong(`more than ${FIELDS_MAX} fields`);
  for (const field of fields) {
    if (!isText(field.name) || !FIELD_TYPES.includes(field.type)) throw wrong("a field has a name and a type");
  }
  if (new Set(fields.map((field) => field.name)).size < fields.length) throw wrong("a field is named twice");
}

/** The plugin may not have been compiled against the types. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.length <= CLAIM_LENGTH_MAX;
}
