// The control of the rounds: a fresh node without a store, whose client connects and plays as soon as it listens. What
// the start of a process and Discord's handshake cost without anything to restore. Lab only.

import { sleep } from "../sleep.ts";
import { NodeRuns } from "./node-runs.ts";
import { COUNTED_SONG, connectBot, type Surroundings } from "./surroundings.ts";

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

/** `players` at once, in guilds from `guild` on. */
export async function controlOf(
  surroundings: Surroundings,
  { players, guild }: { readonly players: number; readonly guild: number },
): Promise<Control> {
  const runs = await NodeRuns.prepare({ hasState: false });
  try {
    const guildIds = Array.from({ length: players }, (_, index) => String(guild + index));
    const voices = new Map(guildIds.map((guildId) => [guildId, surroundings.issueVoice(guildId)]));
    const listeningMs = await runs.start();
    const bot = await connectBot(runs);
    const identifier = surroundings.urlOf(COUNTED_SONG);
    const encoded = await bot.loadEncoded(identifier);
    const deadlineMs = performance.now() + AUDIBLE_MS_MAX;
    const left = guildIds.values();
    const joinOneByOne = async (): Promise<void> => {
      for (const guildId of left) {
        const path = `/v4/sessions/${bot.sessionId}/players/${guildId}`;
        const body = { voice: voices.get(guildId), track: { encoded } };
        // A node whose threads are busy with joining refuses for a while.
        while ((await bot.request("PATCH", path, body)).status !== 200 && performance.now() < deadlineMs)
          await sleep(AGAIN_MS);
      }
    };
    await Promise.all(Array.from({ length: JOIN_WIDTH }, joinOneByOne));
    const firstMs = (): number[] => guildIds.flatMap((guildId) => surroundings.earOf(guildId).first?.atMs ?? []);
    while (firstMs().length < players && performance.now() < deadlineMs) await sleep(POLL_MS);
    bot.close();
    return { listeningMs, startsMs: firstMs().map((atMs) => atMs - runs.spawnedMs) };
  } finally {
    await runs.close();
  }
}
