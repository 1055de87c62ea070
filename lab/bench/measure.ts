// The measurements: what a node costs at rest, how fast it starts a track, and what many players cost it.

import { sleep } from "../sleep.ts";
import { Bot } from "../stage/bot.ts";
import { type NodeCommand, NodeProcess } from "./node-process.ts";
import { World, type WorldStats } from "./world.ts";

export interface PlayersResult {
  readonly node: string;
  readonly file: string;
  readonly players: number;
  readonly seconds: number;
  /** Share of one core, in percent, per player, over what the idle node used. */
  readonly cpuPercentPerPlayer: number;
  readonly cpuPercentTotal: number;
  readonly memoryMegabytesPerPlayer: number;
  readonly memoryMegabytesTotal: number;
  readonly packetsDue: number;
  readonly packetsSent: number;
  readonly lateness: Pick<WorldStats, "latenessMsP50" | "latenessMsP99" | "latenessMsMax">;
  readonly violations: WorldStats["violations"];
}

export interface IdleResult {
  readonly node: string;
  readonly startMs: number;
  readonly residentMegabytes: number;
}

export interface StartLatencyResult {
  readonly node: string;
  readonly runs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface BenchOptions {
  readonly node: NodeCommand;
  readonly mediaRoot: string;
  readonly daveVersion: number;
}

const MEGABYTE = 1024 * 1024;
const IDLE_SETTLE_MS = 3000;
const WARM_UP_MS = 4000;
const FRAMES_PER_SECOND = 50;
const USER_ID = "100000000000000001";
/** Players set up at the same time: a client would not send hundreds of PATCHes at once either. */
const JOIN_WIDTH = 16;

export async function measureIdle(node: NodeCommand, runs: number): Promise<IdleResult> {
  const starts: number[] = [];
  let residentMegabytes = 0;
  for (let run = 0; run < runs; run++) {
    const running = await NodeProcess.start(node);
    starts.push(running.startMs);
    await sleep(IDLE_SETTLE_MS);
    residentMegabytes = running.use().residentBytes / MEGABYTE;
    await running.close();
  }
  return { node: node.name, startMs: quantile(starts, 0.5), residentMegabytes };
}

/** PATCH with a track on a player that is in voice, until its first packet of sound reached the fake Discord. */
export async function measureStartLatency(options: BenchOptions, runs: number): Promise<StartLatencyResult> {
  return withNode(options, async ({ world, bot }) => {
    const encoded = await bot.loadEncoded(`${await world.mediaUrl()}/song.webm`);
    const latencies: number[] = [];
    for (let run = 0; run < runs; run++) {
      const guildId = String(1_000_000 + run);
      await join({ world, bot, options, guildId });
      await sleep(300);
      const startedMs = performance.now();
      await bot.update(guildId, { track: { encoded } });
      while ((await world.soundFrames(guildId)) === 0) await sleep(1);
      latencies.push(performance.now() - startedMs);
      await bot.destroy(guildId);
    }
    return { node: options.node.name, runs, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
  });
}

/** So many players of the same file at once, each in a call of its own. */
export async function measurePlayers(
  options: BenchOptions,
  load: { file: string; players: number; seconds: number },
): Promise<PlayersResult> {
  return withNode(options, async ({ node, world, bot }) => {
    await sleep(IDLE_SETTLE_MS);
    const idle = node.use();
    await joinAndPlay({ world, bot }, options, load);
    await world.clearArrivals();
    const packetsBefore = (await world.stats()).frames;
    const before = node.use();
    const startedMs = performance.now();
    await sleep(load.seconds * 1000);
    const after = node.use();
    const elapsedSeconds = (performance.now() - startedMs) / 1000;
    const stats = await world.stats();
    const cpuPercentTotal = ((after.cpuSeconds - before.cpuSeconds) / elapsedSeconds) * 100;
    return {
      node: options.node.name,
      file: load.file,
      players: load.players,
      seconds: load.seconds,
      cpuPercentTotal,
      cpuPercentPerPlayer: cpuPercentTotal / load.players,
      memoryMegabytesTotal: after.residentBytes / MEGABYTE,
      memoryMegabytesPerPlayer: (after.residentBytes - idle.residentBytes) / MEGABYTE / load.players,
      packetsDue: Math.round(elapsedSeconds * FRAMES_PER_SECOND * load.players),
      packetsSent: stats.frames - packetsBefore,
      lateness: stats,
      violations: stats.violations,
    };
  });
}

/** Puts so many players into calls of their own, lets all play, and waits for them to settle. */
export async function joinAndPlay(
  { world, bot }: Pick<Running, "world" | "bot">,
  options: Pick<BenchOptions, "daveVersion">,
  load: { file: string; players: number },
): Promise<string[]> {
  const encoded = await bot.loadEncoded(`${await world.mediaUrl()}/${load.file}`);
  const guildIds = Array.from({ length: load.players }, (_, index) => String(1_000_000 + index));
  for (let from = 0; from < guildIds.length; from += JOIN_WIDTH) {
    const group = guildIds.slice(from, from + JOIN_WIDTH);
    await Promise.all(group.map((guildId) => join({ world, bot, options, guildId })));
    await Promise.all(group.map((guildId) => bot.update(guildId, { track: { encoded } })));
  }
  await sleep(WARM_UP_MS);
  return guildIds;
}

export interface Running {
  readonly node: NodeProcess;
  readonly world: World;
  readonly bot: Bot;
}

/** Starts node, world and bot for one measurement and ends them after it. */
export async function withNode<T>(options: BenchOptions, measure: (running: Running) => Promise<T>): Promise<T> {
  const world = await World.start(options.mediaRoot);
  const node = await NodeProcess.start(options.node);
  try {
    const bot = await Bot.connect({ url: node.url, password: node.password, userId: USER_ID });
    try {
      return await measure({ node, world, bot });
    } finally {
      bot.close();
    }
  } finally {
    await node.close();
    world.close();
  }
}

async function join(place: {
  world: World;
  bot: Bot;
  options: Pick<BenchOptions, "daveVersion">;
  guildId: string;
}): Promise<void> {
  const { guildId } = place;
  const { daveVersion } = place.options;
  const voice = await place.world.issueVoice({ guildId, userId: USER_ID, channelId: `${guildId}7`, daveVersion });
  await place.bot.update(guildId, { voice });
}

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
