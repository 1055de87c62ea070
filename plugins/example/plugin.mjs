// The plugin that docs/plugins.md walks through: a source for a small fictional site with an API.

import { definePlugin, SourceError } from "tonearm/plugin";

export default definePlugin({
  name: "example",
  version: "1.0.0",
  apiVersion: 1,

  // Options that an operator can set under plugins.example.
  config: {
    site: { type: "server", default: "https://music.example.org", meaning: "Address of the site." },
    searchLimit: { type: "integer", default: 10, min: 1, max: 50, meaning: "Tracks of a search." },
  },

  setup(host) {
    const { site, searchLimit } = host.options;
    // The backend for the plugin's requests. They are counted; a circuit breaker stops them while the backend keeps
    // failing.
    const api = host.backend("api");
    const ask = (path, query, signal) => api.run(() => host.http.json(`${site}${path}`, { query, signal }));

    host.addSource({
      name: "example",
      prefixes: ["exsearch:", "example:"],

      async load({ identifier, signal }) {
        if (identifier.startsWith("exsearch:")) {
          const query = { q: identifier.slice("exsearch:".length), limit: searchLimit };
          const { tracks } = await ask("/api/search", query, signal);
          if (!Array.isArray(tracks)) throw new SourceError("changed", "a search answered no list of tracks");
          return { kind: "search", tracks: tracks.map(toTrack) };
        }
        const found = await ask(`/api/tracks/${encodeURIComponent(identifier.slice("example:".length))}`, {}, signal);
        return { kind: "track", track: toTrack(found) };
      },

      // Called shortly before the track starts, and again before the link expires or when it is refused.
      async resolve({ track, signal }) {
        const { url, expires } = await ask(`/api/tracks/${encodeURIComponent(track.identifier)}/link`, {}, signal);
        return { kind: "link", url, expiresAtMs: expires };
      },
    });
  },
});

/** Converts a track of the site's API to the node's format. */
function toTrack({ id, title, artist, seconds }) {
  return { identifier: String(id), title, author: artist, lengthMs: seconds * 1000 };
}
