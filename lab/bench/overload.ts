// `npm run bench -- overload`: twice as many MP3 players as the machine can carry, with load control and, in the same
// run, without. Reports how many were admitted, what they lost, how late their packets were, at which complexity the
// encoders worked, and how that recovers when most have left. Needs Linux and, like the rest of the bench, ffmpeg or
// `--media FOLDER`.

import { parseArgs } from "node:util";
import { sleep } from "../sleep.ts";
import { Bot } from "../test-environment/bot.ts";
import { makeBenchMedia } from "./media.ts";
import { NodeProcess, ownNode } from "./node-process.ts";
import { World } from "./world.ts";

const USER_ID = "100000000000000001";
/**
 * Players that start in one step, and the length of a step: about the pace at which a large bot returns after a
 * restart.
 */
const STEP_PLAYERS = 4;
const STEP_MS = 500;
const SETTLE_MS = 3000;
const FRAMES_PER_SECOND = 50;
/** Encoders must have recovered within this time, else the report says that they have not. */
const RECOVERY_MS_MAX = 120_000;

const { values } = parseArgs({
  options: {
    media: { type: "string" },
    seconds: { type: "string", default: "15" },
    /** Maximum number of players tried. */
    limit: { type: "string", default: "400" },
  },
});
const seconds = Number(values.seconds);
const own = ownNode();
const mediaRoot = values.media ?? (await makeBenchMedia());

interface Load {
  readonly hasCapacity: boolean;
  readonly encoder: { readonly complexity: number };
}

interface Crowd {
  readonly node: NodeProcess;
  readonly world: World;
  readonly bot: Bot;
  readonly guildIds: string[];
  tried: number;
}

console.log("| load control | tried | admitted | packets due | sent | late p50 | p99 | max ms | complexity |");
console.log("|---|---|---|---|---|---|---|---|---|");
const tried = await measureControlled();
await measureUncontrolled(tried);

/** Adds players until one is refused, and then as many again. Returns how many were added. */
async function measureControlled(): Promise<number> {
  return withCrowd(true, async (crowd) => {
    const limit = Number(values.limit);
    while (crowd.guildIds.length === crowd.tried && crowd.tried < limit) await step(crowd);
    const target = Math.min(limit, crowd.guildIds.length * 2);
    while (crowd.tried < target) await step(crowd);
    await report("on", crowd);
    await measureRecovery(crowd);
    return crowd.tried;
  });
}

async function measureUncontrolled(count: number): Promise<void> {
  await withCrowd(false, async (crowd) => {
    while (crowd.tried < count) await step(crowd);
    await report("off", crowd);
  });
}

/** Nine of ten stop. */
async function measureRecovery({ bot, guildIds, node }: Crowd): Promise<void> {
  const before = await readLoad(node);
  const startedMs = performance.now();
  for (const guildId of guildIds.slice(Math.ceil(guildIds.length / 10))) await bot.destroy(guildId);
  let load = await readLoad(node);
  while (load.encoder.complexity < 10 && performance.now() - startedMs < RECOVERY_MS_MAX) {
    await sleep(500);
    load = await readLoad(node);
  }
  const tookSeconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  console.log(
    `\nWhen nine of ten had left, encoders recovered from complexity ${before.encoder.complexity} to ` +
      `${load.encoder.complexity} after ${tookSeconds} s.\n`,
  );
}

async function step(crowd: Crowd): Promise<void> {
  const startedMs = performance.now();
  const joining = Array.from({ length: STEP_PLAYERS }, () => play(crowd, String(2_000_000 + crowd.tried++)));
  await Promise.all(joining);
  await sleep(Math.max(0, STEP_MS - (performance.now() - startedMs)));
}

async function play({ world, bot, guildIds }: Crowd, guildId: string): Promise<void> {
  // A different track for each: a node does work for equal ones only once.
  const encoded = await bot.loadEncoded(`${await world.mediaUrl()}/song.mp3?${guildId}`);
  const voice = await world.issueVoice({ guildId, userId: USER_ID, channelId: `${guildId}7`, daveVersion: 0 });
  await bot.update(guildId, { voice });
  const path = `/v4/sessions/${bot.sessionId}/players/${guildId}`;
  const { status } = await bot.request("PATCH", path, { track: { encoded } });
  if (status === 200) guildIds.push(guildId);
  else if (status === 503) await bot.destroy(guildId);
  else throw new Error(`PATCH player was answered with ${status}`);
}

async function report(control: string, { world, node, guildIds, tried: triedCount }: Crowd): Promise<void> {
  await sleep(SETTLE_MS);
  await world.clearArrivals();
  const before = (await world.stats()).frames;
  const startedMs = performance.now();
  await sleep(seconds * 1000);
  const stats = await world.stats();
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  const due = Math.round(elapsedSeconds * FRAMES_PER_SECOND * guildIds.length);
  const late = [stats.latenessMsP50, stats.latenessMsP99, stats.latenessMsMax].map((value) => value.toFixed(1));
  const { encoder } = await readLoad(node);
  const cells = [control, triedCount, guildIds.length, due, stats.frames - before, ...late, encoder.complexity];
  console.log(`| ${cells.join(" | ")} |`);
}

async function readLoad(node: NodeProcess): Promise<Load> {
  const answer = await fetch(`${node.url}/v4/tonearm/load`, { headers: { authorization: node.password } });
  return (await answer.json()) as Load;
}

async function withCrowd<T>(isControlled: boolean, measure: (crowd: Crowd) => Promise<T>): Promise<T> {
  const world = await World.start(mediaRoot);
  const node = await NodeProcess.start(own, { TONEARM_WORKERS_LOAD_CONTROL: String(isControlled) });
  try {
    const bot = await Bot.connect({ url: node.url, password: node.password, userId: USER_ID });
    try {
      return await measure({ node, world, bot, guildIds: [], tried: 0 });
    } finally {
      bot.close();
    }
  } finally {
    await node.close();
    world.close();
  }
}
