// The last requests of a run of the chaos lab: every player is paused, then destroyed. Each must obey, wherever it is by
// now, and afterwards no machine may have a player or send anything: what goes on then is one that nobody knows of.
// Lab only.

import type { Machine } from "../cluster/machines.ts";
import { RESTART_PASSWORD } from "../restart/node-runs.ts";
import type { Surroundings } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import { requestNode } from "../test-environment/rest-request.ts";
import type { ChaosBot } from "./chaos-bot.ts";

const PAUSED_MS = 1000;
const AWAY_MS = 3000;

export interface FarewellContext {
  readonly surroundings: Surroundings;
  readonly machines: readonly Machine[];
  readonly bots: readonly ChaosBot[];
}

/** Of bots with their session. Returns who does not obey, and what is left. */
export async function sayFarewell({ surroundings, machines, bots }: FarewellContext): Promise<readonly string[]> {
  const guilds = bots.flatMap((bot) => (bot.hasSession ? guildsOf(bot).map((guildId) => ({ bot, guildId })) : []));
  const losses: string[] = [];
  const askAll = async (method: string, expected: number, body?: object): Promise<void> => {
    const answers = guilds.map(async ({ bot, guildId }) => {
      const { status } = await bot.bot.request(method, `${playersPath(bot)}/${guildId}`, body);
      if (status !== expected) losses.push(`player ${guildId}: the last ${method} was answered with ${status}`);
    });
    await Promise.all(answers);
  };
  const heardAfter = (sinceMs: number): readonly string[] =>
    guilds.flatMap(({ guildId }) => ((surroundings.earOf(guildId).last?.atMs ?? 0) > sinceMs ? [guildId] : []));
  await Promise.all(bots.map((bot) => bot.fallSilent()));
  await askAll("PATCH", 200, { paused: true });
  await sleep(PAUSED_MS);
  const pausedMs = performance.now();
  await sleep(PAUSED_MS);
  losses.push(...heardAfter(pausedMs).map((guildId) => `player ${guildId} is heard after its pause was answered`));
  await askAll("PATCH", 200, { paused: false });
  await askAll("DELETE", 204);
  await sleep(PAUSED_MS);
  const destroyedMs = performance.now();
  await sleep(AWAY_MS);
  losses.push(...heardAfter(destroyedMs).map((guildId) => `player ${guildId} is heard after it was destroyed`));
  for (const bot of bots) {
    const { status, body } = await bot.bot.request<readonly unknown[]>("GET", playersPath(bot));
    if (status !== 200 || body.length > 0) losses.push(`bot ${bot.userId} has players in the end: ${status}`);
  }
  for (const { name, url } of machines) {
    const access = { url, password: RESTART_PASSWORD };
    const { body } = await requestNode<{ players: number }>(access, { method: "GET", path: "/v4/stats" });
    if (body.players > 0) losses.push(`${name} has ${body.players} players in the end`);
  }
  return losses;
}

function guildsOf({ cast, jukeboxes }: ChaosBot): readonly string[] {
  return [...cast, ...jukeboxes].map(({ guildId }) => guildId);
}

function playersPath({ bot }: ChaosBot): string {
  return `/v4/sessions/${bot.sessionId}/players`;
}
