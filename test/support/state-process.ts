// Starts processes that hold a folder of the state (state-process-main.ts), bundled once from the sources: a unit test
// needs no build.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

const MAIN = fileURLToPath(new URL("state-process-main.ts", import.meta.url));

/** The program of the processes. */
export class StateProgram {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build(): Promise<StateProgram> {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-state-program-"));
    const database = pathToFileURL(createRequire(import.meta.url).resolve("classic-level")).href;
    const resolveId = (id: string) => (id === "classic-level" ? { id: database, external: true } : null);
    const build = await rolldown({ input: MAIN, platform: "node", plugins: [{ name: "native", resolveId }] });
    await build.write({ file: join(folder, "main.mjs"), format: "esm" });
    await build.close();
    return new StateProgram(folder);
  }

  /** Resolves when the process holds the folder. With `firstWrite` it writes, and counts from there. */
  async start(path: string, firstWrite?: number): Promise<StateProcess> {
    const child = fork(join(this.#folder, "main.mjs"), [path, ...(firstWrite === undefined ? [] : [`${firstWrite}`])]);
    this.#children.push(child);
    const started = new StateProcess(child);
    await started.isOpen;
    return started;
  }

  async close(): Promise<void> {
    for (const child of this.#children.splice(0)) child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export class StateProcess {
  readonly isOpen: Promise<unknown>;
  /** The last write that was acknowledged; -1 before. */
  acknowledged = -1;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.isOpen = once(child, "message");
    child.on("message", (message) => {
      if (typeof message === "number") this.acknowledged = message;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when so many more writes were acknowledged. */
  async writes(count: number): Promise<void> {
    for (let left = count; left > 0; left--) await once(this.#child, "message");
  }

  /** Ends it in the middle of what it does. */
  async kill(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }
}
