// A fake Spotify and the plugin that asks it, for the tests of the spotify plugin.

import { afterEach, beforeEach } from "vitest";
import { SpotifySite } from "../../lab/sites/spotify.ts";
import spotify from "../../plugins/spotify/plugin.ts";
import type { PlainTree } from "../../src/lib/plain-tree.ts";
import type { SourceAnswer } from "../../src/plugin-api/plugin.ts";
import type { TrackJson } from "../../src/track/track-info.ts";
import { type BenchOptions, PluginBench } from "./plugin-bench.ts";

export interface SpotifyTestEnvironment {
  readonly site: SpotifySite;
  readonly bench: PluginBench;
  /** Starts it again, with other options. */
  restart(options: PlainTree, more?: BenchOptions): Promise<void>;
  load(identifier: string): Promise<SourceAnswer | undefined>;
  loadTracks(identifier: string): Promise<TrackJson[]>;
  /** Host and path of the requests so far. */
  requests(): string[];
}

/** One for each test of a file. */
export function spotifyTestEnvironment(): SpotifyTestEnvironment {
  let site: SpotifySite;
  let bench: PluginBench;
  beforeEach(async () => {
    site = await SpotifySite.start();
    bench = await PluginBench.start(spotify, { hosts: site.hosts });
  });
  afterEach(async () => {
    bench.close();
    await site.close();
  });
  return {
    get site() {
      return site;
    },
    get bench() {
      return bench;
    },
    restart: async (options, more = {}) => {
      bench.close();
      bench = await PluginBench.start(spotify, { hosts: site.hosts, options, ...more });
    },
    load: (identifier) => bench.load("spotify", identifier),
    loadTracks: (identifier) => bench.loadTracks("spotify", identifier),
    requests: () => site.server.requests.map(({ host, path }) => `${host}${path}`),
  };
}
