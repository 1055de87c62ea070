// What a source that a plugin registers must be like. Plugin thread; the main thread trusts nothing that is not of this
// form.

import type { Source } from "../../plugin-api/plugin.ts";

const NAME = /^[\w.-]{1,64}$/;
const CLAIMS_MAX = 200;
const CLAIM_LENGTH_MAX = 200;
const HOST = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const FIELDS_MAX = 32;

/** Throws an Error that says what is wrong with it. */
export function checkSource(source: Source): void {
  // Its methods are not copied with it where it is an object of a class.
  const { name, prefixes = [], hosts = [], words = [], fields = [] } = source;
  if (!NAME.test(name)) throw new Error("a source has a name of 1 to 64 letters, digits, dots, dashes and underscores");
  const wrong = (what: string) => new Error(`the source ${name}: ${what}`);
  if (typeof source.load !== "function" || typeof source.resolve !== "function") {
    throw wrong("load and resolve have to be functions");
  }
  if (prefixes.length + hosts.length + words.length > CLAIMS_MAX) throw wrong(`more than ${CLAIMS_MAX} claims`);
  for (const prefix of prefixes) {
    if (prefix === "" || prefix.length > CLAIM_LENGTH_MAX) throw wrong("a prefix is a text, and not empty");
  }
  for (const host of hosts) {
    if (!HOST.test(host)) throw wrong(`"${host}" is no host; write it like example.org or *.example.org`);
  }
  for (const { startsWith, length } of words) {
    if (startsWith === undefined && length === undefined) throw wrong("a word has a beginning or a length");
  }
  if (fields.length > FIELDS_MAX) throw wrong(`more than ${FIELDS_MAX} fields`);
  if (new Set(fields.map((field) => field.name)).size < fields.length) throw wrong("a field is named twice");
}
