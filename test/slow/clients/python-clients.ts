// A Python environment with the clients of requirements.txt, each driven in a separate process.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AfterDrop, RealClient } from "../../integration/clients/client-driver.ts";
import { ProcessDriver } from "../../integration/clients/process-driver.ts";

const DRIVERS = fileURLToPath(new URL("python/", import.meta.url));
const run = promisify(execFile);

interface PythonClientOptions {
  /** Name on PyPI. */
  readonly name: string;
  /** A file of the folder `python`. */
  readonly driver: string;
  readonly afterDrop: AfterDrop;
}

export class PythonClients {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Installs into a new folder; takes a minute. */
  static async install(): Promise<PythonClients> {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-clients-"));
    await run("python3", ["-m", "venv", folder]);
    const requirements = join(DRIVERS, "requirements.txt");
    await run(join(folder, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
    return new PythonClients(folder);
  }

  client({ name, driver, afterDrop }: PythonClientOptions): RealClient<ProcessDriver> {
    const program = { command: join(this.#folder, "bin/python"), args: [join(DRIVERS, driver)] };
    return { name, afterDrop, create: (binding) => new ProcessDriver(program, binding) };
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
