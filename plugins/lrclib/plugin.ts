// Lyrics from LRCLIB, a free library that needs no key. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { LrclibLyrics } from "./lyrics.ts";
import { LRCLIB_MANIFEST } from "./manifest.ts";

const { name, version, config, lyricsProviders } = LRCLIB_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const lyrics = new LrclibLyrics(host);
    host.addLyricsProvider({ ...lyricsProviders[0], load: (request) => lyrics.load(request) });
  },
});
