// Runs programs for a plugin: never through a shell, few at once, each with a limit of time and output, and killed with
// all that it has started. They get little of the node's environment. Plugin thread.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Clock } from "../../../lib/clock.ts";
import { HAS_PROGRAM_GROUPS, killProgram } from "../../../lib/kill-program.ts";
import { onAbort } from "../../../lib/on-abort.ts";
import { programEnvironment } from "../../../lib/program-environment.ts";
import { type RunOptions, type RunResult, SourceError } from "../../../plugin-api/plugin.ts";
import { Semaphore } from "./semaphore.ts";

const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const CONCURRENCY_MAX = 2;
/** So long a program of one account may run while others wait that have fewer. */
const YIELD_AFTER_MS = 5000;
const STDERR_LENGTH = 4096;
/** Runs that may wait for a permit. */
const WAITING_MAX = 64;
/** So long after its end what it has started may hold its output open. */
const LINGER_MS = 1000;

type Child = ChildProcessByStdio<null, Readable, Readable>;

export interface ProgramsOptions {
  /** The environment of which programs get the names that any program needs. Default: the node's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called when a program runs, and when it has exited. */
  readonly onProgram?: (pid: number, isRunning: boolean) => void;
}

export class Programs {
  readonly #clock: Clock;
  readonly #onProgram: NonNullable<ProgramsOptions["onProgram"]>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #semaphore: Semaphore;
  readonly #running = new Set<RunningProgram>();

  constructor(clock: Clock, { env, onProgram = () => undefined }: ProgramsOptions = {}) {
    this.#clock = clock;
    const bounds = { runningMax: CONCURRENCY_MAX, waitingMax: WAITING_MAX, yieldAfterMs: YIELD_AFTER_MS };
    this.#semaphore = new Semaphore(clock, { ...bounds, what: "programs" });
    this.#onProgram = onProgram;
    this.#env = programEnvironment(env);
  }

  async run(program: string, options: RunOptions): Promise<RunResult> {
    return this.#semaphore.run(
      async (signal) => {
        signal.throwIfAborted();
        return this.#run(program, { ...options, signal });
      },
      { signal: options.signal, runningMax: options.concurrencyMax ?? CONCURRENCY_MAX },
    );
  }

  /** Kills running programs; their callers get an error. */
  close(): void {
    const reason = new SourceError("unreachable", "the plugin is ended, and the programs that it has started with it");
    for (const running of this.#running) running.stop(reason);
  }

  async #run(program: string, options: RunOptions): Promise<RunResult> {
    const child = this.#spawn(program, options.args);
    this.#logStart(child);
    const running = new RunningProgram(basename(program), child, {
      clock: this.#clock,
      outputBytesMax: options.outputBytesMax ?? OUTPUT_BYTES_MAX,
    });
    this.#running.add(running);
    const { signal, timeoutMs = TIMEOUT_MS } = options;
    const stopListening = onAbort(signal, () => running.stop(signal.reason));
    const timer = this.#clock.after(timeoutMs, () => {
      const message = `${basename(program)} did not finish within ${timeoutMs} ms and was ended`;
      running.stop(new SourceError("unreachable", message));
    });
    try {
      return await running.result;
    } finally {
      timer.cancel();
      stopListening();
      this.#running.delete(running);
    }
  }

  #logStart(child: Child): void {
    const { pid } = child;
    // Not started; the reason arrives as an event.
    if (pid === undefined) return;
    this.#onProgram(pid, true);
    child.on("exit", () => this.#onProgram(pid, false));
  }

  #spawn(program: string, args: readonly string[]): Child {
    try {
      return spawn(program, args, {
        stdio: ["ignore", "pipe", "pipe"],
        detached: HAS_PROGRAM_GROUPS,
        windowsHide: true,
        shell: false,
        env: this.#env,
      });
    } catch (error) {
      // An invalid argument: a zero byte, or too long for the system. Some errors are thrown, others arrive as an
      // event.
      throw notRun(basename(program), error);
    }
  }
}

interface RunningOptions {
  readonly clock: Clock;
  readonly outputBytesMax: number;
}

/** One program from its start until its result is complete or unneeded. */
class RunningProgram {
  readonly result: Promise<RunResult>;
  readonly #name: string;
  readonly #child: Child;
  readonly #stdout: Buffer[] = [];
  #stderr = "";
  #sizeBytes = 0;
  #isOver = false;
  #reject: (reason: unknown) => void = () => undefined;

  constructor(name: string, child: Child, options: RunningOptions) {
    this.#name = name;
    this.#child = child;
    this.result = new Promise((resolve, reject) => {
      this.#reject = reject;
      child.on("error", (error) => this.stop(notRun(name, error)));
      child.on("exit", (exitCode) => this.#onExit(options.clock, () => resolve(this.#resultOf(exitCode))));
    });
    this.#read(options.outputBytesMax);
  }

  /** Kills it, unless it is over; `result` rejects with `reason`. */
  stop(reason: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(reason);
  }

  #read(outputBytesMax: number): void {
    const { stdout, stderr } = this.#child;
    // Missing if the process has no file descriptors left; an error event follows.
    stdout?.on("data", (part: Buffer) => {
      this.#sizeBytes += part.length;
      if (this.#sizeBytes <= outputBytesMax) this.#stdout.push(part);
      else this.stop(new SourceError("changed", `${this.#name} wrote more than ${outputBytesMax} bytes and was ended`));
    });
    stderr?.setEncoding("utf8");
    stderr?.on("data", (part: string) => {
      this.#stderr = `${this.#stderr}${part}`.slice(-STDERR_LENGTH);
    });
  }

  /**
   * Kills its child processes, so that its output ends, too. Only a process that left its group can hold the output
   * open, and is not waited for.
   */
  #onExit(clock: Clock, resolve: () => void): void {
    this.#killGroup();
    const finish = (): void => {
      timer.cancel();
      if (this.#isOver) return;
      this.#end();
      resolve();
    };
    const timer = clock.after(LINGER_MS, finish);
    this.#child.once("close", finish);
  }

  #resultOf(exitCode: number | null): RunResult {
    return { exitCode, stdout: Buffer.concat(this.#stdout).toString(), stderr: this.#stderr };
  }

  /** Afterwards nothing of it is listened to. */
  #end(): void {
    this.#isOver = true;
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#killGroup();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  #killGroup(): void {
    if (this.#child.pid === undefined) return;
    // Without groups nothing is left of one that has exited, and its id may be another's.
    if (HAS_PROGRAM_GROUPS) killProgram(this.#child.pid);
    else this.#child.kill("SIGKILL");
  }
}

/** The path is the operator's secret, and the message goes to clients. */
function notRun(name: string, error: unknown): SourceError {
  const { code } = error as NodeJS.ErrnoException; // of spawn
  const kind = code === "ERR_INVALID_ARG_VALUE" || code === "E2BIG" ? "invalid" : "unreachable";
  return new SourceError(kind, `${name} cannot be run: ${REASONS[code ?? ""] ?? code ?? "unknown reason"}`, {
    cause: error,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such program, or what it is to be run with is missing; install it or name its path",
  EACCES: "it may not be executed",
  ERR_INVALID_ARG_VALUE: "an argument holds a zero byte",
  E2BIG: "its arguments are too long",
  EMFILE: "this process has too many open files",
};
