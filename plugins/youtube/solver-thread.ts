// The solver thread seen from the plugin thread: started on demand, given one job at a time, ended when a job takes too
// long and after a minute without jobs. The only thread that a plugin starts: parsing a player script takes seconds,
// and must not block the plugin's thread. Plugin thread.

import { Worker } from "node:worker_threads";
import type { Pool } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import { type Solved, type Solver, type SolverRequest, UnsolvedError } from "./script-unlocker.ts";
import type { SolverJob, SolverReply } from "./solver-session.ts";

/** With a script to be parsed and run first. Doubled after each time it was not enough: nothing waits that long. */
const LOADING_MS = { first: 15_000, max: 60_000 };
/** The sandbox itself gives up after two. */
const SOLVING_MS_MAX = 4000;
const IDLE_MS_MAX = 60_000;
/** One job at a time; each has its own limit, so that none is ended for others. */
const POOL = { concurrencyMax: 1, waitingMax: 32, yieldAfterMs: Number.POSITIVE_INFINITY };
/** MiB. A script of six needs some two hundred for its tree; the sandbox is not on this heap. */
const HEAP = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/** A thread with a session in it. */
interface SolverPort {
  post(job: SolverJob): void;
  /** Reports that no more jobs come. */
  end(): void;
}

export type StartPort = (on: {
  readonly reply: (reply: SolverReply) => void;
  /** Called when the thread has ended, for whatever reason. */
  readonly gone: (why: string) => void;
}) => SolverPort;

type SolverHost = Pick<Host, "clock" | "pool">;

export function createSolverThread(host: SolverHost, startPort: StartPort = startThread): Solver {
  return new SolverThread(host, startPort);
}

interface RunningJob {
  readonly jobId: number;
  readonly resolve: (reply: SolverReply) => void;
  readonly reject: (error: Error) => void;
}

class SolverThread implements Solver {
  readonly #host: SolverHost;
  readonly #startPort: StartPort;
  #loadingMsMax = LOADING_MS.first;
  #port: SolverPort | undefined;
  #job: RunningJob | undefined;
  readonly #pool: Pool;
  #pendingCount = 0;
  #jobCount = 0;
  #idle = new AbortController();
  #isClosed = false;

  constructor(host: SolverHost, startPort: StartPort) {
    this.#host = host;
    this.#startPort = startPort;
    this.#pool = host.pool("links to unlock", POOL);
  }

  async solve(request: SolverRequest, signal: AbortSignal): Promise<Solved> {
    this.#pendingCount += 1;
    try {
      return await this.#pool.run(() => this.#solveNow(request), { signal });
    } finally {
      this.#pendingCount -= 1;
      if (this.#pendingCount === 0) this.#endWhenIdle();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#end("the plugin is ended");
  }

  async #solveNow({ scriptId, script, challenges }: SolverRequest): Promise<Solved> {
    if (this.#isClosed) throw new Error("the plugin is ended");
    this.#idle.abort();
    const whole = () => this.#run({ scriptId, challenges, script }, this.#loadingMsMax);
    // A thread that has it already is not sent megabytes again.
    const first = this.#port === undefined ? undefined : await this.#run({ scriptId, challenges }, SOLVING_MS_MAX);
    const reply = first === undefined || first.kind === "script-requested" ? await whole() : first;
    if (reply.kind === "solved") {
      this.#loadingMsMax = LOADING_MS.first;
      return reply;
    }
    // It has shown what it is: nothing of it is used again.
    this.#end("a player script failed");
    const message = reply.kind === "failed" ? reply.message : "the solver asked for the script twice";
    throw new UnsolvedError(message, reply.kind === "failed" && reply.isScriptUseless);
  }

  async #run(job: Omit<SolverJob, "jobId">, limitMs: number): Promise<SolverReply> {
    const jobId = ++this.#jobCount;
    const inTime = new AbortController();
    const reply = new Promise<SolverReply>((resolve, reject) => {
      this.#job = { jobId, resolve, reject };
    });
    void this.#host.clock.sleep(limitMs, inTime.signal).then(
      () => {
        if (job.script !== undefined) this.#loadingMsMax = Math.min(2 * limitMs, LOADING_MS.max);
        this.#end(`the player script took more than ${limitMs} ms`, { isScriptUseless: false });
      },
      () => undefined, // it was in time
    );
    try {
      this.#port ??= this.#start();
      this.#port.post({ ...job, jobId });
      return await reply;
    } catch (error) {
      reply.catch(() => undefined);
      throw error instanceof UnsolvedError ? error : new UnsolvedError(String(error), job.script !== undefined);
    } finally {
      inTime.abort();
      this.#job = undefined;
    }
  }

  #start(): SolverPort {
    const port: SolverPort = this.#startPort({
      reply: (reply) => {
        if (reply.jobId === this.#job?.jobId) this.#job.resolve(reply);
      },
      gone: (why) => {
        if (this.#port === port) this.#end(`the solver's thread ended: ${why}`);
      },
    });
    return port;
  }

  #end(why: string, { isScriptUseless } = { isScriptUseless: true }): void {
    const port = this.#port;
    this.#port = undefined;
    this.#idle.abort();
    this.#job?.reject(new UnsolvedError(why, isScriptUseless));
    port?.end();
  }

  #endWhenIdle(): void {
    if (this.#port === undefined) return;
    const idle = new AbortController();
    this.#idle = idle;
    void this.#host.clock.sleep(IDLE_MS_MAX, idle.signal).then(
      () => this.#end("nothing was to do"),
      () => undefined, // there is something to do again
    );
  }
}

const startThread: StartPort = ({ reply, gone }) => {
  const worker = new Worker(new URL("./solver-main.js", import.meta.url), {
    name: "tonearm-youtube-solver",
    env: {},
    execArgv: [],
    resourceLimits: HEAP,
  });
  // Nothing waits for it when the node ends.
  worker.unref();
  worker.on("message", reply);
  worker.on("error", (error) => gone(error.message));
  worker.on("exit", (code) => gone(`exit code ${code}`));
  return {
    post: (job) => worker.postMessage(job),
    end: () => {
      worker.removeAllListeners("message");
      void worker.terminate();
    },
  };
};
