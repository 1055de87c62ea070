// `npm run neighbours:losses`: what is heard when an audio worker is lost, by ending at once, by a loop without end, and by
// running out of memory, while many play; and whether the right player was blamed. Each loss is measured beside a window
// without one in the same run. Prints a table.

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type NodeCommand, NodeProcess } from "../bench/node-process.ts";
import { Bot } from "../stage/bot.ts";
import { sleep } from "./attack.ts";
import { DEADLY_END_TIMES } from "./deadly-end-times.ts";
import { ListeningPost, type WindowResult } from "./listening-post.ts";

const FRAGILE_NODE: NodeCommand = {
  name: "fragile",
  command: process.execPath,
  args: [fileURLToPath(new URL("./fragile-node.js", import.meta.url))],
};
const USER_ID = "100000000000000001";
const FIRST_GUILD = 120_000_000_000_000_000n;
/** Players set up at the same time. */
const JOIN_WIDTH = 10;
const WARM_UP_MS = 4000;
const WINDOW_MS = 5000;
/** A gap this much longer than the longest without a loss is one that the loss has made. */
const NOTICED_MS = 40;

const { values } = parseArgs({
  options: {
    players: { type: "string", default: "100" },
    workers: { type: "string", default: "2" },
    file: { type: "string", default: "song.webm" },
  },
});
const playerCount = Number(values.players);

console.log(`${playerCount} players of ${values.file} on ${values.workers} audio workers; gaps in milliseconds\n`);
console.log("| how | players that noticed | gap p50 | p99 | max | without a loss, max | blamed | plays on |");
console.log("|---|---|---|---|---|---|---|---|");
for (const how of Object.keys(DEADLY_END_TIMES) as (keyof typeof DEADLY_END_TIMES)[]) console.log(await measure(how));

async function measure(how: keyof typeof DEADLY_END_TIMES): Promise<string> {
  const lines: string[] = [];
  const post = await ListeningPost.start();
  const environment = { TONEARM_WORKERS_COUNT: values.workers };
  const node = await NodeProcess.start(FRAGILE_NODE, environment, (line) => lines.push(line));
  const bot = await Bot.connect({ url: node.url, password: node.password, userId: USER_ID });
  try {
    const guildIds = await playAll(bot, post);
    await post.openWindow();
    await sleep(WINDOW_MS);
    const control = await post.closeWindow();
    await post.openWindow();
    const culprit = guildIds[0] ?? "";
    void bot.update(culprit, { endTime: DEADLY_END_TIMES[how] });
    await sleep(WINDOW_MS);
    const loss = await post.closeWindow();
    const { track } = await bot.player(culprit);
    return row(how, { control, loss, blamed: blamedIn(lines), playsOn: track !== null });
  } finally {
    bot.terminate();
    await node.close();
    post.close();
  }
}

async function playAll(bot: Bot, post: ListeningPost): Promise<string[]> {
  const guildIds = Array.from({ length: playerCount }, (_, index) => String(FIRST_GUILD + BigInt(index)));
  for (let from = 0; from < guildIds.length; from += JOIN_WIDTH) {
    await Promise.all(guildIds.slice(from, from + JOIN_WIDTH).map((guildId) => play(bot, post, guildId)));
  }
  await sleep(WARM_UP_MS);
  return guildIds;
}

async function play(bot: Bot, post: ListeningPost, guildId: string): Promise<void> {
  const channelId = `${guildId}7`;
  const voice = await post.issueVoice({ guildId, userId: USER_ID, channelId, daveVersion: 0 });
  await bot.update(guildId, { voice });
  await post.watch(guildId, channelId);
  await bot.update(guildId, { track: { identifier: `${post.mediaUrl}/${values.file}` } });
}

/** Of the log's lines about lost workers: which player of the worker was named, and what was done for it. */
function blamedIn(lines: readonly string[]): string {
  const losses = lines.filter((line) => line.includes("audio worker was lost"));
  const named = losses.map((line) => JSON.parse(line) as { blamedPlayer?: number; activity?: string });
  return named.map(({ blamedPlayer, activity }) => `${blamedPlayer ?? "nobody"} (${activity ?? ""})`).join(", ");
}

interface Findings {
  readonly control: WindowResult;
  readonly loss: WindowResult;
  readonly blamed: string;
  readonly playsOn: boolean;
}

function row(how: string, { control, loss, blamed, playsOn }: Findings): string {
  const usualMs = Math.max(...control.heard.map(({ gapMsMax }) => gapMsMax));
  const noticed = loss.heard.map(({ gapMsMax }) => gapMsMax).filter((gapMs) => gapMs > usualMs + NOTICED_MS);
  const sorted = noticed.toSorted((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const gaps = [quantile(0.5), quantile(0.99), sorted.at(-1) ?? 0, usualMs].map((gapMs) => gapMs.toFixed(0));
  return `| ${[how, noticed.length, ...gaps, blamed, playsOn ? "yes" : "no"].join(" | ")} |`;
}
