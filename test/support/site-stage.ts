// A whole node with the plugins that come with it, before stand-ins for their sites.

import { countedSong } from "../../lab/media-files/counted-song.ts";
import { AllSites } from "../../lab/sites/all-sites.ts";
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

/** Before the stand-ins of all sites at once. */
export interface AllSitesStage {
  readonly sites: AllSites;
  readonly stage: Stage;
  close(): Promise<void>;
}

/** `pages`: where the yt-dlp bridge finds a counted song of ten seconds. */
export async function startAllSitesStage(pages: readonly string[]): Promise<AllSitesStage> {
  const sites = await AllSites.start();
  const song = { title: "Song", bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  for (const page of pages) sites.each.ytdlp.addSong(page, song);
  const stage = await startSiteStage([], sites.args);
  return {
    ...{ sites, stage },
    async close() {
      stage.discord.assertClean();
      await stage.close();
      await sites.close();
    },
  };
}
