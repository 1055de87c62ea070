// The second part of `npm run bench -- sources`: how long the main thread is blocked at a time while lists of 5,000
// entries are loaded, one after the other, compared with the same time without loads.

import { quantile } from "../report/statistics.ts";
import { sleep } from "../sleep.ts";
import { Bot } from "../test-environment/bot.ts";
import { FakeSites } from "./fake-sites.ts";
import { type MainThreadReadings, WatchedNode } from "./main-thread-watch.ts";
import { ownNode } from "./node-process.ts";

const ENTRIES = 5000;
/** The limit that the issue sets. */
const HELD_MS_MAX = 5;
const SETTLE_MS = 2000;

interface Lists {
  readonly loads: number;
  readonly loadMsP50: number;
  readonly quiet: MainThreadReadings;
  readonly loading: MainThreadReadings;
}

/** `loads` lists in each of `rounds` rounds, each after an equally long time without loads. */
export async function measureLists({
  loads,
  rounds,
}: {
  readonly loads: number;
  readonly rounds: number;
}): Promise<Lists> {
  // First, as it may throw: a process of sites would then keep this one alive.
  const own = ownNode();
  const fakeSites = await FakeSites.start();
  const address = await fakeSites.addSet(ENTRIES);
  const args = [...own.args, ...fakeSites.args, `--plugins.soundcloud.setTracksMax=${ENTRIES}`];
  const node = await WatchedNode.start({ ...own, args }, { pauseMs: 1 });
  const { url, password } = node.process;
  const bot = await Bot.connect({ url, password });
  const loadsMs: number[] = [];
  const [quiet, loading]: [MainThreadReadings[], MainThreadReadings[]] = [[], []];
  try {
    await load(bot, address);
    for (let round = 0; round < rounds; round++) {
      await sleep(SETTLE_MS);
      await node.takeReadings();
      for (let count = 0; count < loads; count++) loadsMs.push(await load(bot, address));
      loading.push(await node.takeReadings());
      await sleep(SETTLE_MS);
      await node.takeReadings();
      await sleep(loadsMs.slice(-loads).reduce((sum, ms) => sum + ms, 0));
      quiet.push(await node.takeReadings());
    }
  } finally {
    bot.close();
    await node.process.close();
    await fakeSites.close();
  }
  const all = { quiet: together(quiet), loading: together(loading) };
  return { loads: loadsMs.length, loadMsP50: quantile(loadsMs, 0.5), ...all };
}

/** Duration of a load, milliseconds. */
async function load(bot: Bot, address: string): Promise<number> {
  const startedMs = performance.now();
  const { loadType, data } = (await bot.load(address)).body;
  const count = loadType === "playlist" ? (data as { readonly tracks: readonly unknown[] }).tracks.length : 0;
  if (count !== ENTRIES) throw new Error(`${address}: ${loadType} of ${count} tracks`);
  return performance.now() - startedMs;
}

function together(readings: readonly MainThreadReadings[]): MainThreadReadings {
  return { waitsMs: readings.flatMap(({ waitsMs }) => waitsMs), heldMs: readings.flatMap(({ heldMs }) => heldMs) };
}

export function printLists({ loads, loadMsP50, quiet, loading }: Lists): void {
  console.log(`\n${loads} lists of ${ENTRIES} entries, one after the other, ${loadMsP50.toFixed(0)} ms each\n`);
  console.log(
    `| main thread blocked | samples | p99, ms | longest | over ${HELD_MS_MAX} ms | longest, including waits |`,
  );
  console.log("| --- | --- | --- | --- | --- | --- |");
  for (const [name, { heldMs, waitsMs }] of Object.entries({ "without lists": quiet, "while they load": loading })) {
    const over = heldMs.filter((ms) => ms > HELD_MS_MAX).length;
    const longest = [quantile(heldMs, 0.99), quantile(heldMs, 1)].map((ms) => ms.toFixed(2));
    console.log(`| ${[name, heldMs.length, ...longest, over, quantile(waitsMs, 1).toFixed(2)].join(" | ")} |`);
  }
}
