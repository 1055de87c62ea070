// Starts processes that listen as machines do (life-process-main.ts), bundled once from the sources.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const MAIN = fileURLToPath(new URL("life-process-main.ts", import.meta.url));

/** The program of the processes. */
export class LifeProgram {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build(): Promise<LifeProgram> {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-life-program-"));
    const build = await rolldown({ input: MAIN, platform: "node" });
    await build.write({ file: join(folder, "main.mjs"), format: "esm" });
    await build.close();
    return new LifeProgram(folder);
  }

  /** Resolves when the process, of a machine of that id, listens on loopback. */
  async start(id: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
    const child = spawn(process.execPath, [join(this.#folder, "main.mjs"), id], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { port } = JSON.parse(line.toString()) as { port: number }; // as the program prints it
    return { child, port };
  }

  async close(): Promise<void> {
    for (const child of this.#children.splice(0)) child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}
