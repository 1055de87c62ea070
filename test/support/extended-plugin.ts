// A plugin that uses the extension points beside sources: a search provider, lyrics and REST routes, which answer as
// the request asks for.

import {
  API_VERSION,
  definePlugin,
  type SearchRequest,
  type SearchResult,
  SourceError,
} from "../../src/plugin-api/plugin.ts";

const NEVER = new Promise<never>(() => undefined);
const TRACK = { identifier: "1", title: "First Light", author: "Mira Vale", lengthMs: 1000 };
const LIST = { name: "Harbour", url: "https://songs.example/harbour", author: "Mira Vale", totalTracks: 9 };

export const extendedPlugin = definePlugin({
  name: "extended",
  version: "1.0.0",
  apiVersion: API_VERSION,
  config: {},
  setup(host) {
    host.addSource({
      name: "songs",
      prefixes: ["song:"],
      fields: [{ name: "label", type: "text" }],
      load: async () => ({ kind: "track", track: TRACK }),
      resolve: async () => ({ kind: "link", url: "https://songs.example/1.mp3" }),
    });
    host.addPluginInfo({ track: () => ({ isExtended: true }) });
    host.addSearchProvider({
      source: "songs",
      prefixes: ["xsearch:"],
      search: async ({ query, signal }: SearchRequest): Promise<SearchResult | undefined> => {
        if (query === "xsearch:nothing") return undefined;
        if (query === "xsearch:broken") throw new TypeError("a bug");
        if (query === "xsearch:hang") return new Promise((_, reject) => signal.addEventListener("abort", reject));
        const texts = [{ text: "harbour lights", pluginInfo: { rank: 1 } }];
        return { tracks: [TRACK], albums: [LIST], artists: [{ name: "Mira Vale" }], playlists: [LIST], texts };
      },
    });
    host.addLyricsProvider({
      name: "extended",
      load: async ({ track }) => ({
        sourceName: "extended",
        lines: [
          { timestampMs: 2000.4, line: `label ${track.fields?.label ?? "unknown"}` },
          { timestampMs: 1000, durationMs: 500, line: track.title },
          { timestampMs: Number.NaN, line: "never" },
        ],
      }),
    });
    host.addRoute({
      method: "GET",
      path: "/rooms/:room",
      summary: "What is asked of a room.",
      access: "client",
      query: {
        limit: { type: "integer", min: 1, max: 50, default: 10, meaning: "how many" },
        order: { type: "choice", names: ["up", "down"], meaning: "in which order" },
      },
      handle: async ({ segments, query }) => {
        if (segments.room === "gone") throw new SourceError("not-found", "no such room");
        if (segments.room === "full") return { status: 409, message: "the room is full" };
        if (segments.room === "broken") throw new TypeError("a bug");
        if (segments.room === "wrong") return { json: { a: 1n as unknown as number } };
        if (segments.room === "hang") return NEVER;
        return { json: { room: segments.room ?? null, limit: query.limit, order: query.order ?? null } };
      },
    });
    host.addRoute({
      method: "PUT",
      path: "/rooms/:room",
      summary: "Changes a room.",
      body: {
        name: { type: "text", isRequired: true, meaning: "its name" },
        isOpen: { type: "flag", default: true, meaning: "whether it is open" },
        tags: { type: "texts", meaning: "what it is about" },
        owner: { type: "group", meaning: "whose it is", members: { id: { type: "text", meaning: "their id" } } },
      },
      handle: async ({ segments, body: { owner, ...room } }) => {
        return { status: 201, json: { ...room, room: segments.room ?? null, owner: { id: owner.id ?? null } } };
      },
    });
    host.addRoute({
      method: "PUT",
      path: "/extended/tags",
      ofPlayer: { needs: "player" },
      summary: "Sets the tags of a player.",
      access: "client",
      body: { tags: { type: "texts", meaning: "what it is about" } },
      isListBody: true,
      handle: async ({ segments, body }) => ({ json: { ...segments, tags: [...body.tags] } }),
    });
    host.addRoute({
      method: "DELETE",
      path: "/extended/tags",
      ofPlayer: { needs: "session", missingStatus: 200 },
      summary: "Removes them.",
      access: "client",
      handle: async () => ({ status: 200 }),
    });
    host.addRoute({
      method: "DELETE",
      path: "/rooms/:room",
      summary: "Removes a room.",
      handle: async () => ({ status: 204 }),
    });
  },
});
