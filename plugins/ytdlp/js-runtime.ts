// The JavaScript runtime that yt-dlp solves YouTube's challenges with: deno where it is installed, else the Node.js
// that runs this node, if it is new enough. Plugin thread; main thread for the doctor.

import type { PluginHost } from "../../src/plugin-api/plugin.ts";

/** The first version of yt-dlp that uses one: 2025.11, as a number. */
const YT_DLP_MIN = 202_511;
/** What yt-dlp requires of Node.js. */
const NODE_MAJOR_MIN = 22;
/** What yt-dlp requires of deno: 2.3, as a number. */
const DENO_MIN = 203;
const DENO_TIMEOUT_MS = 5000;
const DENO_BYTES_MAX = 64 * 1024;
/** yt-dlp accepts abbreviations of its options. */
const OPTION = /^--(?:no-)?js-r/;

export const NO_JS_RUNTIME_ADVICE = "run Tonearm on Node.js 22 or newer, or install deno 2.3 or newer";

/** This process, or what a test takes for it. */
export interface NodeProcess {
  readonly versions: { readonly node: string };
  readonly execPath: string;
}

interface YtDlpAndNode {
  /** As yt-dlp prints it. */
  readonly version: string;
  readonly node: NodeProcess;
}

interface RunQuestion extends YtDlpAndNode {
  /** The operator's arguments of that run. */
  readonly customArgs: readonly string[];
}

interface RuntimeQuestion extends YtDlpAndNode {
  /** The operator's arguments for loading, and for playing. */
  readonly customArgs: readonly (readonly string[])[];
}

/** Arguments that give yt-dlp our own Node.js. None where yt-dlp or Node.js is too old, or the operator has chosen. */
export function runtimeArguments({ version, customArgs, node }: RunQuestion): readonly string[] {
  const isOurs = wantsRuntime(version) && !isChosen(customArgs) && isNodeEnough(node);
  return isOurs ? ["--js-runtimes", `node:${node.execPath}`] : [];
}

/**
 * Which runtime yt-dlp uses where the operator has not chosen one, in words: undefined where it needs one and has none.
 * It prefers deno, which it finds by itself. Rejects when aborted.
 */
export async function findRuntime(
  { version, customArgs, node }: RuntimeQuestion,
  run: PluginHost["run"],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!wantsRuntime(version)) return "none needed";
  if (customArgs.every(isChosen)) return "as its arguments say";
  const deno = await denoVersion(run, signal);
  const [major = 0, minor = 0] = deno?.split(".").map(Number) ?? [];
  if (major * 100 + minor >= DENO_MIN) return `deno ${deno}`;
  return isNodeEnough(node) ? `Node.js ${node.versions.node}` : undefined;
}

/** Versions are dates, with a suffix for nightly builds: 2025.11.12, 2026.10.26.220202.dev0. */
function wantsRuntime(version: string): boolean {
  const [, year, month] = /(\d{4})\.(\d{1,2})\.\d/.exec(version) ?? [];
  return Number(year) * 100 + Number(month) >= YT_DLP_MIN;
}

function isChosen(customArgs: readonly string[]): boolean {
  return customArgs.some((argument) => OPTION.test(argument));
}

function isNodeEnough({ versions }: NodeProcess): boolean {
  return Number.parseInt(versions.node, 10) >= NODE_MAJOR_MIN;
}

async function denoVersion(run: PluginHost["run"], signal: AbortSignal): Promise<string | undefined> {
  try {
    const limits = { timeoutMs: DENO_TIMEOUT_MS, outputBytesMax: DENO_BYTES_MAX };
    const { stdout } = await run("deno", { args: ["--version"], signal, ...limits });
    return /^deno (\d+\.\d+[\w.-]{0,20})/.exec(stdout)?.[1];
  } catch {
    signal.throwIfAborted();
    // Not installed, or not usable: yt-dlp cannot use it either.
    return undefined;
  }
}
