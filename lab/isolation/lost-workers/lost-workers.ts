// `npm run lab -- isolation lost-workers`: what listeners receive when an audio worker ends, hangs or fills its memory
// in the middle of one player's work, with a hundred players on two workers, and to which player the node attributes
// it.

import { fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { quantile } from "../../report/statistics.ts";
import { sleep } from "../../sleep.ts";
import { Bot } from "../../test-environment/bot.ts";
import { ListeningPost, type WindowResult } from "../harness/listening-post.ts";
import { GAP_TOLERANCE_MS, longestGapMs } from "../harness/verdict.ts";
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
  /** Number of players with a gap longer than in the control, and their longest gaps. */
  readonly affected: number;
  readonly gapMsP50: number;
  readonly gapMsP99: number;
  readonly gapMsMax: number;
  /** The player that the worker was working for, and those the node has named as culprits. */
  readonly struckPlayer: number | undefined;
  readonly attributedPlayers: readonly unknown[];
  readonly lossesLogged: number;
  /** Ends and exceptions that were reported to clients. */
  readonly reported: readonly string[];
}

/** Resolves with the exit status: 0 when only the struck player was named as culprit and no track was lost. */
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
  const isFair = ({ attributedPlayers, struckPlayer }: LossResult) =>
    attributedPlayers.every((id) => id === struckPlayer);
  return results.every((result) => isFair(result) && result.reported.length === 0) ? 0 : 1;
}

/** Uses a new node, since a worker that was lost before is replaced later. */
async function measureLoss(strike: WorkerStrike, playerCount: number): Promise<LossResult> {
  const post = await ListeningPost.start();
  const node = fork(ENTRY, [PASSWORD]);
  const messages: FragileNodeMessage[] = [];
  try {
    const url = await new Promise<string>((resolve, reject) => {
      node.once("exit", () => reject(new Error("the node has ended")));
      node.on("message", (message) => {
        const reported = message as FragileNodeMessage; // sent by fragile-node.ts
        messages.push(reported);
        if (reported.kind === "listens") resolve(reported.url);
      });
    });
    const bot = await Bot.connect({ url, password: PASSWORD, userId: USER_ID });
    const guildIds = await startPlayers(bot, post, playerCount);
    const control = await measure(post, CONTROL_SECONDS, () => undefined);
    const after = await measure(post, AFTER_SECONDS, () => bot.update(guildIds[0] ?? "", { endTime: strike.endMs }));
    bot.close();
    return resultOf({ strike, control, after, messages, reported: reportedTo(bot) });
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
  throw new Error("some players send no audio, even while no worker is lost");
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

function reportedTo(bot: Bot): string[] {
  const types = ["TrackEndEvent", "TrackExceptionEvent", "TrackStuckEvent", "WebSocketClosedEvent"];
  return types.flatMap((type) => bot.events(type).map(({ guildId }) => `${type} of ${guildId}`));
}

function resultOf(measured: {
  readonly strike: WorkerStrike;
  readonly control: WindowResult;
  readonly after: WindowResult;
  readonly messages: readonly FragileNodeMessage[];
  readonly reported: readonly string[];
}): LossResult {
  const { strike, control, after, messages, reported } = measured;
  const controlGapMsMax = longestGapMs(control);
  const gapsMs = after.received
    .map(({ gapMsMax }) => gapMsMax)
    .filter((gapMs) => gapMs > controlGapMsMax + GAP_TOLERANCE_MS);
  const gapMsAt = (share: number) => (gapsMs.length === 0 ? 0 : quantile(gapsMs, share));
  const losses = messages.flatMap((one) => (one.kind === "log" && one.message.includes("lost") ? [one.fields] : []));
  return {
    strike: strike.name,
    players: after.received.length,
    controlGapMsMax,
    affected: gapsMs.length,
    gapMsP50: gapMsAt(0.5),
    gapMsP99: gapMsAt(0.99),
    gapMsMax: gapMsAt(1),
    struckPlayer: messages.flatMap((one) => (one.kind === "struck" ? [one.playerId] : []))[0],
    attributedPlayers: losses.flatMap(({ attributedPlayer }) =>
      attributedPlayer === undefined ? [] : [attributedPlayer],
    ),
    lossesLogged: losses.length,
    reported,
  };
}

function describe(result: LossResult): string {
  const { strike, players, affected, gapMsP50, gapMsP99, gapMsMax, controlGapMsMax, struckPlayer, attributedPlayers } =
    result;
  return [
    `an audio worker ${strike}: ${affected} of ${players} players have a gap (control: ` +
      `${controlGapMsMax.toFixed(0)} ms)`,
    `  p50 ${gapMsP50.toFixed(0)} ms, p99 ${gapMsP99.toFixed(0)} ms, max ${gapMsMax.toFixed(0)} ms`,
    `  at work for player ${struckPlayer ?? "none"}, culprits: ${attributedPlayers.join(", ") || "none"}; ` +
      `${result.lossesLogged} loss(es)`,
    `  reported to clients: ${result.reported.join(", ") || "nothing"}`,
  ].join("\n");
}
