// The deezer plugin: titles, artists, lists and ISRCs of Deezer by its public API, without a key. Its tracks are played
// from other sources. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { DEEZER_MANIFEST } from "./manifest.ts";
import { DeezerSource } from "./source.ts";

const { name, version, config, aliases, sources, searchProviders } = DEEZER_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new DeezerSource(host);
    host.log.info(
      "Deezer encrypts its audio, and nothing is decrypted here: its tracks are played as the same recordings from" +
        " plugins.lavasrc.providers",
    );
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
    host.addSearchProvider({ ...searchProviders[0], search: (request) => source.search(request) });
  },
});
