// JioSaavn: songs, albums, playlists, artists, searches and recommendations, played from its own servers. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { JIOSAAVN_MANIFEST } from "./manifest.ts";
import { JioSaavnSource } from "./source.ts";

const { name, version, config, aliases, sources } = JIOSAAVN_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new JioSaavnSource(host);
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
