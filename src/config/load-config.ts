// Builds the NodeConfig from file, environment and command line (later ones override earlier ones), or fails with the
// complete list of mistakes. Main thread, once at start.

import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { availableParallelism, hostname } from "node:os";
import { NodeError } from "../errors.ts";
import { deepFreeze } from "../lib/deep-freeze.ts";
import { type Random, systemRandom } from "../lib/random.ts";
import { completeConfig, type NodeConfig } from "./node-config.ts";
import { findConfigFile } from "./reading/find-file.ts";
import { foreignFormat } from "./reading/foreign-format.ts";
import type { Variables } from "./reading/placeholders.ts";
import { readArguments } from "./reading/read-arguments.ts";
import { readEnvironment } from "./reading/read-environment.ts";
import { readConfigFile } from "./reading/read-file.ts";
import { SettingTable } from "./reading/setting-table.ts";
import type { ConfigProblem } from "./reading/written-setting.ts";
import { FILE_SIZE_MAX_BYTES } from "./reading/yaml-documents.ts";
import { stateDirectoryOf } from "./service-variables.ts";
import { type ShownConfig, shownConfig } from "./shown-config.ts";

/** More mistakes than this are counted, not shown. */
const SHOWN_PROBLEMS_MAX = 20;

export interface LoadConfigOptions {
  /** `--key=value` and `--config FILE`. */
  readonly args: readonly string[];
  /** Default: the environment of this process. */
  readonly env?: Variables;
  readonly cwd: string;
  /** Returns the text of a file, undefined when it does not exist. */
  readonly readFile?: (path: string) => string | undefined;
  readonly realPath?: (path: string) => string | undefined;
  /** Makes the password when none is configured. */
  readonly random?: Random;
  readonly coreCount?: number;
  readonly hostName?: string;
}

/** The result of `loadConfig`. Warnings and notes name keys, never values of secrets; the caller logs them. */
export interface LoadedConfig {
  readonly config: NodeConfig;
  /** Name of the file that was read, or undefined. */
  readonly fileName: string | undefined;
  /** Things the operator should change. */
  readonly warnings: readonly string[];
  /** Information for the operator that needs no action. */
  readonly notes: readonly string[];
  /** Every value in force, for people. */
  readonly shown: ShownConfig;
}

/**
 * Reads, checks, completes and freezes the configuration.
 * @throws NodeError "config-invalid" naming every mistake with its location, "config-unreadable"
 */
export function loadConfig(options: LoadConfigOptions): LoadedConfig {
  const { args, env = process.env, cwd, readFile = readTextFile, realPath = realFolder } = options;
  const table = new SettingTable();
  const fromArguments = readArguments(args);
  table.problems.push(...fromArguments.problems);
  const askedFor = fromArguments.filePath ?? env.SPRING_CONFIG_LOCATION;
  const file = findConfigFile({ askedFor, cwd, readFile });
  const foreign = file === undefined ? undefined : foreignFormat(file.text, file.name);
  if (foreign !== undefined) throw invalid([{ location: file?.name ?? "", message: foreign }]);
  if (file !== undefined) {
    const reading = readConfigFile(file.text, { fileName: file.name, variables: env });
    table.problems.push(...reading.problems);
    table.addFile(reading.settings);
    for (const name of file.ignoredNames) table.warnings.push(`${name} is not read, because ${file.name} exists`);
  }
  table.addVariables(readEnvironment(env));
  table.addArguments(fromArguments.settings);

  const values = table.readAll();
  if (table.problems.length > 0) throw invalid(table.problems);
  const config = completeConfig(values, {
    cwd,
    stateDirectory: stateDirectoryOf(env),
    realPath,
    random: options.random ?? systemRandom,
    coreCount: options.coreCount ?? availableParallelism(),
    hostName: options.hostName ?? hostname(),
    warn: (message) => table.warnings.push(message),
    note: (message) => table.notes.push(message),
    reject: (key, message) => table.problems.push({ location: key, message }),
  });
  if (table.problems.length > 0) throw invalid(table.problems);
  deepFreeze(config);
  const shown = shownConfig(table.shown(), config.server.password);
  return { config, fileName: file?.name, warnings: table.warnings, notes: table.notes, shown };
}

function invalid(problems: readonly ConfigProblem[]): NodeError {
  const lines = problems.toSorted(byLine).map(({ location, message }) => `  ${location}: ${message}`);
  const count = lines.length === 1 ? "a mistake" : `${lines.length} mistakes`;
  const unshownCount = lines.splice(SHOWN_PROBLEMS_MAX).length;
  if (unshownCount > 0) lines.push(`  and ${unshownCount} more`);
  return new NodeError("config-invalid", `the configuration has ${count}:\n${lines.join("\n")}`);
}

/** Mistakes in a file in the order of their lines, others behind. */
function byLine(a: ConfigProblem, b: ConfigProblem): number {
  const [lineA, lineB] = [a, b].map(({ location }) =>
    Number(/:(\d+):\d+$/.exec(location)?.[1] ?? Number.MAX_SAFE_INTEGER),
  );
  return lineA! - lineB!;
}

function readTextFile(path: string): string | undefined {
  try {
    return readStart(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new NodeError("config-unreadable", `could not read ${path}: ${String(code)}`, { cause: error });
  }
}

/** The text of a file, or of one that is too long a little more than is accepted: it may have no end (`/dev/zero`). */
function readStart(path: string): string {
  const buffer = Buffer.alloc(FILE_SIZE_MAX_BYTES + 4);
  const file = openSync(path, "r");
  try {
    let length = 0;
    for (let count = -1; count !== 0 && length < buffer.length; length += count) {
      count = readSync(file, buffer, length, buffer.length - length, null);
    }
    return buffer.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

function realFolder(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    // The file does not exist, or cannot be accessed: the caller leaves it out with a warning.
    return undefined;
  }
}
