// A client that plays a track again and again, as an operation for `beside`.

import { sleep } from "../../sleep.ts";
import type { Bot, NodeMessage } from "../../test-environment/bot.ts";
import type { Attack } from "../harness/attack.ts";

/** In turn, so that one start has time to be heard before the next of the same player. */
const PLAYERS = 4;
const START_MS_MAX = 5000;
const POLL_MS = 25;
/** More than what remains of the track before, and its silence. */
const PACKETS = 20;

/**
 * Starts the track, or that of the number, in separate players; resolves with "plays" once there is audio, or with why
 * there is none.
 */
export async function starts(
  client: Attack,
  track: string | ((number: number) => string),
): Promise<() => Promise<string>> {
  const bot = await client.session();
  const guildIds: string[] = [];
  for (let count = 0; count < PLAYERS; count++) guildIds.push(await client.join(bot));
  const last = new Map<string, Promise<unknown>>();
  let index = 0;
  return () => {
    const encoded = typeof track === "string" ? track : track(index);
    const guildId = guildIds[index++ % PLAYERS]!;
    const next = (last.get(guildId) ?? Promise.resolve()).then(() => outcomeOf(client, bot, { guildId, encoded }));
    last.set(
      guildId,
      next.catch(() => undefined),
    );
    return next;
  };
}

async function outcomeOf(
  client: Attack,
  bot: Bot,
  { guildId, encoded }: { readonly guildId: string; readonly encoded: string },
): Promise<string> {
  await bot.update(guildId, { track: { encoded: null } });
  const before = await client.audioPackets(guildId);
  const seen = bot.messages.length;
  await bot.update(guildId, { track: { encoded } });
  const endsAtMs = performance.now() + START_MS_MAX;
  while (performance.now() < endsAtMs) {
    const failure = bot.messages.slice(seen).find((message) => isException(message, guildId));
    if (failure !== undefined) return (failure as { exception?: { message?: string } }).exception?.message ?? "fails";
    if ((await client.audioPackets(guildId)) >= before + PACKETS) return "plays";
    await sleep(POLL_MS);
  }
  return "does not play";
}

function isException({ guildId, type }: NodeMessage, expected: string): boolean {
  return guildId === expected && type === "TrackExceptionEvent";
}
