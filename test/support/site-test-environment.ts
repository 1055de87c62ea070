// A whole node with the plugins that come with it, before stand-ins for their sites.

import { countedSong } from "../../lab/media-files/counted-song.ts";
import { AllSites } from "../../lab/sites/all-sites.ts";
import type { TestEnvironment, TestEnvironmentOptions } from "../../lab/test-environment/test-environment.ts";
import { BUILTIN_PLUGINS } from "../../plugins/builtin.ts";
import { BUILTIN_FOLDER, startTestEnvironment } from "./start-test-environment.ts";

/**
 * `hosts` of fake sites, all together, variables for the node's configuration, and further options of the environment.
 */
export function startSiteTestEnvironment(
  sites: readonly { readonly hosts: Readonly<Record<string, string>> }[],
  args: readonly string[] = [],
  options: Omit<TestEnvironmentOptions, "args" | "plugins"> = {},
): Promise<TestEnvironment> {
  const hosts = sites.flatMap((site) => Object.entries(site.hosts));
  return startTestEnvironment({
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
export interface AllSitesTestEnvironment {
  readonly sites: AllSites;
  readonly env: TestEnvironment;
  close(): Promise<void>;
}

/** `pages`: where the yt-dlp bridge finds a counted song of ten seconds. */
export async function startAllSitesTestEnvironment(pages: readonly string[]): Promise<AllSitesTestEnvironment> {
  const sites = await AllSites.start();
  const song = { title: "Song", bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  for (const page of pages) sites.each.ytdlp.addSong(page, song);
  const env = await startSiteTestEnvironment([], sites.args);
  return {
    sites,
    env,
    async close() {
      env.discord.assertClean();
      await env.close();
      await sites.close();
    },
  };
}
