// What a built-in plugin takes over from the options of Lavalink's plugins. What is wrong there is left out with a
// warning: those files work with Lavalink, where the plugin runs. Main thread.

import { canonicalName } from "../../lib/canonical-name.ts";
import { parseProxyUrl, parseUrl } from "../../lib/parse-url.ts";
import type { PlainTree, PlainTreeMap } from "../../lib/plain-tree.ts";
import type { OptionSchema } from "../../plugin-api/plugin.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import { treeAt } from "./configured-tree.ts";

interface TakenOptions {
  readonly options: PlainTreeMap;
  /** Each with the path of an option, none with its value. */
  readonly warnings: readonly string[];
}

/**
 * The options in `groups` of `all`, which is what is below `plugins`. Without those that are in `own` too, which is
 * what is below `plugins.<name>`.
 */
export function takeLavalinkOptions(
  groups: readonly { readonly path: readonly string[]; readonly names: readonly string[] }[],
  { all, own, schema }: { readonly all: PlainTreeMap; readonly own: PlainTreeMap; readonly schema: OptionSchema },
): TakenOptions {
  const replaced = new Set(Object.keys(own).map(canonicalName));
  const options: Record<string, PlainTree> = {};
  const warnings: string[] = [];
  for (const { path, names } of groups) {
    for (const name of names) {
      const type = schema[name];
      const value = treeAt(all, [...path, name]);
      if (type === undefined || value === undefined || replaced.has(canonicalName(name))) continue;
      // Left blank, as in an example; a list may be meant to be empty.
      if (typeof value === "string" && value.trim() === "" && type.type !== "texts") continue;
      const { problems } = readOptions({ [name]: type }, { [name]: value }, { path: ["plugins", ...path].join(".") });
      if (problems === undefined) options[name] = value;
      else warnings.push(...problems.map((problem) => `${problem}; the default is used`));
    }
  }
  return { options, warnings };
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
  const address = textAt("url");
  if (address === "") return { warnings: [] };
  const url = parseUrl(parseProxyUrl(address) ?? "");
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
