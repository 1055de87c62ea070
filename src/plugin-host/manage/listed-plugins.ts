// The plugins that `/v4/info` lists: clients look for the names of Lavalink's plugins there before they use what the
// node has built in. Main thread.

import { LAVASRC } from "../../../plugins/builtin-manifest.ts";

interface PluginInfo {
  readonly name: string;
  readonly version: string;
}

const LAVA_SEARCH: PluginInfo = { name: "lavasearch-plugin", version: "1.0.0" };
/** Some clients ask for lyrics only where LavaSrc is, too, whose part the providers have. */
const LAVA_LYRICS: readonly PluginInfo[] = [{ name: "lavalyrics-plugin", version: "1.0.0" }, ...LAVASRC];

interface Listed {
  /** The working plugins, with their aliases. */
  readonly infos: readonly PluginInfo[];
  readonly searches: { readonly isAvailable: boolean };
  readonly lyrics: { readonly isAvailable: boolean };
}

/** Each name once. */
export function listedPlugins({ infos, searches, lyrics }: Listed): readonly PluginInfo[] {
  const all = [...infos, ...(searches.isAvailable ? [LAVA_SEARCH] : []), ...(lyrics.isAvailable ? LAVA_LYRICS : [])];
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}
