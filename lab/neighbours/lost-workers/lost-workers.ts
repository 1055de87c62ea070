// `npm run lab -- isolation lost-workers`: what is heard when an audio worker ends, hangs or fills its memory in the
// middle of one player's work, with a hundred players on two workers, and who is blamed for it.

import { fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { quantile } from "../../report/statistics.ts";
import { sleep } from "../../sleep.ts";
import { Bot } from "../../stage/bot.ts";
import { ListeningPost, type WindowResult } from "../arena/listening-post.ts";
import { GAP_ALLOWANCE_MS, longestGapMs } from "../arena/verdict.ts";
import type { FragileNodeMessage } from "./fragile-node.ts";
import { STRIKES, type WorkerStrike } from "./strikes.ts";

const PASSWORD = "lost workers";
const USER_ID = "100000000000000001";
const JOIN_WIDTH = 8;
const CONTROL_SECONDS = 4;
const AFTER_SECONDS = 8;
const SETTLE_TRIES = 30;
const SETTLED_GAP_MS = 500;
const ENTRY = new URL("./fragile-node.js", import.meta.url);

interface LossResult {
  readonly strike: WorkerStrike["name"];
  readonly players: number;
  readonly controlGapMsMax: number;
  /** How many heard a gap longer than in the control, and their longest gaps. */
  readonly affected: number;
  readonly gapMsP50: number;
  readonly gapMsP99: number;
  readonly gapMsMax: number;
  /** For whom the worker was at work, and whom the node has blamed. */
  readonly struckPlayer: number | undefined;
  readonly blamedPlayers: readonly unknown[];
  readonly lossesLogged: number;
  /** Ends and exceptions that clients were told of. */
  readonly told: readonly string[];
}

/** Resolves with the exit status: 0 when nobody but the struck player was blamed and no track was lost. */
export async function runLostWorkers(args: string[]): Promise<number> {
  const options = { players: { type: "string", default: "100" }, json: { type: "string" } } as const;
  const { values } = parseArgs({ args, options });
  const results: LossResult[] = [];
  for (const strike of STRIKES) {
    const result = await measureLoss(strike, Number(values.players));
    console.log(describe(result));
    results.push(result);
  }
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
  const isFair = ({ blamedPlayers, struckPlayer }: LossResult) => blamedPlayers.every((id) => id === struckPlayer);
  return results.every((result) => isFair(result) && result.told.length === 0) ? 0 : 1;
}

/** With a node of its own, since a worker that was lost before is started later. */
async function measureLoss(strike: WorkerStrike, playerCount: number): Promise<LossResult> {
  const post = await ListeningPost.start();
  const node = fork(ENTRY, [PASSWORD]);
  const messages: FragileNodeMessage[] = [];
  try {
    const url = await new Promise<string>((resolve, reject) => {
      node.once("exit", () => reject(new Error("the node has ended")));
      node.on("message", (message) => {
        const told = message as FragileNodeMessage; // sent by fragile-node.ts
        messages.push(told);
        if (told.kind === "listens") resolve(told.url);
      });
    });
    const bot = await Bot.connect({ url, password: PASSWORD, userId: USER_ID });
    const guildIds = await startPlayers(bot, post, playerCount);
    const control = await measure(post, CONTROL_SECONDS, () => undefined);
    const after = await measure(post, AFTER_SECONDS, () => bot.update(guildIds[0] ?? "", { endTime: strike.endMs }));
    bot.close();
    return resultOf({ strike, control, after, messages, told: toldTo(bot) });
  } finally {
    if (node.connected) node.disconnect();
    post.close();
  }
}

async function startPlayers(bot: Bot, post: ListeningPost, count: number): Promise<string[]> {
  const guildIds = Array.from({ length: count }, (_, index) => String(120_000_000_000_000_000n + BigInt(index)));
  for (let from = 0; from < count; from += JOIN_WIDTH) {
    await Promise.all(guildIds.slice(from, from + JOIN_WIDTH).map((guildId) => start(bot, post, guildId)));
  }
  for (let tries = 0; tries < SETTLE_TRIES; tries++) {
    if (longestGapMs(await measure(post, 1, () => undefined)) < SETTLED_GAP_MS) return guildIds;
  }
  throw new Error("not all players are heard, even while no worker is lost");
}

async function start(bot: Bot, post: ListeningPost, guildId: string): Promise<void> {
  const channelId = `${guildId}7`;
  const voice = await post.issueVoice({ guildId, userId: USER_ID, channelId, daveVersion: 0 });
  await bot.update(guildId, { voice });
  await post.watch(guildId, channelId, { isDecoded: false });
  await bot.update(guildId, { track: { identifier: `${post.mediaUrl}/paced/song.webm` } });
}

async function measure(post: ListeningPost, seconds: number, work: () => unknown): Promise<WindowResult> {
  await post.openWindow();
  await work();
  await sleep(seconds * 1000);
  return post.closeWindow();
}

function toldTo(bot: Bot): string[] {
  const types = ["TrackEndEvent", "TrackExceptionEvent", "TrackStuckEvent", "WebSocketClosedEvent"];
  return types.flatMap((type) => bot.events(type).map(({ guildId }) => `${type} of ${guildId}`));
}

function resultOf(measured: {
  readonly strike: WorkerStrike;
  readonly control: WindowResult;
  readonly after: WindowResult;
  readonly messages: readonly FragileNodeMessage[];
  readonly told: readonly string[];
}): LossResult {
  const { strike, control, after, messages, told } = measured;
  const controlGapMsMax = longestGapMs(control);
  const gapsMs = after.heard
    .map(({ gapMsMax }) => gapMsMax)
    .filter((gapMs) => gapMs > controlGapMsMax + GAP_ALLOWANCE_MS);
  const gapMsAt = (share: number) => (gapsMs.length === 0 ? 0 : quantile(gapsMs, share));
  const losses = messages.flatMap((one) => (one.kind === "log" && one.message.includes("lost") ? [one.fields] : []));
  return {
    strike: strike.name,
    players: after.heard.length,
    controlGapMsMax,
    affected: gapsMs.length,
    gapMsP50: gapMsAt(0.5),
    gapMsP99: gapMsAt(0.99),
    gapMsMax: gapMsAt(1),
    struckPlayer: messages.flatMap((one) => (one.kind === "struck" ? [one.playerId] : []))[0],
    blamedPlayers: losses.flatMap(({ blamedPlayer }) => (blamedPlayer === undefined ? [] : [blamedPlayer])),
    lossesLogged: losses.length,
    told,
  };
}

function describe(result: LossResult): string {
  const { strike, players, affected, gapMsP50, gapMsP99, gapMsMax, controlGapMsMax, struckPlayer, blamedPlayers } =
    result;
  return [
    `an audio worker ${strike}: ${affected} of ${players} players hear a gap (control: ` +
      `${controlGapMsMax.toFixed(0)} ms)`,
    `  p50 ${gapMsP50.toFixed(0)} ms, p99 ${gapMsP99.toFixed(0)} ms, max ${gapMsMax.toFixed(0)} ms`,
    `  at work for player ${struckPlayer ?? "nobody"}, blamed: ${blamedPlayers.join(", ") || "nobody"}; ` +
      `${result.lossesLogged} loss(es)`,
    `  clients were told: ${result.told.join(", ") || "nothing"}`,
  ].join("\n");
}
