// An honest client that starts a track again and again, as an operation for `beside`.

import type { Bot, NodeMessage } from "../../test-environment/bot.ts";
import type { Attack } from "../harness/attack.ts";

const START_MS_MAX = 5000;

/** Starts the track in a player of its own; resolves with "starts", or why it does not. */
export async function starts(client: Attack, encoded: string): Promise<() => Promise<string>> {
  const bot = await client.session();
  const guildId = await client.join(bot);
  let last: Promise<unknown> = Promise.resolve();
  // One after the other: a start that is replaced has no outcome.
  return () => {
    const next = last.then(() => startOf(bot, guildId, encoded));
    last = next.catch(() => undefined);
    return next;
  };
}

async function startOf(bot: Bot, guildId: string, encoded: string): Promise<string> {
  const seen = bot.messages.length;
  await bot.update(guildId, { track: { encoded } });
  const isOutcome = (message: NodeMessage): boolean =>
    message.guildId === guildId && (message.type === "TrackStartEvent" || message.type === "TrackExceptionEvent");
  const find = () => bot.messages.slice(seen).find(isOutcome);
  await bot.until((message) => message === find(), "the start", START_MS_MAX).catch(() => undefined);
  const found = find();
  if (found?.type === "TrackStartEvent") return "starts";
  return (found as { exception?: { message?: string } } | undefined)?.exception?.message ?? "does not start";
}
