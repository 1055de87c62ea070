// The answer of `loadsearch` in the form of Lavalink's plugin LavaSearch (protocol-v4.md section 8.3). Main thread.

import { z } from "zod";
import { type JsonOf, openObject, text } from "./json-of.ts";
import { playlistSchema } from "./load-result-json.ts";
import { trackSchema } from "./track-json.ts";

/** Albums, artists and playlists have no tracks. */
export type SearchJson = JsonOf<typeof searchSchema>;

/** Schema of SearchJson. */
export const searchSchema = z
  .strictObject({
    albums: z.array(playlistSchema),
    artists: z.array(playlistSchema),
    playlists: z.array(playlistSchema),
    texts: z.array(z.strictObject({ text, plugin: openObject })),
    plugin: openObject,
    tracks: z.array(trackSchema),
  })
  .meta({ id: "SearchResult" });
