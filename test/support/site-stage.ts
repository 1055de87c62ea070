// A whole node with the plugins that come with it, before stand-ins for their sites.

import type { Stage, StageOptions } from "../../lab/stage/stage.ts";
import { BUILTIN_PLUGINS } from "../../plugins/builtin.ts";
import { BUILTIN_FOLDER, startStage } from "./start-stage.ts";

/** `hosts` of stand-ins, all together, arguments for the node's configuration, and what else a stage can be told. */
export function startSiteStage(
  sites: readonly { readonly hosts: Readonly<Record<string, string>> }[],
  args: readonly string[] = [],
  options: Omit<StageOptions, "args" | "plugins"> = {},
): Promise<Stage> {
  const hosts = sites.flatMap((site) => Object.entries(site.hosts));
  return startStage({
    ...options,
    plugins: { builtinFolder: BUILTIN_FOLDER, builtins: BUILTIN_PLUGINS },
    args: [
      ...hosts.map(([host, url]) => `--tonearm.hosts.${host}=${url}`),
      // Switches YouTube on, too.
      "--plugins.youtube.mediaHosts=127.0.0.1",
      ...args,
    ],
  });
}
