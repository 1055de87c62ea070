// Client keys: what is stored of a key, how a key is made, and the format of the key file
// (docs/how-to/tls-and-keys.md). Main thread.

import { createHash } from "node:crypto";
import { readConfigFile } from "../../config/reading/read-file.ts";
import type { WrittenSetting } from "../../config/reading/written-setting.ts";
import { NodeError } from "../../errors.ts";
import { SWITCHED_FILTER_NAMES } from "../../filters/filter-settings.ts";
import { closestName } from "../../lib/closest-name.ts";
import type { Random } from "../../lib/random.ts";
import { type Limits, ROLES, type Role, UNLIMITED } from "./identity.ts";

/** A key as the file has it: hashes of the key, not the key itself. */
export interface ClientKey {
  readonly name: string;
  readonly role: Role;
  /** A text that hashes to one of them is the key. There are two while the key is being replaced. */
  readonly hashes: readonly string[];
  readonly limits: Limits;
}

const KEYS_MAX = 1000;
/** One key and its replacement, and a little more. */
const HASHES_MAX = 4;
const NAME = /^[\w-]{1,64}$/;
const HASH = /^sha256:[\w-]{43}$/;
/** Enough random bytes that guessing is impossible, so one round of a plain hash suffices. */
const KEY_BYTES = 32;
const MEMBERS = ["hashes", "role", "sessions", "players", "requestsPerSecond", "sources", "filters"] as const;
type Member = (typeof MEMBERS)[number];
const LIST_MAX = 100;
const COUNT_MAX = 1_000_000;
const SHOWN_MISTAKES_MAX = 20;

/** Makes a new random key in the form that clients send. */
export function makeKey(random: Random): string {
  return `tonearm_${Buffer.from(random.bytes(KEY_BYTES)).toString("base64url")}`;
}

/** As it stands in the file. */
export function hashOf(key: string): string {
  return `sha256:${createHash("sha256").update(key, "utf8").digest("base64url")}`;
}

/** True for what can be the name of a key: 1 to 64 letters, digits, `-` and `_`. */
export function isKeyName(name: string): boolean {
  return NAME.test(name);
}

/**
 * The keys of a file, in its order. `fileName` is for messages.
 * @throws NodeError "keys-invalid" naming every mistake with its position; the text of a hash is never shown
 */
export function readKeyFile(text: string, fileName: string): readonly ClientKey[] {
  const { settings, problems } = readConfigFile(text, { fileName, variables: {} });
  const mistakes = problems.map(({ location, message }) => `${location}: ${message}`);
  const drafts = new Map<string, Draft>();
  for (const setting of settings) {
    const mistake = readSetting(drafts, setting);
    if (mistake !== undefined) mistakes.push(`${setting.location}: ${mistake}`);
  }
  mistakes.push(...mistakesTogether(drafts, fileName));
  if (mistakes.length > 0) throw invalid(mistakes);
  return [...drafts.values()].map(({ name, role, hashes, limits }) => ({ name, role, hashes, limits }));
}

interface Draft {
  readonly name: string;
  readonly location: string;
  role: Role;
  readonly hashes: string[];
  limits: Limits;
}

/** Gives the mistake, if it is one. */
function readSetting(drafts: Map<string, Draft>, setting: WrittenSetting): string | undefined {
  const { names, text, location, missingVariable } = setting;
  if (missingVariable !== undefined) return "placeholders are not replaced in this file; write the value itself";
  const [name = "", member = "", ...tail] = names;
  if (!isKeyName(name)) return "expected the name of a key: up to 64 letters, digits, - and _";
  const known = MEMBERS.find((candidate) => candidate === member);
  if (known === undefined) {
    const closest = closestName(member, MEMBERS);
    const hint = closest === undefined ? `it has ${MEMBERS.join(", ")}` : `did you mean ${closest}?`;
    return member === "" ? `expected what ${name} may do below its name` : `a key has no ${shown(member)}; ${hint}`;
  }
  const draft = drafts.get(name) ?? { name, location, role: "client", hashes: [], limits: UNLIMITED };
  drafts.set(name, draft);
  if (drafts.size > KEYS_MAX) return `more than ${KEYS_MAX} keys`;
  const isItem = tail.length === 1 && /^\d{1,4}$/.test(tail[0] ?? "");
  const isList = known === "hashes" || known === "sources" || known === "filters";
  if (tail.length > 0 && !(isItem && isList)) return `expected ${known} to be ${isList ? "a list" : "one value"}`;
  return setMember(draft, known, text.trim());
}

function setMember(draft: Draft, member: Member, text: string): string | undefined {
  const { limits } = draft;
  switch (member) {
    case "hashes": {
      const hashes = listed(text);
      if (!hashes.every((hash) => HASH.test(hash))) return "expected hashes as `tonearm keys` writes them: sha256:…";
      draft.hashes.push(...hashes);
      if (hashes.includes(hashOf(""))) return "that is the hash of no text at all, which anybody can send";
      if (draft.hashes.length <= HASHES_MAX) return undefined;
      return `more than ${HASHES_MAX} hashes: \`tonearm keys retire ${draft.name}\` leaves the newest`;
    }
    case "role": {
      const role = ROLES.find((known) => known === text);
      if (role === undefined) return `expected role to be one of ${ROLES.join(", ")}, found ${shown(text)}`;
      draft.role = role;
      return undefined;
    }
    case "sources":
    case "filters": {
      const found = [...(limits[member] ?? []), ...listed(text).map((item) => item.toLowerCase())];
      const known = member === "filters" ? found.map((item) => filterName(item)) : found;
      const unknown = found.find((_, index) => known[index] === undefined);
      if (unknown !== undefined)
        return `there is no filter ${shown(unknown)}; there are ${SWITCHED_FILTER_NAMES.join(", ")}`;
      draft.limits = { ...limits, [member]: new Set(known) };
      return found.length > LIST_MAX ? `more than ${LIST_MAX} ${member}` : undefined;
    }
    case "sessions":
    case "players":
    case "requestsPerSecond": {
      const isCount = /^\d{1,7}$/.test(text) && Number(text) >= 1 && Number(text) <= COUNT_MAX;
      if (!isCount) return `expected ${member} to be a whole number from 1 to ${COUNT_MAX}, found ${shown(text)}`;
      draft.limits = { ...limits, [member]: Number(text) };
      return undefined;
    }
  }
}

function mistakesTogether(drafts: ReadonlyMap<string, Draft>, fileName: string): string[] {
  const mistakes: string[] = [];
  const owners = new Map<string, string>();
  for (const { name, location, hashes } of drafts.values()) {
    if (hashes.length === 0)
      mistakes.push(`${location}: ${name} has no hashes: \`tonearm keys add ${name}\` makes a key`);
    for (const hash of hashes) {
      const owner = owners.get(hash);
      if (owner !== undefined && owner !== name) mistakes.push(`${fileName}: ${owner} and ${name} have the same hash`);
      owners.set(hash, name);
    }
  }
  return mistakes;
}

function listed(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function filterName(written: string): string | undefined {
  return SWITCHED_FILTER_NAMES.find((name) => name.toLowerCase() === written.toLowerCase());
}

/** It may be a key that stands where none belongs. */
function shown(text: string): string {
  return text.length > 24 ? "another text" : JSON.stringify(text);
}

function invalid(mistakes: string[]): NodeError {
  const count = mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`;
  const unshownCount = mistakes.splice(SHOWN_MISTAKES_MAX).length;
  const more = unshownCount > 0 ? `\n  and ${unshownCount} more` : "";
  const lines = mistakes.map((mistake) => `  ${mistake}`).join("\n");
  return new NodeError("keys-invalid", `the file of client keys has ${count}:\n${lines}${more}`);
}
