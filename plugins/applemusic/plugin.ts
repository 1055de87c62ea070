// The applemusic plugin: songs, albums, playlists and artists of Apple Music's catalogue. Its tracks are played from
// other sources. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { APPLEMUSIC_MANIFEST } from "./manifest.ts";
import { AppleMusicSource } from "./source.ts";

const { name, version, config, aliases, sources, searchProviders } = APPLEMUSIC_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new AppleMusicSource(host);
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
    host.addSearchProvider({ ...searchProviders[0], search: (request) => source.search(request) });
  },
});
