// Twitch: channels that are live, past broadcasts and clips, by their links. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { TWITCH_MANIFEST } from "./manifest.ts";
import { TwitchSource } from "./source.ts";

const { name, version, config, sources } = TWITCH_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new TwitchSource(host);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
