// Runs the checks against a node: starts media and voice servers, finds out what the node can reach, runs many checks
// concurrently, and returns one result for each.

import { FakeDiscord } from "../discord/fake-discord.ts";
import { plainPlan } from "../media-server/answer-plan.ts";
import { MediaServer } from "../media-server/media-server.ts";
import { CHECKS } from "./checks.ts";
import type { Check, Need } from "./workbench/check.ts";
import { Mismatch } from "./workbench/expectation.ts";
import { conformanceMedia } from "./workbench/media.ts";
import { NodeClient } from "./workbench/node-client.ts";
import { type CheckContext, Workbench } from "./workbench/workbench.ts";

interface ConformanceOptions {
  /** `http://host:port` of the node. */
  readonly url: string;
  readonly password: string;
  /** Which checks to run; default all. */
  readonly isSelected?: (check: Check) => boolean;
  /** How many checks run at once, default 8. */
  readonly atOnce?: number;
}

export interface CheckResult {
  readonly group: string;
  readonly name: string;
  readonly rule: string;
  readonly outcome: "pass" | "fail" | "skip";
  /** For a failure: the value the rule expects, and the value received. */
  readonly expected?: string;
  readonly actual?: string;
  /** Why it was skipped. */
  readonly reason?: string;
}

/** Characters of an answer that are shown. */
const ANSWER_TEXT_MAX = 500;
/** Longer than any wait within a check, whose own time-out names what it waits for. */
const CHECK_TIMEOUT_MS = 60_000;

/** In the order of the list. Rejects when the node cannot be reached. */
export async function runChecks(options: ConformanceOptions): Promise<readonly CheckResult[]> {
  const media = await MediaServer.start({ files: conformanceMedia(), script: ({ path }) => linkList(path, media) });
  const discord = await FakeDiscord.start();
  const context: CheckContext = { http: new NodeClient(options.url, options.password), media, discord };
  try {
    const selected = CHECKS.filter(options.isSelected ?? (() => true));
    const missing = await findMissing(context, new Set(selected.flatMap(({ needs }) => needs)));
    return await inParallel(selected, options.atOnce ?? 8, (check) => runOne(check, context, missing));
  } finally {
    await discord.close();
    await media.close();
  }
}

/** Playlists name their tracks by full address, which is known once the server listens. */
function linkList(path: string, media: MediaServer) {
  if (path !== "/list.pls") return undefined;
  const lines = ["[playlist]", `File1=${media.url}/tone.wav`, "Title1=Tone", "NumberOfEntries=1", ""];
  return plainPlan(Buffer.from(lines.join("\n")), "audio/x-scpls");
}

/** Finds out which of the needs are not met, and why. */
async function findMissing(context: CheckContext, needs: ReadonlySet<Need>): Promise<ReadonlyMap<Need, string>> {
  const bench = new Workbench(context);
  const missing = new Map<Need, string>();
  try {
    if (needs.has("media")) {
      const { status, text, json } = await bench.load(bench.url("tone.wav"));
      if (json?.loadType !== "track") {
        const answer = `${status} ${text.slice(0, ANSWER_TEXT_MAX)}`;
        missing.set("media", `the node does not load from the kit's media server, it answered ${answer}`);
      }
    }
    if (needs.has("voice") && !(await canJoinVoice(bench))) {
      missing.set("voice", "the node does not join the kit's voice server");
    }
    if (needs.has("v3") && (await context.http.get("/v3/info")).status === 404)
      missing.set("v3", "the node has no /v3");
  } finally {
    bench.close();
  }
  return missing;
}

async function canJoinVoice(bench: Workbench): Promise<boolean> {
  const player = await bench.player();
  try {
    await player.connect();
    return true;
  } catch {
    return false; // refused, or never connected: the node's log has the reason
  } finally {
    await player.destroy();
  }
}

async function runOne(check: Check, context: CheckContext, missing: ReadonlyMap<Need, string>): Promise<CheckResult> {
  const { group, name, rule } = check;
  const lacking = check.needs.find((need) => missing.has(need));
  if (lacking !== undefined) return { group, name, rule, outcome: "skip", reason: missing.get(lacking) ?? lacking };
  const bench = new Workbench(context);
  try {
    await withTimeout(check.run(bench));
    return { group, name, rule, outcome: "pass" };
  } catch (error) {
    const { expected, actual } =
      error instanceof Mismatch ? error : { expected: "that the check can run", actual: String(error) };
    return { group, name, rule, outcome: "fail", expected, actual };
  } finally {
    bench.close();
  }
}

async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the check took too long")), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const runNext = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, runNext));
  return results;
}
