// A bot of the cluster lab: one session, behind the balancer, with its players. It connects again when its connection
// ends, as client libraries do, until it has a session. Each of its requests is a connection. Lab only.

import type { Socket } from "node:net";
import type { CastPlayer } from "../restart/cast.ts";
import { connectBot, isResumed } from "../restart/surroundings.ts";
import { sleep } from "../sleep.ts";
import type { Bot, BotOptions } from "../test-environment/bot.ts";
import type { Balancer } from "./balancer.ts";
import type { Machine } from "./machines.ts";

const FIRST_USER_ID = 100_000_000_000_001_000n;
/** After the end of its machine, or when it woke. */
const CLOSED_MS_MAX = 30_000;
const BACK_MS_MAX = 90_000;
/** Some clients wait as long as it takes for the answer to their handshake, some no longer than 10 s. */
const PATIENT_MS = 60_000;
const IMPATIENT_MS = 10_000;
const AGAIN_MS = 250;
const TIMEOUT_SECONDS = 60;

/** How a bot came back. */
export interface Return {
  readonly isResumed: boolean;
  /** By `performance.now()`. */
  readonly readyMs: number;
  /** Why the attempts before have failed. */
  readonly failures: readonly string[];
}

export class ClusterBot {
  readonly userId: string;
  readonly cast: readonly CastPlayer[];
  readonly #balancer: Balancer<Machine>;
  readonly #connectTimeoutMs: number;
  #bot!: Bot; // set by `open`
  #socket!: Socket; // set by each connection

  private constructor(balancer: Balancer<Machine>, number: number, cast: readonly CastPlayer[]) {
    this.#balancer = balancer;
    this.userId = String(FIRST_USER_ID + BigInt(number));
    this.cast = cast;
    this.#connectTimeoutMs = number % 2 === 0 ? PATIENT_MS : IMPATIENT_MS;
  }

  /** With a session that waits for its client. */
  static async open(balancer: Balancer<Machine>, number: number, cast: readonly CastPlayer[]): Promise<ClusterBot> {
    const bot = new ClusterBot(balancer, number, cast);
    await bot.#connect({});
    await bot.begin();
    return bot;
  }

  /** Its current connection. */
  get bot(): Bot {
    return this.#bot;
  }

  /** The machine that it is connected to. */
  get machine(): Machine | undefined {
    return this.#balancer.machineOf(this.#socket.localPort ?? 0);
  }

  /** Turns resuming on, in a new session. */
  async begin(): Promise<void> {
    const settings = { resuming: true, timeout: TIMEOUT_SECONDS };
    const { status, body } = await this.#bot.request("PATCH", `/v4/sessions/${this.#bot.sessionId}`, settings);
    if (status !== 200) throw new Error(`PATCH session: ${status} ${JSON.stringify(body)}`);
  }

  /** Waits for the end of the connection, and connects again until there is a `ready`. */
  async comeBack(): Promise<Return> {
    const { sessionId } = this.#bot;
    const failures: string[] = [];
    await this.#bot.closed(CLOSED_MS_MAX).catch(() => failures.push("the connection to the old machine did not end"));
    this.#bot.terminate();
    const deadlineMs = performance.now() + BACK_MS_MAX;
    for (;;) {
      try {
        await this.#connect({ sessionId });
        return { isResumed: isResumed(this.#bot), readyMs: performance.now(), failures };
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
        if (performance.now() > deadlineMs) throw new Error(`no ready: ${failures.slice(-3).join("; ")}`);
      }
      await sleep(AGAIN_MS);
    }
  }

  close(): void {
    this.#bot.close();
  }

  async #connect(options: Partial<BotOptions>): Promise<void> {
    const { userId } = this;
    const connectTimeoutMs = this.#connectTimeoutMs;
    const sockets: Socket[] = [];
    const dial = (): Socket => {
      const socket = this.#balancer.connect();
      if (sockets.length === 0) sockets.push(socket);
      return socket;
    };
    this.#bot = await connectBot(this.#balancer, { ...options, userId, connectTimeoutMs, connect: dial });
    const [socket] = sockets;
    if (socket !== undefined) this.#socket = socket;
  }
}
