// What a built-in plugin takes over from the options of Lavalink's plugins. What is wrong there is left out with a
// warning: those files work with Lavalink, where the plugin runs. Main thread.

import { parseProxyUrl, parseUrl } from "../../lib/parse-url.ts";
import { hasText, isTreeMap, type PlainTree, type PlainTreeMap } from "../../lib/plain-tree.ts";
import type { OptionSchema, OptionType } from "../../plugin-api/plugin.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import { treeAt } from "./configured-tree.ts";

interface TakenOptions {
  readonly options: PlainTreeMap;
  /** Each with the path of an option, none with its value. */
  readonly warnings: readonly string[];
}

/**
 * The options in `groups` of `all`, which is what is below `plugins`. Without those that are set in `own` too, which
 * is what is below `plugins.<name>`.
 */
export function takeLavalinkOptions(
  groups: readonly { readonly path: readonly string[]; readonly names: readonly string[] }[],
  { all, own, schema }: { readonly all: PlainTreeMap; readonly own: PlainTreeMap; readonly schema: OptionSchema },
): TakenOptions {
  const options: Record<string, PlainTree> = {};
  const warnings: string[] = [];
  for (const { path, names } of groups) {
    for (const name of names) {
      const type = schema[name];
      const value = treeAt(all, [...path, name]);
      if (type === undefined || value === undefined || isLeftBlank(value, type)) continue;
      if (!isLeftBlank(treeAt(own, [name]), type)) continue;
      const { problems } = readOptions({ [name]: type }, { [name]: value }, { path: ["plugins", ...path].join(".") });
      if (problems === undefined) options[name] = value;
      else warnings.push(...problems.map(leftOut));
    }
  }
  return { options, warnings };
}

/** Those of `written`, which is what is below `path`, that the schema accepts. No option of the schema may be required. */
export function acceptedOptions(written: PlainTreeMap, schema: OptionSchema, path: string): TakenOptions {
  const read = Object.entries(written).map(([name, value]) => {
    const { problems = [] } = readOptions(schema, { [name]: value }, { path });
    return { name, value, problems };
  });
  return {
    options: Object.fromEntries(
      read.flatMap(({ name, value, problems }) => (problems.length === 0 ? [[name, value]] : [])),
    ),
    warnings: read.flatMap(({ problems }) => problems.map(leftOut)),
  };
}

function leftOut(problem: string): string {
  return `${problem}; it is left out`;
}

/** Not set, or blank as in an example; a list may be meant to be empty. */
export function isLeftBlank(value: PlainTree | undefined, type: OptionType): boolean {
  return value === undefined || (typeof value === "string" && value.trim() === "" && type.type !== "texts");
}

/**
 * A proxy written as a group of `url`, `username` and `password` at `path`, for the plugin `name`. `url`: secret;
 * undefined: there is none, or it is not one of HTTP.
 */
export function takeLavalinkProxy(
  path: readonly string[],
  { all, name }: { readonly all: PlainTreeMap; readonly name: string },
): { readonly url?: string; readonly warnings: readonly string[] } {
  const textAt = (member: string): string => {
    const value = treeAt(all, [...path, member]);
    return typeof value === "string" ? value.trim() : "";
  };
  const group = treeAt(all, path);
  const written = isTreeMap(group) ? treeAt(group, ["url"]) : group;
  const isBlank = typeof written === "string" && written.trim() === "";
  if (isBlank || !hasText(written)) return { warnings: [] };
  const url = parseUrl(parseProxyUrl(textAt("url")) ?? "");
  if (url === undefined) {
    const remedy = `set plugins.${name}.proxy: http://user:password@host:port`;
    return {
      warnings: [`plugins.${path.join(".")} has no effect, as its url is not that of an HTTP proxy: ${remedy}`],
    };
  }
  // The rest is escaped by the URL.
  url.username ||= textAt("username").replaceAll("%", "%25");
  url.password ||= textAt("password").replaceAll("%", "%25");
  return { url: url.href.replace(/\/$/, ""), warnings: [] };
}
