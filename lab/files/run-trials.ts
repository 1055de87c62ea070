// Tries files in separate processes, several at a time, each with a time limit. A file that ends its process, or takes
// too long, is reported like any other failure, and the others are tried all the same. Lab only.

import { type ChildProcess, fork } from "node:child_process";
import type { Clock } from "../../src/lib/clock.ts";
import { asking } from "../test-environment/side-process.ts";
import { within } from "../within.ts";
import type { TrialRequest } from "./trial-process.ts";
import type { FileFacts, TrySettings } from "./try-file.ts";

const ENTRY = new URL("./trial-process.js", import.meta.url);
/** In tests this file runs from its source, its processes from the build. */
const BUILT_ENTRY = new URL("../../dist/lab/files/trial-process.js", import.meta.url);

interface RunOptions {
  readonly settings: TrySettings;
  readonly files: readonly { readonly file: string; readonly audioFile: string | undefined }[];
  /** Processes at once. */
  readonly jobs: number;
  /** After each file, in the order in which they are done. */
  readonly onDone?: (facts: FileFacts) => void;
  /** Of the time limits. Default: the system's. */
  readonly clock?: Clock;
  /** Starts a process that tries files. Default: one of trial-process.ts. */
  readonly start?: () => ChildProcess;
}

/** The facts in the order of `files`. */
export async function runTrials({ files, jobs, onDone, ...options }: RunOptions): Promise<FileFacts[]> {
  const results: FileFacts[] = [];
  const waiting = [...files.entries()];
  const workThrough = async (): Promise<void> => {
    const trial = new TrialProcess(options);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, { file, audioFile }] = next;
      const facts = await trial.try(file, audioFile);
      results[index] = facts;
      onDone?.(facts);
    }
    trial.end();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, files.length) }, workThrough));
  return results;
}

/** A process, started again when a file has ended it. */
class TrialProcess {
  readonly #options: Pick<RunOptions, "settings" | "clock" | "start">;
  #started: { readonly child: ChildProcess; readonly ask: (request: TrialRequest) => Promise<unknown> } | undefined;

  constructor(options: Pick<RunOptions, "settings" | "clock" | "start">) {
    this.#options = options;
  }

  async try(file: string, audioFile: string | undefined): Promise<FileFacts> {
    const { settings, clock, start = startTrials } = this.#options;
    const { timeoutMs } = settings;
    if (this.#started?.child.connected === false) this.end();
    this.#started ??= started(start());
    try {
      const answer = await within(this.#started.ask({ settings, file, audioFile }), timeoutMs, clock);
      if (answer !== undefined) return answer as FileFacts; // compiled with the same types
      this.end();
      return { file, broken: `it takes longer than ${timeoutMs / 1000} s` };
    } catch (error) {
      this.end();
      return { file, broken: error instanceof Error ? error.message : String(error) };
    }
  }

  end(): void {
    this.#started?.child.kill("SIGKILL");
    this.#started = undefined;
  }
}

function startTrials(): ChildProcess {
  return fork(import.meta.url.endsWith(".ts") ? BUILT_ENTRY : ENTRY, { serialization: "advanced" });
}

function started(child: ChildProcess) {
  return { child, ask: asking<TrialRequest>(child) };
}
