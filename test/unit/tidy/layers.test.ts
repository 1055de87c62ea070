import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROJECT_ROOT, type ProjectFile, typescriptFiles } from "../../support/project-files.ts";
import { importsOf } from "./imports.ts";

const FILES = typescriptFiles("src/", "lab/", "plugins/", "dashboard/", "opus-encoder/");

/** The folders of ARCHITECTURE.md, top layer first; a folder ends with a slash. */
const FOLDERS: readonly string[] = Array.from(
  readFileSync(`${PROJECT_ROOT}ARCHITECTURE.md`, "utf8").matchAll(
    /^\| ((?:`(?:src|lab|plugins|dashboard|opus-encoder)\/[^|]*)) \|/gm,
  ),
  ([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, folder = ""]) => folder),
).flat();

/** The position of the innermost folder around a file; -1 for a file that no row contains. */
function layerOf(path: string): number {
  const around = FOLDERS.filter((folder) => folder === path || (folder.endsWith("/") && path.startsWith(folder)));
  return FOLDERS.indexOf(around.toSorted((a, b) => b.length - a.length)[0] ?? "");
}

function importsThat(isWrong: (from: string, to: string) => boolean, files: readonly ProjectFile[] = FILES): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((to) => isWrong(file.path, to))
      .map((to) => `${file.path} -> ${to}`),
  );
}

test("control and media never import each other", () => {
  const isAcross = (from: string, to: string): boolean =>
    (from.startsWith("src/control/") && to.startsWith("src/media/")) ||
    (from.startsWith("src/media/") && to.startsWith("src/control/"));
  expect(importsThat(isAcross)).toEqual([]);
  expect(importsThat((from, to) => from.startsWith("src/media/") && to.startsWith("src/bridge/"))).not.toEqual([]);
});

test("bridge and plugin-api import none of their users", () => {
  const below = /^src\/(?:bridge|config|filters|track|lib|log|plugin-api)\/|^src\/errors\.ts$/;
  expect(importsThat((from, to) => from.startsWith("src/bridge/") && !below.test(to))).toEqual([]);
  expect(importsThat((from, to) => from.startsWith("src/plugin-api/") && !to.startsWith("src/plugin-api/"))).toEqual(
    [],
  );
});

test("the Opus encoder imports nothing from outside of its package", () => {
  const isOwn = /^opus-encoder\/(?:src|assembly)\//;
  expect(importsThat((from, to) => isOwn.test(from) && !isOwn.test(to))).toEqual([]);
});

test("every import stays in its folder or is from a lower layer of ARCHITECTURE.md", () => {
  expect(FILES.filter(({ path }) => layerOf(path) < 0).map(({ path }) => path)).toEqual([]);
  expect(FOLDERS.filter((folder) => !FILES.some(({ path }) => FOLDERS[layerOf(path)] === folder))).toEqual([]);
  expect(importsThat((from, to) => layerOf(from) > layerOf(to))).toEqual([]);
  expect(importsThat((_from, to) => to.startsWith("test/"))).toEqual([]);
});

test("no file imports itself through other files", () => {
  const targets = new Map([...FILES, ...typescriptFiles("test/")].map((file) => [file.path, importsOf(file)]));
  const cycles: string[] = [];
  const isDone = new Map<string, boolean>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (isDone.get(path) === false) cycles.push([...trail.slice(trail.indexOf(path)), path].join(" > "));
    if (isDone.has(path)) return;
    isDone.set(path, false);
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    isDone.set(path, true);
  };
  for (const path of targets.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

test("importsOf finds static and dynamic imports, so that the rules above have an effect", () => {
  const text = 'import { a } from "./a.ts";\nimport type {\n  B,\n} from "../b.ts";\nconst c = await import("./c.ts");';
  expect(importsOf({ path: "src/x/y.ts", text })).toEqual(["src/x/a.ts", "src/b.ts", "src/x/c.ts"]);
  const byName = 'import { OpusEncoder } from "@tonearm/opus-encoder";\nimport { x } from "ws";';
  expect(importsOf({ path: "src/x/y.ts", text: byName })).toEqual(["opus-encoder/src/index.ts"]);
});
