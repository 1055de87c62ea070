// The control of the rounds: a fresh node without a store, whose client connects and plays as soon as it listens. What
// the start of a process and Discord's handshake cost without anything to restore. Lab only.

import { sleep } from "../sleep.ts";
import type { CastPlayer } from "./cast.ts";
import { NodeRuns } from "./node-runs.ts";
import { connectBot, type Surroundings } from "./surroundings.ts";

const AUDIBLE_MS_MAX = 45_000;
const POLL_MS = 5;
/** Requests at once, as many as the node restores players at once. */
const JOIN_WIDTH = 16;
const AGAIN_MS = 100;

interface Control {
  /** From spawning the process until it listened. */
  readonly listeningMs: number;
  /** Until the first audio packet of each player that was heard. */
  readonly startsMs: readonly number[];
}

/** These players at once, in other guilds: `guild` and up. */
export async function controlOf(
  surroundings: Surroundings,
  { cast, guild }: { readonly cast: readonly CastPlayer[]; readonly guild: number },
): Promise<Control> {
  const runs = await NodeRuns.prepare({ hasState: false });
  try {
    const players = cast.map((player, index) => ({ ...player, guildId: String(guild + index) }));
    const voices = new Map(players.map(({ guildId }) => [guildId, surroundings.issueVoice(guildId)]));
    const songs = await songsOf(surroundings, cast);
    const listeningMs = await runs.start();
    const bot = await connectBot(runs);
    const deadlineMs = performance.now() + AUDIBLE_MS_MAX;
    const left = players.values();
    const joinOneByOne = async (): Promise<void> => {
      for (const { guildId, song, body } of left) {
        const path = `/v4/sessions/${bot.sessionId}/players/${guildId}`;
        const asked = { voice: voices.get(guildId), track: { encoded: songs.get(song) }, ...body };
        // A node whose threads are busy with joining refuses for a while.
        while ((await bot.request("PATCH", path, asked)).status !== 200 && performance.now() < deadlineMs)
          await sleep(AGAIN_MS);
      }
    };
    await Promise.all(Array.from({ length: JOIN_WIDTH }, joinOneByOne));
    const audible = players.filter(({ rate }) => rate > 0);
    const firstMs = (): number[] => audible.flatMap(({ guildId }) => surroundings.earOf(guildId).first?.atMs ?? []);
    while (firstMs().length < audible.length && performance.now() < deadlineMs) await sleep(POLL_MS);
    bot.close();
    return { listeningMs, startsMs: firstMs().map((atMs) => atMs - runs.spawnedMs) };
  } finally {
    await runs.close();
  }
}

/** The encoded tracks, from another node, as a client has them that has played them before. */
async function songsOf(surroundings: Surroundings, cast: readonly CastPlayer[]): Promise<ReadonlyMap<string, string>> {
  const runs = await NodeRuns.prepare({ hasState: false });
  try {
    await runs.start();
    const bot = await connectBot(runs);
    const songs = new Map<string, string>();
    for (const { song } of cast) {
      if (!songs.has(song)) songs.set(song, await bot.loadEncoded(surroundings.urlOf(song)));
    }
    bot.close();
    return songs;
  } finally {
    await runs.close();
  }
}
