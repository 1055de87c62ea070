// What many REST requests do to the music: requests at a fixed rate spread over players that play, how long the answers
// take, and how late packets are before and meanwhile.

import { Agent, request } from "node:http";
import { sleep } from "../sleep.ts";
import type { Bot } from "../stage/bot.ts";
import { type BenchOptions, joinAndPlay, quantile, withNode } from "./measure.ts";
import type { WorldStats } from "./world.ts";

export interface ApiLoadResult {
  readonly node: string;
  readonly players: number;
  readonly wantedPerSecond: number;
  readonly answeredPerSecond: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly latenessBefore: Pick<WorldStats, "latenessMsP50" | "latenessMsP99" | "latenessMsMax">;
  readonly latenessMeanwhile: Pick<WorldStats, "latenessMsP50" | "latenessMsP99" | "latenessMsMax">;
}

/** Requests are sent in bursts this often, as timers are no finer. */
const BURST_MS = 5;
const CONNECTIONS = 64;
/** Requests in flight at most: a node that cannot keep up is not drowned, the rate it reaches is reported. */
const IN_FLIGHT_MAX = 1000;

/** Half GET, half PATCH (volume stays 100), one after the other over all players. */
export async function measureApiLoad(
  options: BenchOptions,
  load: { players: number; requestsPerSecond: number; seconds: number },
): Promise<ApiLoadResult> {
  return withNode(options, async ({ node, world, bot }) => {
    const guildIds = await joinAndPlay({ world, bot }, options, { file: "song.webm", players: load.players });
    await world.clearArrivals();
    await sleep(load.seconds * 1000);
    const latenessBefore = await world.stats();
    await world.clearArrivals();
    const sender = new Sender(node.url, node.password, bot);
    const startedMs = performance.now();
    const burst = (load.requestsPerSecond * BURST_MS) / 1000;
    let due = 0;
    for (let sent = 0; performance.now() - startedMs < load.seconds * 1000; await sleep(BURST_MS)) {
      due = Math.max(due, ((performance.now() - startedMs) / BURST_MS) * burst);
      while (sent < due && sender.inFlight < IN_FLIGHT_MAX) sender.send(guildIds[sent++ % guildIds.length] ?? "");
      sent = Math.max(sent, Math.floor(due) - IN_FLIGHT_MAX);
    }
    await sender.idle();
    const elapsedSeconds = (performance.now() - startedMs) / 1000;
    return {
      node: options.node.name,
      players: load.players,
      wantedPerSecond: load.requestsPerSecond,
      answeredPerSecond: sender.latenciesMs.length / elapsedSeconds,
      failed: sender.failed,
      p50Ms: quantile(sender.latenciesMs, 0.5),
      p99Ms: quantile(sender.latenciesMs, 0.99),
      latenessBefore,
      latenessMeanwhile: await world.stats(),
    };
  });
}

class Sender {
  readonly latenciesMs: number[] = [];
  failed = 0;
  inFlight = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #url: string;
  readonly #password: string;
  readonly #bot: Bot;
  #count = 0;

  constructor(url: string, password: string, bot: Bot) {
    this.#url = url;
    this.#password = password;
    this.#bot = bot;
  }

  send(guildId: string): void {
    const isPatch = this.#count++ % 2 === 1;
    const startedMs = performance.now();
    this.inFlight += 1;
    const done = (isGood: boolean) => {
      this.inFlight -= 1;
      if (isGood) this.latenciesMs.push(performance.now() - startedMs);
      else this.failed += 1;
    };
    const sent = request(
      `${this.#url}/v4/sessions/${this.#bot.sessionId}/players/${guildId}`,
      {
        agent: this.#agent,
        method: isPatch ? "PATCH" : "GET",
        headers: { Authorization: this.#password, "Content-Type": "application/json" },
      },
      (answer) => {
        answer.resume();
        answer.once("end", () => done(answer.statusCode === 200));
      },
    );
    sent.once("error", () => done(false));
    sent.end(isPatch ? '{"volume":100}' : undefined);
  }

  async idle(): Promise<void> {
    while (this.inFlight > 0) await sleep(BURST_MS);
    this.#agent.destroy();
  }
}
