// Podcasts: shows and episodes from their feeds, which anybody may read, and shows found in Apple's directory. Plugin
// thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { PODCASTS_MANIFEST } from "./manifest.ts";
import { PodcastSource } from "./source.ts";

const { name, version, config, sources } = PODCASTS_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new PodcastSource(host);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
