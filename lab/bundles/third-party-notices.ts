// The notices that the licences of packages require of distributors: name, version, licence and its text for each
// package bundled in the node's programs. Part of `npm run build`.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const HEAD =
  "The programs in this folder contain code of the packages below. Each is listed with its licence, as distributed with it.\n";
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(?:licen[sc]e|copying|notice)/i;

/** `modules` are paths with `/`. Throws for a package that names no licence. */
export async function thirdPartyNotices(modules: Iterable<string>): Promise<string> {
  const folders = new Set<string>();
  for (const path of modules) {
    const [folder] = PACKAGE_FOLDER.exec(path) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const parts = await Promise.all(Array.from(folders, noticeOf));
  return [HEAD, ...parts.toSorted()].join(`\n${"-".repeat(80)}\n\n`);
}

async function noticeOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Named;
  if (license === undefined) throw new Error(`${name} names no licence`);
  const files = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && LICENCE_FILE.test(entry.name))
    .map((entry) => entry.name);
  const texts = await Promise.all(files.toSorted().map((file) => readFile(join(folder, file), "utf8")));
  return [`${name} ${version} (${license})\n`, ...texts.map((text) => `${text.trim()}\n`)].join("\n");
}

/** The fields of a package.json that are used here. */
interface Named {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}
