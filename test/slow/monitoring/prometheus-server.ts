// A real Prometheus on loopback, with the configuration of deploy/prometheus but for whom it asks and how often. Needs
// Debian's package `prometheus`, which brings promtool.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../support/project-files.ts";

export const RULES_FOLDER = join(PROJECT_ROOT, "deploy/prometheus");
const START_TIMEOUT_MS = 30_000;

interface QueryAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly { readonly value?: readonly [number, string] }[] };
}

/** Runs `promtool`, and returns its exit status and output. */
export function promtool(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { encoding: "utf8", cwd: RULES_FOLDER });
  if (error !== undefined) throw new Error(`promtool cannot be run: apt-get install prometheus (${error.message})`);
  return { status, output: stdout + stderr };
}

export class PrometheusServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #url: string;

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.#url = url;
  }

  /** Asks `target` (`host:port`) every second. */
  static async start(target: string, password: string): Promise<PrometheusServer> {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-prometheus-"));
    cpSync(RULES_FOLDER, folder, { recursive: true });
    writeFileSync(join(folder, "tonearm-password"), `${password}\n`);
    const config = readFileSync(join(folder, "prometheus.yml"), "utf8");
    const path = join(folder, "prometheus.yml");
    writeFileSync(path, config.replaceAll("interval: 15s", "interval: 1s").replace('"tonearm:2333"', `"${target}"`));
    const data = join(folder, "data");
    const child = spawn(
      "prometheus",
      [`--config.file=${path}`, `--storage.tsdb.path=${data}`, "--web.listen-address=127.0.0.1:0"],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    try {
      return new PrometheusServer(child, folder, `http://${await addressOf(child)}`);
    } catch (error) {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true });
      throw error;
    }
  }

  /** The values of an instant query; rejects with what Prometheus says of a wrong one. */
  async query(expr: string): Promise<readonly number[]> {
    const response = await fetch(`${this.#url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
    const { status, error, data } = (await response.json()) as QueryAnswer;
    if (status !== "success") throw new Error(`${expr}: ${error}`);
    return data?.result.map(({ value }) => Number(value?.[1])) ?? [];
  }

  /** Any other path below `/api/v1`: its `data`. */
  async ask(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    return ((await response.json()) as { data: unknown }).data;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode === null) {
      this.#child.kill("SIGTERM");
      await once(this.#child, "exit");
    }
    rmSync(this.#folder, { recursive: true });
  }
}

/** `127.0.0.1:port`, as it says once it listens. */
async function addressOf(child: ChildProcess): Promise<string> {
  let said = "";
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => reject(new Error(`Prometheus does not start: ${said}`)), START_TIMEOUT_MS);
    child.on("error", (error) => reject(new Error(`apt-get install prometheus (${error.message})`)));
    child.on("exit", () => reject(new Error(`Prometheus has ended: ${said}`)));
    child.stderr?.on("data", (data: Buffer) => {
      said += data.toString();
      const [, address] = /"?Listening on"? address=(\S+)/.exec(said) ?? [];
      if (address === undefined) return;
      clearTimeout(timeout);
      resolve(address);
    });
  });
}
