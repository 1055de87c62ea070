// The command line's part of the configuration: `--server.port=1` for any key, `--config FILE` for the file, and
// Spring's name for the latter. Main thread, at start.

import { pathNames } from "./read-file.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";

interface ArgumentReading {
  readonly settings: readonly WrittenSetting[];
  /** The file asked for, or undefined. */
  readonly filePath: string | undefined;
  readonly problems: readonly ConfigProblem[];
}

/**
 * Never throws: arguments that are not `--key=value` are reported as problems. The last of several `--config` counts.
 */
export function readArguments(args: readonly string[]): ArgumentReading {
  const settings: WrittenSetting[] = [];
  const problems: ConfigProblem[] = [];
  let filePath: string | undefined;
  for (let index = 0; index < args.length; index++) {
    const argument = args[index]!;
    const [, name = "", value] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (name === "config" || name === "spring.config.location") {
      filePath = value ?? args[++index];
      if (filePath === undefined)
        problems.push({ location: argument, message: "expected the path of a file after it" });
    } else if (name.includes(".") && value !== undefined) {
      settings.push({ names: pathNames(name), text: value, location: `--${name}` });
    } else {
      problems.push({
        location: shorten(argument),
        message: "expected a key and its value as one word, such as --server.port=2333",
      });
    }
  }
  return { settings, filePath, problems };
}

function shorten(argument: string): string {
  const [name = ""] = argument.split("=", 1);
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
