// Where the configuration wants the tracks of mirrored sources to be looked for. Main thread; used by node.ts.

import type { NodeConfig } from "../../config/node-config.ts";
import { isTreeList } from "../../lib/plain-tree.ts";
import { treeAt } from "./configured-tree.ts";

/**
 * `plugins.lavasrc.providers` as written: a list, or one text with commas. Empty: none, or what is neither. Whether
 * they can be used is checked by control/sources/mirror-providers.ts.
 */
export function mirrorProviders({ plugins }: Pick<NodeConfig, "plugins">): readonly string[] {
  const written = treeAt(plugins.options.reveal(), ["lavasrc", "providers"]) ?? "";
  const items = typeof written === "string" ? written.split(",") : isTreeList(written) ? written : [];
  return items.flatMap((item) => {
    const text = typeof item === "string" ? item.trim() : "";
    return text === "" ? [] : [text];
  });
}
