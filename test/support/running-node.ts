// The real command in a separate process, as an operator runs it, and its output.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../bin/tonearm.js", import.meta.url));

/** Matches the line with which `start` reports its address. */
export const LISTENING = /listening on (https?:\/\/127\.0\.0\.1:\d+)/;

export interface RunningNode {
  readonly child: ChildProcess;
  /** The folder that it was started in. */
  readonly cwd: string;
  output(): string;
  /** Resolves with the match once the output has it; rejects when the process ends without. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  readonly exited: Promise<number | null>;
}

/** Starts commands, each in its own folder, and ends those still running. */
export class RunningNodes {
  readonly #children: ChildProcess[] = [];
  readonly #folders: string[] = [];

  /** A folder that goes with the rest. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-"));
    this.#folders.push(folder);
    return folder;
  }

  /** One that is ended with the rest. */
  adopt(child: ChildProcess): void {
    this.#children.push(child);
  }

  /** `config` is the text of its tonearm.yml. */
  run(
    args: readonly string[],
    { config = "", cwd = this.folder() }: { config?: string; cwd?: string } = {},
  ): RunningNode {
    if (config !== "") writeFileSync(join(cwd, "tonearm.yml"), config);
    const child = spawn(process.execPath, [BIN, ...args], { cwd, env: {}, stdio: ["ignore", "pipe", "pipe"] });
    this.adopt(child);
    let output = "";
    const waiting = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data: Buffer) => {
        output += data.toString();
        for (const check of waiting) check();
      });
    }
    const exited = once(child, "close").then(([code]: (number | null)[]) => code ?? null);
    const until = (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        const check = () => {
          const match = pattern.exec(output);
          if (match !== null) resolve(match);
        };
        waiting.add(check);
        check();
        exited.then(() => reject(new Error(`ended without ${pattern}: ${output}`)));
      });
    return { child, cwd, output: () => output, until, exited };
  }

  close(): void {
    for (const child of this.#children.splice(0)) child.kill("SIGKILL");
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}
