// `tonearm support`: everything that others need to diagnose a problem, in one file that can be shared. Combines what
// this command finds out itself with the report of the running node, if it can be reached. Main thread.

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type LoadedConfig, loadConfig } from "../../config/load-config.ts";
import { secretsAround } from "../../config/process-environment.ts";
import { NodeError } from "../../errors.ts";
import { type BundlePart, bundleText } from "../../observability/support-bundle/bundle-text.ts";
import { configText } from "../../observability/support-bundle/config-text.ts";
import { describeMachine } from "../../observability/support-bundle/machine.ts";
import { Pseudonymizer } from "../../observability/support-bundle/pseudonymizer.ts";
import { runDoctor } from "../doctor/run-doctor.ts";
import { askNode, type NodeAnswer } from "./ask-node.ts";

/** Below the 65,536 characters that a GitHub issue may have. */
const BUNDLE_LENGTH_MAX = 64_000;

const WORDS =
  "Secrets and played content are left out; ids, sessions and addresses are replaced by pseudonyms, the same ones\n" +
  "throughout. Read the file before you share it: only you know your configuration.";

/** The process environment of the command. */
export interface SupportContext {
  readonly cwd: string;
  /** Standard output. */
  write(text: string): void;
  /** Standard error: how it goes. */
  writeError(text: string): void;
}

/**
 * `args` may begin with a file name, or `-` for standard output. Resolves with 0 when the bundle is written, whatever
 * it says.
 */
export async function runSupport(args: readonly string[], context: SupportContext): Promise<number> {
  const [first = ""] = args;
  const isNamed = first === "-" || (first !== "" && !first.startsWith("-"));
  const text = await gather(isNamed ? args.slice(1) : args, context);
  if (first === "-") {
    context.write(text);
    return 0;
  }
  const path = resolve(context.cwd, isNamed ? first : `tonearm-support-${new Date().toISOString().slice(0, 10)}.md`);
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    context.writeError(`tonearm: could not write ${path} (${code}); tonearm support - writes to standard output\n`);
    return 1;
  }
  context.writeError(`Written to ${path}. Read it, then attach it to your issue.\n`);
  return 0;
}

async function gather(args: readonly string[], context: SupportContext): Promise<string> {
  const loaded = tryLoad(args, context.cwd);
  const shown = "shown" in loaded ? loaded.shown : undefined;
  const pseudonymizer = new Pseudonymizer({ secrets: [...(shown?.hidden.reveal() ?? []), ...secretsAround(args)] });
  context.writeError("Asking the node and looking at this machine; this takes some seconds.\n");
  const answer: NodeAnswer =
    "config" in loaded
      ? await askNode(loaded.config.server, pseudonymizer.key)
      : { reason: "the configuration is invalid, so the address of the node is unknown" };
  const settings = pseudonymizer.text(shown === undefined ? withoutFound(textOf(loaded)) : configText(shown.settings));
  const doctor = withoutFound(await doctorText(args, context, "text" in answer));
  const running = "text" in answer ? pseudonymizer.text(answer.text) : "";
  const parts: BundlePart[] = [
    {
      title: "Here: the running node",
      text: "text" in answer ? "it has answered, see below" : pseudonymizer.text(`it is not there: ${answer.reason}`),
      lengthMax: 1000,
    },
    { title: "Here: versions and machine", text: pseudonymizer.text(await describeMachine()), lengthMax: 2000 },
    {
      title: "Here: configuration",
      text: running.includes(settings) ? "the same as the node's, see below" : settings,
      lengthMax: 9000,
    },
    { title: "Here: doctor", text: pseudonymizer.text(doctor), lengthMax: 5000 },
  ];
  const whole = [bundleText("Tonearm support bundle", WORDS, parts), running].join("\n");
  return whole.length <= BUNDLE_LENGTH_MAX ? whole : `${whole.slice(0, BUNDLE_LENGTH_MAX)}\n… the rest is left out\n`;
}

function tryLoad(args: readonly string[], cwd: string): LoadedConfig | NodeError {
  try {
    return loadConfig({ args, cwd });
  } catch (error) {
    if (error instanceof NodeError) return error;
    throw error;
  }
}

function textOf(loaded: LoadedConfig | NodeError): string {
  return loaded instanceof NodeError ? loaded.message : "";
}

/** Removes the value found instead of the expected one: it may be a misplaced secret. */
function withoutFound(message: string): string {
  return message.replaceAll(/found ".*"/g, 'found "<left out>"');
}

async function doctorText(args: readonly string[], { cwd }: SupportContext, isNodeRunning: boolean): Promise<string> {
  let text = "";
  await runDoctor(args, {
    cwd,
    isNodeRunning,
    write: (line) => {
      text += line;
    },
  });
  return text;
}
