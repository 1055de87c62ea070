// The soundcloud plugin: searches, links, sets and users of SoundCloud, played from its own servers. Plugin thread;
// what it stands on is put together here.

import { definePlugin } from "../../src/plugin-api/plugin.ts";
import { SoundCloudApi } from "./api.ts";
import { SoundCloudClientIds } from "./client-ids.ts";
import { SoundCloudLoader } from "./loader.ts";
import { SOUNDCLOUD_MANIFEST } from "./manifest.ts";
import { SoundCloudPlayback } from "./playback.ts";
import { SoundCloudSource } from "./source.ts";

const { name, version, config, sources, searchProviders } = SOUNDCLOUD_MANIFEST;

export default definePlugin({
  name,
  version,
  apiVersion: 1,
  config,
  setup(host) {
    const { clientId, oauthToken, filterOutPreviewTracks, setTracksMax, listEntriesMax } = host.options;
    const { searchEnabled, encryptedTracks } = host.options;
    const api = new SoundCloudApi(host, { clientIds: new SoundCloudClientIds(host, clientId), oauthToken });
    const hasAccount = oauthToken !== undefined;
    const loader = new SoundCloudLoader(host, api, { hasAccount, setTracksMax, listEntriesMax });
    const playback = new SoundCloudPlayback(host, { api, loader, filterOutPreviewTracks });
    const options = { loader, playback, searchEnabled, filterOutPreviewTracks, encryptedTracks };
    const source = new SoundCloudSource(host, options);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
    host.addSearchProvider({ ...searchProviders[0], search: (request) => source.search(request) });
  },
});
