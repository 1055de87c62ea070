// The entries of `tonearm.plugins`, and what can be derived from those of `lavalink.plugins`. Main thread, at start.

import { canonicalName } from "../../lib/canonical-name.ts";
import { closestName } from "../../lib/closest-name.ts";
import { parseFlag } from "../../lib/flag-words.ts";
import { parseProxyUrl } from "../../lib/parse-url.ts";
import { parseTemplate, splitTemplates, TEMPLATE_LENGTH_MAX } from "../../recordings/search-template.ts";
import type { Setting, SettingReport } from "./key.ts";
import { Secret } from "./secret.ts";

const ENTRIES_MAX = 100;
const PACKAGE_NAME_LENGTH_MAX = 214;
const PACKAGE_NAME = /^(@[a-z\d~-][a-z\d._~-]*\/)?[a-z\d~-][a-z\d._~-]*$/;
/** The id of a Maven group or artifact. */
const MAVEN_ID = /^[\w.-]{1,100}$/;
const MEMBER_NAMES = ["package", "path", "enabled", "required", "proxy", "userAgent", "fallback"] as const;
/** Completes "expected …" for an invalid proxy, whose text is not shown. */
export const PROXY_EXPECTED = "proxy to be an address such as http://user:password@192.0.2.7:3128";

/** Completes "expected …" for an invalid User-Agent. */
export const USER_AGENT_EXPECTED = "userAgent to be 1 to 500 printable ASCII characters";

/** Whether the text can be sent as a `User-Agent` header (RFC 9110, 10.1.5). */
export function isUserAgent(text: string): boolean {
  return /^[!-~](?:[ -~]{0,498}[!-~])?$/.test(text);
}

/** Search prefixes of one fallback. */
const PREFIXES_MAX = 5;
/** Completes "expected …" for an invalid fallback. */
export const FALLBACK_EXPECTED = `fallback to be at most ${PREFIXES_MAX} search prefixes or templates such as scsearch:%QUERY%, each of at most ${TEMPLATE_LENGTH_MAX} characters`;

/** Search prefixes without their colon, or templates; undefined: they are too many, or one is neither. */
export function fallbackOf(texts: readonly string[]): readonly string[] | undefined {
  const prefixes = texts
    .flatMap(splitTemplates)
    .map((text) => text.replace(/:$/, ""))
    .filter((prefix) => prefix !== "");
  const areValid = prefixes.length <= PREFIXES_MAX && prefixes.every((prefix) => parseTemplate(prefix) !== undefined);
  return areValid ? [...new Set(prefixes)] : undefined;
}

/** A plugin to load: a package by its name, or a file or folder by its path. */
export interface PluginEntry {
  /** Name of an npm package, resolved from the folder that the node was started in. */
  readonly package?: string;
  /** A file or folder. */
  readonly path?: string;
  readonly isEnabled: boolean;
  /** True: the node does not start without the plugin. */
  readonly isRequired: boolean;
  /** Proxy for the plugin's requests and for the streams of its tracks: `http://user:password@host:port`. */
  readonly proxy?: Secret;
  /** `User-Agent` of the plugin's requests and of the streams of its tracks, unless it sets another. */
  readonly userAgent?: string;
  /** Search prefixes, without a colon, or templates, for its tracks that cannot be started. */
  readonly fallback?: readonly string[];
}

type Draft = { -readonly [Name in keyof PluginEntry]: PluginEntry[Name] } & { readonly first: Setting };

/** The entries in the order of the file; mistakes in them are reported. Paths are as they were written. */
export function pluginEntriesOf(settings: readonly Setting[], report: SettingReport): readonly PluginEntry[] {
  const drafts = new Map<number, Draft>();
  for (const setting of settings) {
    // Only a fallback is a list.
    const [, index, member] = /^(\d{1,4})\.([^.]+|fallback\.\d{1,4})$/i.exec(setting.tail ?? "") ?? [];
    const isEmptyList = setting.tail === undefined && setting.text === "";
    if (isEmptyList) continue;
    if (index === undefined || member === undefined) {
      report.problem(setting, "expected a list of entries, each with a package or a path");
      continue;
    }
    const draft = drafts.get(Number(index)) ?? { isEnabled: true, isRequired: false, first: setting };
    drafts.set(Number(index), draft);
    const problem = setMember(draft, member.replace(/\.\d+$/, ""), setting.text);
    if (problem !== undefined) report.problem(setting, problem);
  }
  const ordered = [...drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
  if (ordered.length > ENTRIES_MAX) report.problem(ordered[ENTRIES_MAX]!.first, `more than ${ENTRIES_MAX} entries`);
  checkTogether(ordered, report);
  return ordered.map(({ first, ...entry }) => entry);
}

/** Returns the problem, if there is one. */
function setMember(draft: Draft, written: string, text: string): string | undefined {
  const member = MEMBER_NAMES.find((name) => canonicalName(name) === canonicalName(written));
  if (member === undefined) {
    const closest = closestName(written, MEMBER_NAMES);
    const hint = closest === undefined ? "" : `; did you mean ${closest}?`;
    return `an entry has no member ${JSON.stringify(written.slice(0, 60))}${hint}`;
  }
  if (member === "package") {
    draft.package = text.trim();
    const isName = draft.package.length <= PACKAGE_NAME_LENGTH_MAX && PACKAGE_NAME.test(draft.package);
    return isName ? undefined : "expected package to be the name of a package; a file or folder is a path";
  }
  if (member === "path") {
    draft.path = text;
    return text.trim() === "" ? "expected path to be a file or folder" : undefined;
  }
  if (member === "proxy") {
    const proxyUrl = parseProxyUrl(text);
    if (proxyUrl === undefined) return `expected ${PROXY_EXPECTED}`;
    draft.proxy = new Secret(proxyUrl);
    return undefined;
  }
  if (member === "userAgent") {
    draft.userAgent = text;
    return isUserAgent(text) ? undefined : `expected ${USER_AGENT_EXPECTED}`;
  }
  if (member === "fallback") {
    const prefixes = parseFlag(text) === false ? [] : fallbackOf([...(draft.fallback ?? []), text]);
    draft.fallback = prefixes ?? [];
    return prefixes === undefined ? `expected ${FALLBACK_EXPECTED}` : undefined;
  }
  const flag = parseFlag(text);
  if (flag === undefined) return `expected ${member} to be true or false`;
  draft[member === "enabled" ? "isEnabled" : "isRequired"] = flag;
  return undefined;
}

function checkTogether(drafts: readonly Draft[], report: SettingReport): void {
  const known = new Set<string>();
  for (const { first, ...entry } of drafts) {
    if ((entry.package === undefined) === (entry.path === undefined)) {
      report.problem(first, "expected an entry to have either a package or a path");
      continue;
    }
    const name = entry.package ?? entry.path ?? "";
    if (known.has(name)) report.problem(first, `${JSON.stringify(name.slice(0, 60))} is listed twice`);
    known.add(name);
  }
}

/** `group:artifact` of each `dependency: group:artifact:version`, in lower case, each once. */
export function javaNamesOf(settings: readonly Setting[]): readonly string[] {
  const names = settings.flatMap(({ tail, text }) => {
    const [group = "", artifact = ""] = text.split(":").map((part) => part.trim().toLowerCase());
    const isRead = /^\d{1,4}\.dependency$/i.test(tail ?? "") && MAVEN_ID.test(group) && MAVEN_ID.test(artifact);
    return isRead ? [`${group}:${artifact}`] : [];
  });
  return [...new Set(names)].slice(0, ENTRIES_MAX);
}
