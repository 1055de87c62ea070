// `npm run bench -- sources`: how failing sites and plugins affect everything else. Part one: many players, alternating
// between phases in which all is well and phases in which all sites hang, one plugin loops and another fills memory.
// Part two: how long lists of 5,000 entries block the main thread. Each has its control in the same run, so that the
// machine's noise affects both. Needs Linux (/proc), and ffmpeg for the song unless `--media FOLDER` has a long one.

import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodeFile } from "../node-package.ts";
import { Bot } from "../test-environment/bot.ts";
import { BENCH_USER_ID, Crowd } from "./crowd.ts";
import { FakeSites } from "./fake-sites.ts";
import { WatchedNode } from "./main-thread-watch.ts";
import { makeBenchMedia } from "./media.ts";
import { ownNode } from "./node-process.ts";
import { measureLists, printLists } from "./sources-lists.ts";
import { measurePhase, type Phase } from "./sources-phase.ts";
import { printPhase, printPhases } from "./sources-table.ts";
import { World } from "./world.ts";

/** Time for pending answers of a phase before the next one begins. */
const PHASE_REST_SECONDS = 30;
const JOIN_SECONDS = 30;

const { values } = parseArgs({
  options: {
    players: { type: "string", default: "50" },
    /** Length of each phase. */
    seconds: { type: "string", default: "30" },
    /** Phases of each kind. */
    rounds: { type: "string", default: "2" },
    file: { type: "string", default: "song.webm" },
    media: { type: "string" },
    lists: { type: "string", default: "10" },
    /** `players` or `lists`. */
    only: { type: "string" },
  },
});
const [players, seconds, rounds] = [Number(values.players), Number(values.seconds), Number(values.rounds)];

console.log(`${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString()}`);
if (values.only !== "lists") await comparePhases();
if (values.only !== "players") printLists(await measureLists({ loads: Number(values.lists), rounds }));

async function comparePhases(): Promise<void> {
  const own = ownNode();
  const songSeconds = JOIN_SECONDS + 2 * rounds * (seconds + PHASE_REST_SECONDS);
  const mediaRoot = values.media ?? (await makeBenchMedia(songSeconds));
  const world = await World.start(mediaRoot);
  const fakeSites = await FakeSites.start();
  const node = await WatchedNode.start(
    { ...own, args: [...own.args, ...fakeSites.args, ...pluginArgs()] },
    { pauseMs: 5 },
  );
  const { url, password } = node.process;
  const bot = await Bot.connect({ url, password, userId: BENCH_USER_ID });
  try {
    const crowd = await Crowd.gather({ world, bot, daveVersion: 1 });
    await crowd.play(values.file, players);
    const context = { node, world, fakeSites, bot, mediaUrl: `${await world.mediaUrl()}/${values.file}` };
    const phases: Phase[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const kind of ["quiet", "troubled"] as const) {
        const phase = await measurePhase(context, { kind, seconds });
        phases.push(phase);
        printPhase(phase);
      }
    }
    const sums = { quiet: await world.arrivalsOf("quiet"), troubled: await world.arrivalsOf("troubled") };
    printPhases(phases, { sums, violations: (await world.stats()).violations, players });
  } finally {
    bot.close();
    await node.process.close();
    await fakeSites.close();
    world.close();
  }
}

/** The plugin of the docs, which stays healthy, and two that do not. */
function pluginArgs(): readonly string[] {
  const misbehaving = ["looping", "hungry"].map((name) => {
    return fileURLToPath(new URL(`../misbehaving-plugins/${name}.js`, import.meta.url));
  });
  return [nodeFile("plugins/example/plugin.mjs"), ...misbehaving].map(
    (path, index) => `--tonearm.plugins.${index}.path=${path}`,
  );
}
