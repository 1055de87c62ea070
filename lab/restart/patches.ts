// `--patches`: what a store costs a PATCH. Two nodes side by side, one with and one without it, each with one playing
// player, are asked in turn over connections that stay open. Lab only.

import { seededRandom } from "../seeded-random.ts";
import { NodeRuns, RESTART_PASSWORD } from "./node-runs.ts";
import { PipelinedConnection } from "./pipelined-connection.ts";
import { COUNTED_SONG, connectBot, Surroundings } from "./surroundings.ts";

export interface PatchesResult {
  /** Milliseconds of each request, in order, with and without a store. */
  readonly onMs: readonly number[];
  readonly offMs: readonly number[];
}

const WARM_UP = 300;

/** `count` requests to each node. */
export async function measurePatches(count: number): Promise<PatchesResult> {
  const surroundings = await Surroundings.start();
  const nodes = await Promise.all([true, false].map((hasState) => NodeRuns.prepare({ hasState })));
  try {
    const [on, off] = await Promise.all(nodes.map((runs, index) => askerOf(surroundings, runs, String(500 + index))));
    if (on === undefined || off === undefined) throw new Error("there are two nodes");
    const [onMs, offMs]: [number[], number[]] = [[], []];
    for (let number = 0; number < count + WARM_UP; number++) {
      // Each of them is asked first every other time.
      if (number % 2 === 0) onMs.push(await on(number));
      offMs.push(await off(number));
      if (number % 2 === 1) onMs.push(await on(number));
    }
    return { onMs: onMs.slice(WARM_UP), offMs: offMs.slice(WARM_UP) };
  } finally {
    for (const runs of nodes) await runs.close();
    await surroundings.close();
  }
}

/** Starts a node with one player, and returns a function that sends it a PATCH and returns how long that took. */
async function askerOf(
  surroundings: Surroundings,
  runs: NodeRuns,
  guildId: string,
): Promise<(number: number) => Promise<number>> {
  await runs.start();
  const bot = await connectBot(runs);
  const session = `/v4/sessions/${bot.sessionId}`;
  await bot.request("PATCH", session, { resuming: true, timeout: 60 });
  const encoded = await bot.loadEncoded(surroundings.urlOf(COUNTED_SONG));
  await bot.update(guildId, { voice: surroundings.issueVoice(guildId), track: { encoded } });
  const connection = await PipelinedConnection.open(runs.port, RESTART_PASSWORD);
  const random = seededRandom(1);
  return async (number) => {
    const body = bodyOf(number, random());
    const startedMs = performance.now();
    const answer = await connection.send("PATCH", `${session}/players/${guildId}`, body);
    const tookMs = performance.now() - startedMs;
    if (answer?.status !== 200) throw new Error(`PATCH player: ${answer?.status} ${answer?.text}`);
    return tookMs;
  };
}

function bodyOf(number: number, value: number): object {
  if (number % 3 === 0) return { volume: 100 + Math.floor(value * 2) };
  if (number % 3 === 1) return { track: { userData: { number } } };
  return { position: Math.floor(value * 300_000) };
}
