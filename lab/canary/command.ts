// `tonearm canary --yes`: tries the real sites with the operator's configuration and prints a table. For operators
// only: without `--yes` it sends no request.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Variables } from "../../src/config/reading/placeholders.ts";
import type { NodeOptions } from "../../src/node.ts";
import { Canary, type Tried } from "./canary.ts";
import { CanaryNode } from "./canary-node.ts";
import { lastLine, TABLE_HEAD, tableLines } from "./table.ts";
import { readTries, TRIES, type Tries } from "./tries.ts";

const HELP = `Tries the real sites that the node plays from, with your configuration.

  tonearm canary --yes

  --yes             send requests to the sites; without it none is sent
  --only SOURCES    sources to try, separated by commas: soundcloud,youtube
  --tries FILE      requests in place of the built-in ones, YAML or JSON: { soundcloud: { search: "scsearch:…", link: "https://…" } }
  --config FILE     as for the node; default: tonearm.yml or application.yml in the current folder
  --KEY=VALUE       as for the node: --plugins.youtube.clients=WEB
  --help            this text

For each enabled source: a search, a link, and three seconds of audio, played to a fake Discord on this machine. One
request after the other with pauses between them, from this machine and with the keys and logins of your
configuration, by a separate node: a running one is not used. It takes some minutes, 15 at most. The exit status is 1
when anything failed.
`;

/** Pause between two requests to sites. */
const PAUSE_MS = 3000;

export interface CanaryContext {
  readonly cwd: string;
  /** Default: the environment of this process. */
  readonly env?: Variables;
  write(text: string): void;
  writeError(text: string): void;
  /** Default: 3 s. */
  readonly pauseMs?: number;
  /** For callers that do not run from `dist`. */
  readonly nodeOptions?: Partial<NodeOptions>;
}

interface RunSelection {
  readonly only: readonly string[] | undefined;
  readonly tries: Tries;
  /** Arguments for the node. */
  readonly nodeArgs: readonly string[];
}

/** Resolves with the exit status: 1 when anything failed, 2 when `--yes` is missing or the run cannot start. */
export async function canaryCommand(args: readonly string[], context: CanaryContext): Promise<number> {
  try {
    const selection = readSelection(args, context);
    if (typeof selection === "object") return await tryAll(selection, context);
    context.write(HELP);
    if (selection === "nothing") context.writeError("\nNo request was sent: --yes is missing.\n");
    return selection === "help" ? 0 : 2;
  } catch (error) {
    context.writeError(`canary: ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

function readSelection(args: readonly string[], { cwd }: CanaryContext): RunSelection | "help" | "nothing" {
  const isOwn = (arg: string): boolean => !/^--[\w.[\]-]*\.[^=]*=/.test(arg);
  const { values } = parseArgs({
    args: args.filter(isOwn),
    options: {
      yes: { type: "boolean", default: false },
      only: { type: "string" },
      tries: { type: "string" },
      config: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  if (!values.yes) return "nothing";
  return {
    only: values.only?.split(",").map((name) => name.trim()),
    tries: values.tries === undefined ? TRIES : triesOf(resolve(cwd, values.tries)),
    nodeArgs: [
      ...(values.config === undefined ? [] : [`--config=${values.config}`]),
      ...args.filter((arg) => !isOwn(arg)),
    ],
  };
}

function triesOf(path: string): Tries {
  try {
    return readTries(readFileSync(path, "utf8"), TRIES);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function tryAll({ only, tries, nodeArgs }: RunSelection, context: CanaryContext): Promise<number> {
  const { cwd, env, nodeOptions, pauseMs = PAUSE_MS } = context;
  const { config, fileName } = loadConfig({ args: nodeArgs, cwd, ...(env !== undefined && { env }) });
  const node = await CanaryNode.start(config, nodeOptions);
  try {
    const all: Tried[] = [];
    const onTried = (tried: Tried): void => {
      if (all.length === 0) context.write(`With ${fileName ?? "no file: defaults"}.\n\n${TABLE_HEAD}`);
      all.push(tried);
      context.write(tableLines(tried));
    };
    await new Canary(node, { tries, only, pauseMs, onTried }).run();
    context.write(`\n${lastLine(all)}`);
    return all.some(({ outcome }) => outcome === "failed") ? 1 : 0;
  } finally {
    await node.close();
  }
}
