// The operator's yt-dlp program: its presence, its age and its answers. Plugin thread.

import {
  type Cache,
  type OptionValues,
  type PluginHost,
  type RunResult,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { type Members, objectOf } from "../reading/json.ts";
import { argumentsFor } from "./arguments.ts";
import type { Target } from "./identifiers.ts";
import { findRuntime, NO_JS_RUNTIME_ADVICE, type NodeProcess, runtimeArguments } from "./js-runtime.ts";
import type { YTDLP_MANIFEST } from "./manifest.ts";
import { errorOf } from "./program-errors.ts";

export type YtDlpHost = PluginHost<OptionValues<typeof YTDLP_MANIFEST.config>>;

/** Sites change, and an older one does not know. */
const AGE_MS_MAX = 60 * 24 * 60 * 60_000;
/** One that cannot be run is tried again after so long. */
const MISSING_MS = 60_000;
const VERSION_TTL_MS = 24 * 60 * 60_000;
const VERSION_TIMEOUT_MS = 15_000;
const VERSION_BYTES_MAX = 64 * 1024;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const VERSION = "version";
/** What the node sends where the operator has set none: those that yt-dlp has for each site are better. */
const NODES_USER_AGENT = /^Tonearm\/[\w.+-]+$/;

interface Question {
  readonly purpose: "load" | "playback";
  readonly target: Target;
  readonly countMax: number;
  readonly variant?: string | undefined;
}

export class Program {
  readonly #host: YtDlpHost;
  readonly #node: NodeProcess;
  readonly #versions: Cache<string>;
  #isAgeReported = false;

  constructor(host: YtDlpHost, node: NodeProcess) {
    this.#host = host;
    this.#node = node;
    this.#versions = host.cache(VERSION, { ttlMs: VERSION_TTL_MS, entriesMax: 1 });
  }

  /** Logs once if the program is missing or old, or has no JavaScript runtime. Never rejects. */
  async introduce(): Promise<void> {
    const { log, signal, options } = this.#host;
    try {
      const version = await this.#version(signal);
      log.debug("yt-dlp found", { version });
      const customArgs = [options.customLoadArgs, options.customPlaybackArgs];
      const run: YtDlpHost["run"] = (...call) => this.#host.run(...call);
      if ((await findRuntime({ version, customArgs, node: this.#node }, run, signal)) !== undefined) return;
      const consequence = "yt-dlp has no JavaScript runtime, so YouTube gives it few formats or none";
      log.warn(`${consequence}; ${NO_JS_RUNTIME_ADVICE}`, { version, node: this.#node.versions.node });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      log.warn("yt-dlp cannot be used; correct the option path, or install it", { reason });
    }
  }

  /** The object that it prints. Rejects with a SourceError, an UnsupportedLink among them. */
  async ask(question: Question, signal: AbortSignal): Promise<Members> {
    // A missing program is not the fault of a site.
    const version = await this.#version(signal);
    const work = () => this.#run(question, version, signal);
    const { backend } = question.target;
    return backend === undefined ? work() : this.#host.backend(backend).run(work);
  }

  async #run({ purpose, ...details }: Question, version: string, signal: AbortSignal): Promise<Members> {
    const { path, customLoadArgs, customPlaybackArgs, timeoutMs, concurrency } = this.#host.options;
    const customArgs = purpose === "load" ? customLoadArgs : customPlaybackArgs;
    const runtimeArgs = runtimeArguments({ version, customArgs, node: this.#node });
    const { userAgent } = this.#host;
    const ownUserAgent = NODES_USER_AGENT.test(userAgent) ? undefined : userAgent;
    const args = argumentsFor({ ...details, customArgs, runtimeArgs, userAgent: ownUserAgent });
    const limits = { timeoutMs, outputBytesMax: OUTPUT_BYTES_MAX, concurrencyMax: concurrency };
    const result = await this.#host.run(path, { args, signal, ...limits }).catch((error: unknown) => {
      // The program may have been removed: search for it again before the next run.
      if (error instanceof SourceError && error.cause !== undefined) this.#versions.delete(VERSION);
      throw error;
    });
    const answer = objectIn(result.stdout);
    // It may have skipped entries of a list, with errors about them.
    if (answer !== undefined) return answer;
    if (result.exitCode !== 0) throw errorOf(result, customArgs);
    throw new SourceError("changed", "yt-dlp answered no JSON object; update it, or correct its arguments");
  }

  #version(signal: AbortSignal): Promise<string> {
    return this.#versions.getOrMake(VERSION, {
      signal,
      make: (shared) => this.#host.backend("yt-dlp").run(() => this.#readVersion(shared)),
    });
  }

  async #readVersion(signal: AbortSignal): Promise<string> {
    const { path, concurrency } = this.#host.options;
    const limits = { timeoutMs: VERSION_TIMEOUT_MS, outputBytesMax: VERSION_BYTES_MAX, concurrencyMax: concurrency };
    const result = await this.#host.run(path, { args: ["--version"], signal, ...limits }).catch((error: unknown) => {
      if (!(error instanceof SourceError) || error.kind === "busy") throw error;
      throw new SourceError("unreachable", error.message, { cause: error, retryAfterMs: MISSING_MS });
    });
    const version = versionIn(result);
    this.#reportAge(version);
    return version;
  }

  #reportAge(version: string): void {
    const [, year, month, day] = /(\d{4})\.(\d{2})\.(\d{2})/.exec(version) ?? [];
    const ageMs = this.#host.clock.now() - Date.UTC(Number(year), Number(month) - 1, Number(day));
    // Not a number if the version is not a date.
    if (this.#isAgeReported || !(ageMs > AGE_MS_MAX)) return;
    this.#isAgeReported = true;
    this.#host.log.warn("yt-dlp is older than 60 days, and sites may have changed since; update it", { version });
  }
}

function versionIn({ exitCode, stdout }: RunResult): string {
  const version = stdout.trim().split(/\s/)[0] ?? "";
  if (exitCode === 0 && /^[\w.@+-]{1,60}$/.test(version)) return version;
  const message = "the program set up as yt-dlp reports no version; correct the option path";
  throw new SourceError("unreachable", message, { retryAfterMs: MISSING_MS });
}

/** The operator's arguments may cause more lines: then the last one with an object counts. */
function objectIn(stdout: string): Members | undefined {
  return parsed(stdout) ?? parsed(stdout.split("\n").findLast((line) => line.startsWith("{")) ?? "");
}

function parsed(text: string): Members | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    // Not JSON: the caller says so.
    return undefined;
  }
}
