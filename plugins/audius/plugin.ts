// Audius: tracks, albums, playlists, users and searches, played from its nodes as MP3. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { AUDIUS_MANIFEST } from "./manifest.ts";
import { AudiusSource } from "./source.ts";

const { name, version, config, sources } = AUDIUS_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new AudiusSource(host);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
