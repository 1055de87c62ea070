// The soundcloud plugin on its bench, with a fake site.

import { SoundCloudSite } from "../../lab/sites/soundcloud.ts";
import soundcloud from "../../plugins/soundcloud/plugin.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { PlainTree } from "../../src/lib/plain-tree.ts";
import type { TrackJson } from "../../src/track/track-info.ts";
import { PluginBench } from "./plugin-bench.ts";

export const SOUNDCLOUD_PAGE = "https://soundcloud.com/stand-ins";
export const SOUNDCLOUD_API = "api-v2.soundcloud.com";

export class SoundCloudTestEnvironment {
  readonly site: SoundCloudSite;
  readonly #benches: PluginBench[] = [];

  static async start(): Promise<SoundCloudTestEnvironment> {
    return new SoundCloudTestEnvironment(await SoundCloudSite.start());
  }

  private constructor(site: SoundCloudSite) {
    this.site = site;
  }

  async bench(options: PlainTree = {}, clock?: Clock): Promise<PluginBench> {
    const { hosts } = this.site;
    const bench = await PluginBench.start(soundcloud, { options, hosts, ...(clock !== undefined && { clock }) });
    this.#benches.push(bench);
    return bench;
  }

  /** Titles of the tracks found. */
  async titles(bench: PluginBench, identifier: string): Promise<string[]> {
    return (await bench.loadTracks("soundcloud", identifier)).map(({ info }) => info.title);
  }

  async track(bench: PluginBench, identifier: string): Promise<TrackJson> {
    const [track] = await bench.loadTracks("soundcloud", identifier);
    if (track === undefined) throw new Error(`${identifier} finds no track`);
    return track;
  }

  /** Number of API requests whose path begins with `path`. */
  asked(path: string): number {
    return this.site.server.requestsTo(SOUNDCLOUD_API).filter((request) => request.path.startsWith(path)).length;
  }

  async close(): Promise<void> {
    for (const bench of this.#benches.splice(0)) bench.close();
    await this.site.close();
  }
}
