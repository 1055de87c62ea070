// The doctor's check of yt-dlp, where the configuration names it: it runs, and has a JavaScript runtime. Main thread.

import { findRuntime, NO_JS_RUNTIME_ADVICE, type NodeProcess } from "../../../plugins/ytdlp/js-runtime.ts";
import { YTDLP_MANIFEST } from "../../../plugins/ytdlp/manifest.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { systemClock } from "../../lib/clock.ts";
import { isTreeMap } from "../../lib/plain-tree.ts";
import { planPlugins } from "../../plugin-host/plan/plugin-plans.ts";
import { Programs } from "../../plugin-host/runtime/host/run-program.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import type { Check, CheckResult } from "./check.ts";

const TIMEOUT_MS = 15_000;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** None where yt-dlp is not set up, or set up wrongly, which is another check's. */
export function ytDlpCheck(config: NodeConfig, node: NodeProcess = process): Check[] {
  const { name } = YTDLP_MANIFEST;
  // Where the modules are does not matter: none is loaded.
  const plans = planPlugins(config, { cwd: "/", builtinFolder: new URL("file:///") });
  const written = plans.find((plan) => plan.name === name)?.optionsOf(name);
  if (!isTreeMap(written)) return [];
  const { values } = readOptions(YTDLP_MANIFEST.config, written, { path: `plugins.${name}` });
  if (values === undefined) return [];
  const { path, customLoadArgs, customPlaybackArgs } = values;
  const customArgs = [customLoadArgs, customPlaybackArgs];
  return [{ name: "yt-dlp", run: () => checkProgram({ path, customArgs, node }) }];
}

interface YtDlp {
  readonly path: string;
  readonly customArgs: readonly (readonly string[])[];
  readonly node: NodeProcess;
}

async function checkProgram({ path, customArgs, node }: YtDlp): Promise<CheckResult> {
  const programs = new Programs(systemClock);
  const { signal } = new AbortController();
  const limits = { signal, timeoutMs: TIMEOUT_MS, outputBytesMax: OUTPUT_BYTES_MAX };
  const answer = await programs.run(path, { args: ["--version"], ...limits }).catch((error: Error) => error);
  if (answer instanceof Error) {
    return { status: "warn", found: answer.message, advice: "correct plugins.ytdlp.path, or install yt-dlp" };
  }
  const version = answer.stdout.trim().split(/\s/)[0]?.slice(0, 60) ?? "";
  if (answer.exitCode !== 0 || version === "") {
    return { status: "warn", found: "the program reports no version", advice: "correct plugins.ytdlp.path" };
  }
  const runtime = await findRuntime({ version, customArgs, node }, (...call) => programs.run(...call), signal);
  return runtime === undefined
    ? { status: "warn", found: `${version} has no JavaScript runtime for YouTube`, advice: NO_JS_RUNTIME_ADVICE }
    : { status: "ok", found: `${version}, JavaScript runtime: ${runtime}` };
}
