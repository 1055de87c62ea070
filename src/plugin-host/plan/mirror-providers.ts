// Where the configuration wants the tracks of mirrored sources to be looked for. Main thread; used by node.ts.

import type { NodeConfig } from "../../config/node-config.ts";
import { hasText, isTreeList, type PlainTree } from "../../lib/plain-tree.ts";
import { splitTemplates } from "../../recordings/search-template.ts";
import { treeAt } from "./configured-tree.ts";

/**
 * `plugins.lavasrc.providers` as written: a list, or one text with commas. What is no text is described in brackets.
 * Whether they can be used is checked by control/sources/mirror-providers.ts, which warns of the others.
 */
export function mirrorProviders({ plugins }: Pick<NodeConfig, "plugins">): readonly string[] {
  const written = treeAt(plugins.options.reveal(), ["lavasrc", "providers"]) ?? "";
  if (typeof written === "string") return splitTemplates(written);
  if (isTreeList(written)) return written.map(textOf);
  return hasText(written) ? [textOf(written)] : [];
}

function textOf(item: PlainTree): string {
  if (typeof item === "string") return item.trim() || "(an empty item)";
  return isTreeList(item) ? "(a list)" : "(a map)";
}
