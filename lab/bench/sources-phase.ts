// One phase of `npm run bench -- sources`: everything is asked what the node should answer as ever, in a troubled phase
// what goes wrong as well, and what came of it is taken down.

import type { ArrivalSummary } from "../discord/arrival-statistics.ts";
import { siteQuestions } from "../sites/all-sites.ts";
import { sleep } from "../sleep.ts";
import type { Bot } from "../test-environment/bot.ts";
import { type Asked, askForSeconds, get, loadOf, type Question } from "./asker.ts";
import type { MainThreadReadings, WatchedNode } from "./main-thread-watch.ts";
import type { StandIns } from "./stand-ins.ts";
import type { World } from "./world.ts";

/** How often what is well is asked, and what is not. */
const ASK_MS = 200;
/** All sites together: each question, of some fifteen, about every four seconds. */
const ASK_SITES_MS = 250;
const ASK_MISBEHAVING_MS = 500;
const SETTLE_MS = 3000;

export type PhaseKind = "quiet" | "troubled";

interface PhaseContext {
  readonly node: WatchedNode;
  readonly world: World;
  readonly standIns: StandIns;
  readonly bot: Bot;
  readonly mediaUrl: string;
}

/** Counted from the first to the last moment of the phase. */
export interface Phase {
  readonly kind: PhaseKind;
  readonly seconds: number;
  readonly lateness: ArrivalSummary;
  /** By RTP: sent and lost, left out by the node, and sent without sound. */
  readonly lostPackets: number;
  readonly skippedFrames: number;
  readonly silentFrames: number;
  readonly readings: MainThreadReadings;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** By what was asked. */
  readonly asked: Readonly<Record<string, Asked>>;
  /** Threads that were lost, by plugin. */
  readonly losses: Readonly<Record<string, number>>;
}

/** What is to be answered as ever. */
function healthyQuestions(mediaUrl: string): Readonly<Record<string, Question>> {
  return {
    "a plugin that is well": loadOf((number) => `exsearch:song ${number}`),
    "a link to a file": loadOf((number) => `${mediaUrl}?number=${number}`),
    "/v4/stats": get("/v4/stats"),
  };
}

/** What goes wrong: `told` where the error names the source, else the message. */
const SITES: Question = async (bot, number, round) => {
  const all = siteQuestions(number);
  const { source, identifier } = all[round % all.length] ?? { source: "", identifier: "" };
  const { loadType, data } = (await bot.load(identifier)).body;
  const message = loadType === "error" ? (data as { readonly message: string }).message : loadType;
  return message.includes(source) ? "told" : `${source}: ${message}`;
};
const LOOPING = misbehaving("looping", ["loop"]);
const HUNGRY = misbehaving("hungry", ["heap", "buffers"]);

function misbehaving(name: string, deeds: readonly string[]): Question {
  return async (bot, _number, round) => {
    const { body } = await bot.load(`${name}:${deeds[round % deeds.length]}`);
    const { message } = body.data as { readonly message: string };
    return message.includes("stopped during the request") ? "thread lost" : "resting";
  };
}

export async function measurePhase(
  context: PhaseContext,
  { kind, seconds }: { readonly kind: PhaseKind; readonly seconds: number },
): Promise<Phase> {
  const { node, world, standIns, bot } = context;
  await reloadPlugins(bot);
  const isTroubled = kind === "troubled";
  if (isTroubled) await standIns.hang();
  await sleep(SETTLE_MS);
  const before = await takeDown(context);
  await world.clearArrivals();
  await node.takeReadings();
  const ask = (questions: Readonly<Record<string, Question>>, everyMs: number) =>
    Object.entries(questions).map(async ([name, question]) => {
      return [name, await askForSeconds(question, { bot, everyMs, seconds })] as const;
    });
  const asking = [
    ...ask(healthyQuestions(context.mediaUrl), ASK_MS),
    ...(isTroubled ? ask({ "sites that hang": SITES }, ASK_SITES_MS) : []),
    ...(isTroubled ? ask({ "a loop": LOOPING, "memory without end": HUNGRY }, ASK_MISBEHAVING_MS) : []),
  ];
  const ended = await Promise.all(asking);
  const lateness = await world.takeArrivals(kind);
  const readings = await node.takeReadings();
  const after = await takeDown(context);
  const rest = await Promise.all(ended.map(async ([name, untilAnswered]) => [name, await untilAnswered()] as const));
  if (isTroubled) await standIns.answerAgain();
  const grown = (of: "lost" | "skipped" | "silent" | "cpuSeconds") => after[of] - before[of];
  return {
    kind,
    seconds,
    lateness,
    readings,
    residentBytes: after.residentBytes,
    cpuSeconds: grown("cpuSeconds"),
    lostPackets: grown("lost"),
    skippedFrames: grown("skipped"),
    silentFrames: grown("silent"),
    asked: Object.fromEntries(rest),
    losses: Object.fromEntries(
      [...after.losses].flatMap(([name, count]) => {
        const lost = count - (before.losses.get(name) ?? 0);
        return lost === 0 ? [] : [[name, lost]];
      }),
    ),
  };
}

/** So that no phase profits from what the one before has closed: open circuit breakers, threads that rest. */
async function reloadPlugins(bot: Bot): Promise<void> {
  for (const { name } of await plugins(bot)) await bot.request("POST", `/v4/tonearm/plugins/${name}/reload`);
}

async function plugins(bot: Bot): Promise<readonly { readonly name: string; readonly losses: number }[]> {
  return (await bot.request<{ name: string; losses: number }[]>("GET", "/v4/tonearm/plugins")).body;
}

async function takeDown({ world, node, bot }: PhaseContext) {
  const { frames, audioFrames, lostPackets, skippedFrames } = await world.stats();
  const losses = new Map((await plugins(bot)).map(({ name, losses: count }) => [name, count]));
  return { lost: lostPackets, skipped: skippedFrames, silent: frames - audioFrames, losses, ...node.process.use() };
}
