// The first track that a bot finds under an identifier, whatever the kind of result.

import type { Bot } from "../../lab/test-environment/bot.ts";

interface FoundTrack {
  readonly encoded: string;
  readonly info: { readonly sourceName: string; readonly identifier: string; readonly title: string };
}

/** Throws with the node's message when there is none. */
export async function firstFound(bot: Bot, identifier: string): Promise<FoundTrack> {
  const { body } = await bot.load(identifier);
  const data = body.data as FoundTrack | readonly FoundTrack[] | { readonly tracks: readonly FoundTrack[] } | null;
  const found = Array.isArray(data) ? data[0] : data !== null && "tracks" in data ? data.tracks[0] : data;
  if (found?.encoded === undefined) throw new Error(`${identifier}: ${JSON.stringify(body)}`);
  return found;
}
