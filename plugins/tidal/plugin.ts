// Tidal: tracks, albums, playlists, artists and searches from its API for programs, which has no audio. The tracks are
// mirrored. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { TIDAL_MANIFEST } from "./manifest.ts";
import { TidalSource } from "./source.ts";

const { name, version, config, aliases, sources } = TIDAL_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new TidalSource(host);
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      // Its tracks have their ISRC.
      resolve: () => Promise.resolve({ kind: "mirror" }),
    });
  },
});
