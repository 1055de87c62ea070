// The workload of REST requests at a fixed rate, spread over players that play: what it does to the music, and how long
// the answers take.

import { Agent, request } from "node:http";
import { quantile } from "../../report/statistics.ts";
import { sleep } from "../../sleep.ts";
import type { Figures } from "./figures.ts";
import type { Workload, WorkloadScene } from "./workload.ts";

/** Requests are sent in bursts this often, as timers are no finer. */
const BURST_MS = 5;
const CONNECTIONS = 64;
/** Requests in flight at most: a node that cannot keep up is not drowned, the rate it reaches is reported. */
const IN_FLIGHT_MAX = 1000;
/** A request not answered by then has failed. */
const LAST_ANSWER_MS_MAX = 10_000;

/** Half GET, half PATCH (volume stays 100), one after the other over all players. */
export const requests: Workload = {
  name: "requests",
  detail: "REST requests while music plays, half GET player, half PATCH volume",
  players: 100,
  isSteady: true,
  async prepare(scene) {
    const guildIds = await scene.crowd.play("song.webm", scene.players);
    return () => sendForSeconds(scene, guildIds);
  },
};

async function sendForSeconds(scene: WorkloadScene, guildIds: readonly string[]): Promise<Figures> {
  const { seconds, requestsPerSecond } = scene;
  const sender = new Sender(scene);
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  for (let sent = 0; elapsedMs() < seconds * 1000; await sleep(BURST_MS)) {
    const due = (elapsedMs() / 1000) * requestsPerSecond;
    while (sent < due && sender.inFlight < IN_FLIGHT_MAX) sender.send(guildIds[sent++ % guildIds.length] ?? "");
    sent = Math.max(sent, Math.floor(due) - IN_FLIGHT_MAX);
  }
  await sender.finish();
  return {
    answersPerSecond: sender.answersMs.length / (elapsedMs() / 1000),
    answersFailed: sender.failed,
    ...(sender.answersMs.length > 0 && {
      answerMsP50: quantile(sender.answersMs, 0.5),
      answerMsP99: quantile(sender.answersMs, 0.99),
    }),
  };
}

class Sender {
  readonly answersMs: number[] = [];
  failed = 0;
  inFlight = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #scene: WorkloadScene;
  #count = 0;

  constructor(scene: WorkloadScene) {
    this.#scene = scene;
  }

  send(guildId: string): void {
    const { url, password, crowd } = this.#scene;
    const isPatch = this.#count++ % 2 === 1;
    const startedMs = performance.now();
    this.inFlight += 1;
    let isDone = false;
    const done = (isGood: boolean) => {
      if (isDone) return; // an answer that breaks off says so twice
      isDone = true;
      this.inFlight -= 1;
      if (isGood) this.answersMs.push(performance.now() - startedMs);
      else this.failed += 1;
    };
    const sent = request(
      `${url}/v4/sessions/${crowd.bot.sessionId}/players/${guildId}`,
      {
        agent: this.#agent,
        method: isPatch ? "PATCH" : "GET",
        headers: { Authorization: password, "Content-Type": "application/json" },
      },
      (answer) => {
        answer.resume();
        answer.once("end", () => done(answer.statusCode === 200));
        answer.once("error", () => done(false));
      },
    );
    sent.once("error", () => done(false));
    sent.end(isPatch ? '{"volume":100}' : undefined);
  }

  /** Resolves when no request is pending any more. */
  async finish(): Promise<void> {
    const deadlineMs = performance.now() + LAST_ANSWER_MS_MAX;
    while (this.inFlight > 0 && performance.now() < deadlineMs) await sleep(BURST_MS);
    this.#agent.destroy();
  }
}
