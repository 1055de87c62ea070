// A plugin whose site has no audio: every `charts:<title>` is a song of "Artist" that is played from elsewhere.

import { definePlugin } from "tonearm/plugin";

export default definePlugin({
  name: "charts",
  version: "1.0.0",
  apiVersion: 1,
  config: {},
  setup(host) {
    host.addSource({
      name: "charts",
      prefixes: ["charts:"],
      isMirrored: true,
      async load({ identifier }) {
        const title = identifier.slice("charts:".length);
        return { kind: "track", track: { identifier: title, title, author: "Artist", lengthMs: 213_000 } };
      },
      async resolve() {
        return { kind: "mirror" };
      },
    });
  },
});
