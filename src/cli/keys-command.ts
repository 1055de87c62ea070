// `tonearm keys`: makes client keys, changes and removes them, in the file that the configuration names. A running node
// notices by itself. Main thread.

import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename } from "node:path";
import { type Document, isMap, parseDocument } from "yaml";
import { loadConfig } from "../config/load-config.ts";
import { hashOf, isKeyName, makeKey, readKeyFile } from "../control/access/client-key.ts";
import { readKeys } from "../control/access/key-file.ts";
import { NodeError } from "../errors.ts";
import { closestName } from "../lib/closest-name.ts";
import { systemRandom } from "../lib/random.ts";
import type { StartContext } from "./start.ts";

const ACTIONS = ["list", "add", "rotate", "retire", "remove"] as const;
type Action = (typeof ACTIONS)[number];

const HEADING = `# Client keys of Tonearm: access to the node in addition to the one password. \`tonearm keys\` writes this file.
# Fields below a name: role (client, viewer, operator), sessions, players, requestsPerSecond, sources, filters.
`;

/**
 * Runs `tonearm keys [list | add | rotate | retire | remove] [NAME]`; from the first `--` on it is configuration. Gives
 * the exit status.
 * @throws NodeError "keys-invalid", or what `loadConfig` throws
 */
export function keysCommand(args: readonly string[], context: StartContext): number {
  const firstOption = args.findIndex((arg) => arg.startsWith("--"));
  const words = firstOption < 0 ? args : args.slice(0, firstOption);
  const { config } = loadConfig({ args: args.slice(words.length), cwd: context.cwd });
  const { keysPath: path } = config.server;
  if (path === undefined) {
    throw refusal(
      "tonearm.keys.file is not set: set it (or TONEARM_KEYS_FILE) to the file that stores the client keys",
    );
  }
  const [word = "list", name, ...more] = words;
  const action = ACTIONS.find((known) => known === word);
  if (action === undefined || more.length > 0 || (action !== "list" && name === undefined)) throw misspelt(word);
  if (action === "list") return list(path, context);
  if (name === undefined || !isKeyName(name)) {
    throw refusal("the name of a key has up to 64 letters, digits, - and _");
  }
  return change(path, { action, name, context });
}

function hashesAfter(
  action: Change["action"],
  { before, fresh }: { readonly before: readonly string[]; readonly fresh: readonly string[] },
): readonly string[] {
  if (action === "remove") return [];
  return action === "retire" ? before.slice(-1) : [...before, ...fresh];
}

function list(path: string, { write }: StartContext): number {
  const keys = readKeys(path) ?? [];
  for (const { name, role, hashes } of keys) {
    write(`${name}  ${role}${hashes.length > 1 ? `, ${hashes.length} keys: \`tonearm keys retire ${name}\`` : ""}\n`);
  }
  if (keys.length === 0) write("There are no keys yet: `tonearm keys add NAME` makes one.\n");
  return 0;
}

interface Change {
  readonly action: Exclude<Action, "list">;
  readonly name: string;
  readonly context: StartContext;
}

function change(path: string, { action, name, context }: Change): number {
  // Parsed as the node parses it, so that mistakes are reported before anything is written.
  const keys = readKeys(path);
  const hashes = keys?.find((known) => known.name === name)?.hashes;
  const isThere = hashes !== undefined;
  // Values stay the texts that they are written as.
  const document: Document = parseDocument(keys === undefined ? "" : readFileSync(path, "utf8"), {
    schema: "failsafe",
  });
  if (!isMap(document.contents)) document.contents = document.createNode({});
  if (action === "add" && isThere) {
    throw refusal(`there is a key ${name} already; \`tonearm keys rotate ${name}\` makes another for it`);
  }
  if (action !== "add" && !isThere) throw refusal(`there is no key ${name}; \`tonearm keys\` lists them`);
  const key = action === "add" || action === "rotate" ? makeKey(systemRandom) : undefined;
  const hashesToWrite = hashesAfter(action, { before: hashes ?? [], fresh: key === undefined ? [] : [hashOf(key)] });
  replaceFile(path, { body: changed(document, name, hashesToWrite), name, hashesToWrite });
  if (key !== undefined) {
    context.write(
      `\n    The key for ${name} is  ${key}\n    It is shown only here. Clients send it as their password.\n\n`,
    );
  }
  context.write(`${DONE[action](name)} A running node takes it up within seconds.\n`);
  return 0;
}

const DONE: Readonly<Record<Exclude<Action, "list">, (name: string) => string>> = {
  add: (name) => `${name} may use the node now.`,
  rotate: (name) => `The one before is still good, until \`tonearm keys retire ${name}\`.`,
  retire: (name) => `Only the newest key of ${name} is good now.`,
  remove: (name) => `${name} may not use the node any more; its sessions end.`,
};

/** The file with these hashes for the key of that name; none: without it. */
function changed(document: Document, name: string, hashesToWrite: readonly string[]): string {
  try {
    if (hashesToWrite.length === 0) document.delete(name);
    else if (document.has(name)) document.setIn([name, "hashes"], document.createNode(hashesToWrite));
    else document.set(name, document.createNode({ hashes: hashesToWrite }));
    return document.toString();
  } catch {
    // Aliases, or several documents in one file: the library reports only the position, which does not help.
    throw writtenOtherwise(name);
  }
}

/** Replaces the file atomically, and keeps its owner and mode. */
function replaceFile(
  written: string,
  {
    body,
    name,
    hashesToWrite,
  }: { readonly body: string; readonly name: string; readonly hashesToWrite: readonly string[] },
): void {
  const text = body.trim() === "{}" ? HEADING : body.startsWith("#") ? body : `${HEADING}${body}`;
  // Parsed as the node will parse it: a key that is reported as removed must be removed, however it was written.
  const found = readKeyFile(text, basename(written)).find((key) => key.name === name)?.hashes ?? [];
  if (found.join() !== hashesToWrite.join()) throw writtenOtherwise(name);
  // A symbolic link is followed: its target is replaced, not the link.
  const path = existsSync(written) ? realpathSync(written) : written;
  const fresh = `${path}.new`;
  try {
    const before = statSync(path, { throwIfNoEntry: false });
    // Fails when the file exists: another command is running. Synced to disk first, because an empty file would remove
    // all keys.
    writeFileSync(fresh, text, { flag: "wx", mode: 0o644, flush: true });
    try {
      if (before !== undefined) keepOwner(fresh, before);
      renameSync(fresh, path);
    } catch (error) {
      rmSync(fresh, { force: true });
      throw error;
    }
  } catch (error) {
    throw new NodeError("keys-invalid", `the file of client keys could not be written${adviceOn(error, fresh)}`, {
      cause: error,
    });
  }
}

function adviceOn(error: unknown, fresh: string): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EEXIST")
    return `: ${fresh} exists. Another command is running; if none is, one was interrupted: remove that file`;
  if (code === "EBUSY") return ": the file itself is a mount and cannot be replaced; mount its folder instead";
  return typeof code === "string"
    ? ` (${code}): the file is replaced by a new one, so its folder must be writable too`
    : "";
}

function writtenOtherwise(name: string): NodeError {
  return refusal(
    `this command cannot change the form in which ${name} is written: edit its hashes in the file by hand`,
  );
}

function keepOwner(path: string, { mode, uid, gid }: { mode: number; uid: number; gid: number }): void {
  chmodSync(path, mode & 0o777);
  // Without root, files can only belong to the user who runs the command, so the owner is already right.
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}

function misspelt(word: string): NodeError {
  const closest = closestName(word, ACTIONS);
  const hint = closest === undefined || closest === word ? "" : ` Did you mean "${closest}"?`;
  return refusal(`expected tonearm keys, or one of ${ACTIONS.slice(1).join(", ")} with a name.${hint}`);
}

function refusal(message: string): NodeError {
  return new NodeError("request-refused", message);
}
