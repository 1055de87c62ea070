// Finds and runs the requested command. Each command is imported only when it runs, so that `start` loads nothing it
// does not need. Main thread.

import { NodeError, rootCause } from "../errors.ts";
import { closestName } from "../lib/closest-name.ts";
import { redactText } from "../lib/redact-text.ts";
import { VERSION } from "../version.ts";
import type { StartContext } from "./start.ts";

/** The process environment of all commands. */
interface CommandContext extends StartContext {
  writeError(text: string): void;
}

const COMMANDS = ["start", "demo", "doctor", "canary", "health", "drain", "keys", "support", "help"] as const;
/** Commands with separate options and help. */
const WITH_HELP: readonly string[] = ["demo", "canary"];
type Command = (typeof COMMANDS)[number];

const HELP = `Tonearm ${VERSION}: an audio node for Discord bots that speaks the Lavalink v4 protocol.

  tonearm [start]           run the node (default)
  tonearm demo FILE_OR_URL  play it to a fake Discord, write what a listener hears to a WAV
  tonearm doctor            check configuration, ports, network, codecs, encryption and clock
  tonearm canary            try the sites that you play from, with your configuration
  tonearm health            ask the running node whether it serves; ends with 0 or 1
  tonearm drain             move the running node's players to other machines of its cluster, before it is stopped
                            [--deadline SECONDS]; ends with 0 if none is left, else 1
  tonearm keys              list the client keys; add, rotate, retire or remove NAME changes them
  tonearm support [FILE]    write what an issue needs, without secrets, to FILE; "-" is standard output

  --config FILE             read this file; default: tonearm.yml or application.yml in the current folder
  --KEY=VALUE               override a key, such as --server.port=2333
  --help, -h                this text; behind demo or canary, what these take
  --version, -v             the version

Every key can also be an environment variable: server.port is SERVER_PORT. All keys: config.example.yml
`;

/** Runs one command line (without `node` and the script). Resolves with the exit status. */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<number> {
  const [first = ""] = args;
  const isHelpRequested = args.includes("--help") || args.includes("-h");
  if ((isHelpRequested && !WITH_HELP.includes(first)) || first === "help") return say(HELP, context);
  if (first === "--version" || first === "-v") return say(`${VERSION}\n`, context);
  const isNamed = first !== "" && !first.startsWith("-");
  const name = isNamed ? first : "start";
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) return refuse(name, context);
  try {
    return await run(command, isNamed ? args.slice(1) : args, context);
  } catch (error) {
    if (!(error instanceof NodeError) || error.fault === "ourselves") throw error;
    const root = rootCause(error);
    const reason = root instanceof Error && root !== error ? ` (${root.message})` : "";
    context.writeError(`tonearm: ${redactText(`${error.message}${reason}`)}\n`);
    return 1;
  }
}

async function run(command: Command, args: readonly string[], context: CommandContext): Promise<number> {
  if (command === "demo") {
    const { runDemo } = await import("../../lab/demo/main.ts");
    return runDemo([...args]);
  }
  if (command === "canary") {
    const { canaryCommand } = await import("../../lab/canary/command.ts");
    return canaryCommand(args, context);
  }
  if (command === "doctor") {
    const { runDoctor } = await import("./doctor/run-doctor.ts");
    return runDoctor(args, context);
  }
  if (command === "health") {
    const { healthCommand } = await import("./health.ts");
    return healthCommand(args, context);
  }
  if (command === "drain") {
    const { drainCommand } = await import("./drain.ts");
    return drainCommand(args, context);
  }
  if (command === "keys") {
    const { keysCommand } = await import("./keys-command.ts");
    return keysCommand(args, context);
  }
  if (command === "support") {
    const { runSupport } = await import("./support/run-support.ts");
    return runSupport(args, context);
  }
  const { startCommand } = await import("./start.ts");
  return startCommand(args, context);
}

function say(text: string, context: CommandContext): number {
  context.write(text);
  return 0;
}

function refuse(name: string, context: CommandContext): number {
  const suggestion = closestName(name, COMMANDS);
  const hint = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
  context.writeError(`tonearm: there is no command "${name}".${hint} See tonearm --help.\n`);
  return 2;
}
