// A plugin with a token that a made-up site gives: `tokens:use:<n>` is a track whose title is the token, fetched where none
// is known; with `tokens:refuse:<n>` the site refuses it. The number makes each question another one.

import { definePlugin } from "tonearm/plugin";

export default definePlugin({
  name: "tokens",
  version: "1.0.0",
  apiVersion: 1,
  config: {},
  setup(host) {
    const tokens = host.cache("tokens", { ttlMs: 3_600_000, entriesMax: 1, isPortable: true });
    let fetched = 0;
    const make = async () => `${process.pid} ${++fetched}`;
    host.addSource({
      name: "tokens",
      prefixes: ["tokens:"],
      async load({ identifier, signal }) {
        if (identifier.startsWith("tokens:refuse:")) tokens.delete("token");
        const title = tokens.get("token") ?? "none";
        const isUsed = identifier.startsWith("tokens:use:");
        const track = { title: isUsed ? await tokens.getOrMake("token", { signal, make }) : title, author: "site" };
        return { kind: "track", track: { identifier, lengthMs: 1000, ...track } };
      },
      async resolve() {
        return { kind: "mirror" };
      },
    });
  },
});
