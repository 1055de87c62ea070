// `npm run bench -- sources`: how failing sites and plugins affect everything else. Part one: many players, alternating
// between phases in which all is well and phases in which all sites hang, one plugin loops and another fills memory.
// Part two: how long lists of 5,000 entries block the main thread. Each has its control in the same run, so that the
// machine's noise affects both. Needs Linux (/proc), and ffmpeg for the song unless `--media FOLDER` has a long one.

import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Bot } from "../test-environment/bot.ts";
import { BENCH_USER_ID, Crowd } from "./crowd.ts";
import { WatchedNode } from "./main-thread-watch.ts";
import { makeBenchMedia } from "./media.ts";
import { TONEARM } from "./node-process.ts";
import { measureLists, printLists } from "./sources-lists.ts";
import { measurePhase, type Phase } from "./sources-phase.ts";
import { printPhase, printPhases } from "./sources-table.ts";
import { StandIns } from "./stand-ins.ts";
import { World } from "./world.ts";

/** Until all that was asked in a phase is answered, and the next one begins. */
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
  const songSeconds = JOIN_SECONDS + 2 * rounds * (seconds + PHASE_REST_SECONDS);
  const mediaRoot = values.media ?? (await makeBenchMedia(songSeconds));
  const world = await World.start(mediaRoot);
  const standIns = await StandIns.start();
  const node = await WatchedNode.start(
    { ...TONEARM, args: [...TONEARM.args, ...standIns.args, ...pluginArgs()] },
    { pauseMs: 5 },
  );
  const { url, password } = node.process;
  const bot = await Bot.connect({ url, password, userId: BENCH_USER_ID });
  try {
    const crowd = await Crowd.gather({ world, bot, daveVersion: 1 });
    await crowd.play(values.file, players);
    const context = { node, world, standIns, bot, mediaUrl: `${await world.mediaUrl()}/${values.file}` };
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
    await standIns.close();
    world.close();
  }
}

/** The one of the docs, which stays well, and two that do not. */
function pluginArgs(): readonly string[] {
  const modules = [
    "../../../plugins/example/plugin.mjs",
    "../misbehaving-plugins/looping.js",
    "../misbehaving-plugins/hungry.js",
  ].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  return modules.map((path, index) => `--tonearm.plugins.${index}.path=${path}`);
}
