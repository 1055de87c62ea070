// Runs programs for a plugin: never through a shell, few at once, each with a limit of time and output, and killed with
// all that it has started. Plugin thread.

import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "../../lib/clock.ts";
import { type RunOptions, type RunResult, SourceError } from "../../plugin-api/plugin.ts";
import { Places } from "./places.ts";

const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const CONCURRENCY_MAX = 2;
const STDERR_LENGTH = 4096;
/** Wishes that may wait for their turn. */
const WAITING_MAX = 64;
/** On Windows there are no process groups; there the program alone is killed. */
const HAS_GROUPS = process.platform !== "win32";

export class Programs {
  readonly #clock: Clock;
  readonly #places = new Places({ runningMax: CONCURRENCY_MAX, waitingMax: WAITING_MAX, what: "programs" });
  readonly #running = new Set<ChildProcess>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(program: string, options: RunOptions): Promise<RunResult> {
    const release = await this.#places.take(options.signal, options.concurrencyMax);
    try {
      return await this.#run(program, options);
    } finally {
      release();
    }
  }

  /** Kills what still runs. */
  close(): void {
    for (const child of this.#running) killGroup(child);
  }

  #run(program: string, options: RunOptions): Promise<RunResult> {
    const { args, signal, timeoutMs = TIMEOUT_MS, outputBytesMax = OUTPUT_BYTES_MAX } = options;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        stdio: ["ignore", "pipe", "pipe"],
        detached: HAS_GROUPS,
        windowsHide: true,
        shell: false,
      });
      this.#running.add(child);
      const stop = (reason: unknown): void => {
        killGroup(child);
        reject(reason);
      };
      const onAbort = (): void => stop(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      const timer = this.#clock.after(timeoutMs, () => {
        stop(new SourceError("unreachable", `${program} did not finish within ${timeoutMs} ms and was ended`));
      });
      const stdout: Buffer[] = [];
      let sizeBytes = 0;
      let stderr = "";
      child.stdout.on("data", (part: Buffer) => {
        sizeBytes += part.length;
        if (sizeBytes <= outputBytesMax) stdout.push(part);
        else stop(new SourceError("changed", `${program} wrote more than ${outputBytesMax} bytes and was ended`));
      });
      child.stderr.on("data", (part: Buffer) => {
        stderr = `${stderr}${part.toString()}`.slice(-STDERR_LENGTH);
      });
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", onAbort);
        this.#running.delete(child);
      };
      child.on("error", (error) => {
        finish();
        reject(new SourceError("unreachable", `${program} cannot be run: ${reasonOf(error)}`, { cause: error }));
      });
      child.on("close", (exitCode) => {
        finish();
        resolve({ exitCode, stdout: Buffer.concat(stdout).toString(), stderr });
      });
    });
  }
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "there is no such program; install it or name its path";
  return error.code === "EACCES" ? "it may not be executed" : (error.code ?? "unknown reason");
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (HAS_GROUPS) process.kill(-child.pid, "SIGKILL");
    else child.kill("SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
