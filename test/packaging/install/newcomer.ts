// A user who has Node.js and npm and nothing else: an empty folder, no cache, no global packages; and none of the
// variables that `npm run` sets for the tests of this checkout.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** npm's variables that refer to this checkout or to installed packages; the registry stays. */
const OURS =
  /^(?:npm_(?:package_|lifecycle_|command$|execpath$|node_execpath$)|npm_config_(?:local_|global_)?prefix$)/i;
const OF_TESTS = /^(?:NODE_ENV|NODE_OPTIONS|VITEST.*|INIT_CWD)$/;

/** How a command ended. */
interface Ended {
  readonly status: number | null;
  /** Both streams, in the order of arrival. */
  readonly output: string;
  readonly tookMs: number;
}

/** A command that may still run. */
interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the match once the output has it; rejects when the command ends without. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Close it: its folder goes away, and what it has started is ended. */
export class Newcomer {
  /** Where it works, empty at first. */
  readonly folder: string;
  /** `bin` of what it installs with `npm install --global`. */
  readonly globalBin: string;
  readonly #root = mkdtempSync(join(tmpdir(), "tonearm-newcomer-"));
  readonly #env: Record<string, string | undefined>;
  readonly #children = new Set<ChildProcess>();

  /** `nodeBin`: the folder of the Node.js that is used for everything, npm included. */
  constructor(nodeBin: string) {
    this.folder = join(this.#root, "empty");
    this.globalBin = join(this.#root, "prefix", "bin");
    mkdirSync(this.folder);
    const path = (process.env.PATH ?? "").split(delimiter).filter((entry) => !entry.includes("node_modules"));
    this.#env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.test(name) && !OF_TESTS.test(name))),
      PATH: [nodeBin, ...path].join(delimiter),
      npm_config_cache: join(this.#root, "cache"),
      npm_config_prefix: join(this.#root, "prefix"),
    };
  }

  /** With what `env` adds to its environment. */
  start(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    const startedMs = performance.now();
    const child = spawn(command, args, {
      cwd: this.folder,
      env: { ...this.#env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#children.add(child);
    let output = "";
    const waiting = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        for (const check of waiting) check();
      });
    }
    const ended = once(child, "close").then(([status]: (number | null)[]) => {
      this.#children.delete(child);
      return { status: status ?? null, output, tookMs: performance.now() - startedMs };
    });
    const until = (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(output);
          if (match !== null) resolve(match);
        };
        waiting.add(check);
        check();
        ended.then(() => reject(new Error(`ended without ${pattern}: ${output}`)), reject);
      });
    return { child, ended, until };
  }

  run(command: string, args: readonly string[]): Promise<Ended> {
    return this.start(command, args).ended;
  }

  close(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.#root, { recursive: true, force: true });
  }
}
