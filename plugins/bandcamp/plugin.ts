// Bandcamp: tracks, albums and artists by link, and search. Reads the site's pages, and uses the yt-dlp bridge where
// the site refuses plain visitors. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { BANDCAMP_MANIFEST } from "./manifest.ts";
import { BandcampSource } from "./source.ts";

const { name, version, config, sources } = BANDCAMP_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new BandcampSource(host);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
