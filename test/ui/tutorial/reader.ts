// Carries out the steps of the tutorial and nothing else: a folder with the package, a terminal, and Discord. Programs that keep
// running after their expected output are left running, each in a separate terminal.

import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { DiscordForBots } from "../../../lab/bot-gateway/discord-for-bots.ts";
import type { Shown, Step } from "./tutorial-page.ts";

const LOCAL_REDIRECT = fileURLToPath(new URL("../../support/local-redirect/", import.meta.url));
/** Variables of the test runner, which a reader's terminal does not have. */
const OF_THE_RUNNER =
  /^(npm_|vitest|node_env$|node_options$|tonearm|lavalink|server_|plugins_|metrics_|logging_|discord_)/i;
/** Long enough for a slow registry. */
const COMMAND_MS = 120_000;
const CLOSE_MS = 20_000;
/** Where the node listens in truth: the port that the page names may be taken on this machine. */
const LISTENING = /listening on http:\/\/127\.0\.0\.1:(\d+)/;
const NODE_ADDRESS = "127.0.0.1:2333";

interface ReaderOptions {
  readonly discord: DiscordForBots;
  /** The node's package, which the reader has made already. */
  readonly tarball: string;
  /** The registry that npm uses. */
  readonly registryUrl: string;
  /** npm's cache, shared by all readers so that packages are fetched once. */
  readonly npmCache: string;
  /**
   * Certificates for programs to trust: the certificate of `discord`, and those that this machine needs for registries.
   */
  readonly trustedFile: string;
  /** The replacements that the page asks the reader to make, in the text of files and in typed text. */
  readonly replacements: Readonly<Record<string, string>>;
}

export class Reader {
  readonly #options: ReaderOptions;
  readonly #home = mkdtempSync(join(tmpdir(), "tonearm-reader-"));
  readonly #terminals: Terminal[] = [];
  #folder = this.#home;
  #nodePort: string | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
    copyFileSync(options.tarball, join(this.#home, basename(options.tarball)));
  }

  async follow(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.kind === "file") this.write(step.name, step.text);
      else if (step.kind === "command") await this.run(step.line, step.shown);
      else await this.type(step.text, step.shown);
    }
  }

  /** Writes a file into the folder that the reader is in. */
  write(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), this.#replaced(text));
  }

  /** Runs a command until it has ended well, or until it has shown what it shall show. */
  async run(line: string, shown: Shown = []): Promise<void> {
    const [command, argument = ""] = line.split(" ");
    const terminal = new Terminal(line, this.#folder, this.#environment());
    this.#terminals.push(terminal);
    await terminal.until(shown).catch((error: unknown) => {
      throw new Error(`${error}\n${this.reported()}`);
    });
    // The state that a shell keeps from one line to the next.
    if (command === "cd") this.#folder = resolve(this.#folder, argument);
    this.#nodePort ??= LISTENING.exec(terminal.output)?.[1];
  }

  /** Ctrl+C in the terminal where this command runs. */
  async stop(line: string): Promise<void> {
    await Promise.all(this.#terminals.filter((terminal) => terminal.line === line).map((terminal) => terminal.close()));
  }

  /** The content of all terminals, to debug a difference from the page. */
  reported(): string {
    return this.#terminals.map(({ line, output }) => `$ ${line}\n${output}`).join("\n");
  }

  /** Ends all programs as Ctrl+C does, and clears up. */
  async close(): Promise<void> {
    await Promise.all(this.#terminals.map((terminal) => terminal.close()));
    rmSync(this.#home, { recursive: true, force: true });
  }

  async type(text: string, shown: Shown): Promise<void> {
    const answer = await this.#options.discord.type(this.#replaced(text)).catch((error: unknown) => {
      throw new Error(`${error}\n${this.reported()}`);
    });
    if (!isShown(shown, answer)) {
      throw new Error(`${text} was answered with: ${answer}\n${this.reported()}`);
    }
  }

  #replaced(text: string): string {
    return Object.entries(this.#options.replacements).reduce((now, [from, to]) => now.replaceAll(from, to), text);
  }

  /** The circumstances of this machine: its registry, and where Discord and the media are. */
  #environment(): NodeJS.ProcessEnv {
    const { discord, registryUrl, npmCache, trustedFile } = this.#options;
    const prefix = join(this.#home, "npm-prefix");
    const own = Object.entries(process.env).filter(([name]) => !OF_THE_RUNNER.test(name));
    const ports = {
      "discord.com:443": discord.port,
      "gateway.discord.gg:443": discord.port,
      ...(this.#nodePort !== undefined && { [NODE_ADDRESS]: Number(this.#nodePort) }),
    };
    return {
      ...Object.fromEntries(own),
      // The Node.js that runs the tests is the reader's.
      PATH: [join(prefix, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
      // Where packages are installed globally.
      npm_config_prefix: prefix,
      npm_config_registry: registryUrl,
      npm_config_cache: npmCache,
      npm_config_audit: "false",
      // A request that hangs is asked again within the time that a command has.
      npm_config_fetch_timeout: "30000",
      NODE_OPTIONS: `--import ${new URL(`file://${LOCAL_REDIRECT}redirect.mjs`)}`,
      NODE_EXTRA_CA_CERTS: trustedFile,
      PYTHONPATH: LOCAL_REDIRECT,
      // As in a terminal, where lines are seen at once.
      PYTHONUNBUFFERED: "1",
      REDIRECT_CERTIFICATE: trustedFile,
      REDIRECTED_PORTS: JSON.stringify(ports),
      SERVER_PORT: "0",
      TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
      TONEARM_VOICE_GATEWAY_SCHEME: "ws",
    };
  }
}

/** One command, and what it writes. */
class Terminal {
  readonly line: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #hasEnded = false;
  #output = "";
  #check: () => void = () => undefined;

  constructor(line: string, folder: string, env: NodeJS.ProcessEnv) {
    this.line = line;
    // A separate process group, like a terminal's; its standard input ends with us (test/support/local-redirect).
    this.#child = spawn("sh", ["-c", line], { cwd: folder, env, detached: true, stdio: "pipe" });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#check();
      });
    }
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (status) => {
        this.#hasEnded = true;
        resolve(status);
      });
    });
  }

  get output(): string {
    return this.#output;
  }

  /** Resolves when the output has all this, or where that is nothing, when the command has ended well. */
  async until(shown: Shown): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const seen = new Promise<"seen">((resolve) => {
      this.#check = () => {
        if (shown.length > 0 && isShown(shown, this.#output)) resolve("seen");
      };
      this.#check();
    });
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), COMMAND_MS);
    });
    const outcome = await Promise.race([seen, this.#ended, late]);
    clearTimeout(timer);
    const isWell = shown.length === 0 ? outcome === 0 : isShown(shown, this.#output);
    if (!isWell) throw new Error(`${this.line}: ${outcome}, without ${shown.join(" and ")}`);
  }

  /** Sends Ctrl+C, and kills the processes that remain after a timeout. */
  async close(): Promise<void> {
    this.#signal("SIGINT");
    const timer = setTimeout(() => this.#signal("SIGKILL"), CLOSE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#hasEnded || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // It has ended just now.
    }
  }
}

function isShown(shown: Shown, text: string): boolean {
  return shown.every((line) => line.test(text));
}
