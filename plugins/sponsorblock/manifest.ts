// The options and routes of the SponsorBlock plugin, known to the main thread before its thread starts. Main and plugin
// threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

/** The kinds of segments that the node skips. */
export const CATEGORIES = [
  "sponsor",
  "selfpromo",
  "interaction",
  "intro",
  "outro",
  "preview",
  "music_offtopic",
  "filler",
] as const;
export type Category = (typeof CATEGORIES)[number];

/** Below players. */
export const CATEGORIES_PATH = "/sponsorblock/categories";

/** What all of its routes have. `query`: none. */
const ROUTE = {
  path: `/v4/sessions/:sessionId/players/:guildId${CATEGORIES_PATH}`,
  access: "client",
  query: {},
  ofPlayer: { needs: "session", missingStatus: undefined },
} as const;

export const CATEGORIES_BODY = {
  categories: { type: "texts", names: CATEGORIES, meaning: "categories to skip" },
} as const;

export const SPONSORBLOCK_MANIFEST = {
  name: "sponsorblock",
  version: "1.0.0",
  config: {
    server: {
      type: "server",
      default: "https://sponsor.ajay.app",
      meaning: "server to ask, for one of your own",
    },
    categories: {
      type: "texts",
      names: CATEGORIES,
      default: [],
      meaning: "categories that are skipped for players whose client has set none",
    },
  },
  sources: [],
  aliases: [{ name: "sponsorblock-plugin", version: "3.0.1" }],
  isListening: true,
  routes: [
    { ...ROUTE, method: "GET", summary: "The categories that a client has set for a player.", body: undefined },
    {
      ...ROUTE,
      method: "PUT",
      summary: "Sets the categories of segments that are skipped, at once also for what plays.",
      body: CATEGORIES_BODY,
      isListBody: true,
    },
    {
      ...ROUTE,
      method: "DELETE",
      summary: "Removes the categories that a client has set for a player.",
      body: undefined,
      ofPlayer: { needs: "session", missingStatus: 200 },
    },
  ],
} as const satisfies BuiltinManifest;
