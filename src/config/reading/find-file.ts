// Finds the file to read: the requested one, or else the first default name that exists. Main thread, at start.

import { resolve } from "node:path";
import { NodeError } from "../../errors.ts";

/**
 * Searched in the folder the node was started in; ours first, so that an `application.yml` can stay for a return to
 * Lavalink.
 */
const FILE_NAMES = ["tonearm.yml", "tonearm.yaml", "application.yml", "application.yaml", "config/application.yml"];

interface FoundFile {
  /** As it is named in messages. */
  readonly name: string;
  readonly text: string;
  /** Others that are there too and not read. */
  readonly ignoredNames: readonly string[];
}

/**
 * Finds and reads the configuration file; undefined when there is none and none was requested.
 * @throws NodeError "config-unreadable"
 */
export function findConfigFile(options: {
  readonly askedFor: string | undefined;
  readonly cwd: string;
  readonly readFile: (path: string) => string | undefined;
}): FoundFile | undefined {
  const { askedFor, cwd, readFile } = options;
  if (askedFor !== undefined) {
    const text = readFile(resolve(cwd, plainPath(askedFor)));
    if (text !== undefined) return { name: plainPath(askedFor), text, ignoredNames: [] };
    throw new NodeError("config-unreadable", `there is no configuration file ${askedFor}; check the path`);
  }
  const found = FILE_NAMES.flatMap((name) => {
    const text = readFile(resolve(cwd, name));
    return text === undefined ? [] : [{ name, text }];
  });
  const [first, ...others] = found;
  return first && { ...first, ignoredNames: others.map(({ name }) => name) };
}

/** Spring writes `optional:file:/path`, and a folder with a slash at its end. */
function plainPath(path: string): string {
  const plain = path.replace(/^optional:/, "").replace(/^file:(\/\/)?/, "");
  return plain.endsWith("/") ? `${plain}application.yml` : plain;
}
