import { basename } from "node:path";
import { expect, test } from "vitest";
import { projectFiles, typescriptFiles } from "../../support/project-files.ts";

const SOURCES = typescriptFiles("src/", "lab/", "plugins/", "dashboard/");
const ALL_TYPESCRIPT = typescriptFiles("src/", "lab/", "plugins/", "dashboard/", "test/");
const LINES_MAX = 500;
const COLUMNS_MAX = 120;

test("every source file opens with a comment that says what it is for", () => {
  const bare = SOURCES.filter(({ text }) => !/^\/\/ \S/.test(text.replace(/^#!.*\n/, "")));
  expect(bare.map(({ path }) => path)).toEqual([]);
});

test("no file or folder has a name that says nothing", () => {
  const nameless = /(^|\/)(utils?|helpers?|common|misc|managers?|types)(\/|\.tsx?$|-|$)/;
  expect(ALL_TYPESCRIPT.map(({ path }) => path).filter((path) => nameless.test(path))).toEqual([]);
});

test("file names are kebab-case", () => {
  const isKebab = (path: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?$/.test(basename(path));
  expect(ALL_TYPESCRIPT.map(({ path }) => path).filter((path) => !isKebab(path))).toEqual([]);
});

test(`a file of more than ${LINES_MAX} lines says "Long because …"`, () => {
  const long = SOURCES.filter(({ text }) => text.split("\n").length > LINES_MAX && !text.includes("Long because"));
  expect(long.map(({ path, text }) => `${path}: ${text.split("\n").length} lines`)).toEqual([]);
});

test(`no line of a program is longer than ${COLUMNS_MAX} columns, but what cannot be broken`, () => {
  const programs = projectFiles("").filter(
    ({ path, text }) => /\.(tsx?|mjs|js|sh)$/.test(path) || text.startsWith("#!"),
  );
  const isWhole = (line: string): boolean => !line.trim().includes(" ") || /^\s*\/.+\/[a-z]*[;,)]*$/.test(line);
  const long = programs.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (line.length > COLUMNS_MAX && !isWhole(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(long).toEqual([]);
});

test("what is left to do names an issue, and nothing is left to mend", () => {
  const marker = new RegExp(`${"FIX"}${"ME"}|\\b${"TO"}${"DO"}\\b(?!\\(#\\d+\\))`);
  expect(ALL_TYPESCRIPT.filter(({ text }) => marker.test(text)).map(({ path }) => path)).toEqual([]);
});

test("no test is left out without a reason, and none keeps the others from running", () => {
  const skipped = /\b(?:test|it|describe)\.(only|skip|todo)\(/;
  const lines = typescriptFiles("test/").flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (skipped.test(line) && !/\/\/ .+/.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(lines).toEqual([]);
});

test("nothing of the machine it was written on stands in the project", () => {
  const machine = new RegExp(
    ["/work/", "/root/", "localhost:4873", "file:///home"].map((text) => text.replace("/", "[/]")).join("|"),
  );
  const traces = projectFiles("").flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (machine.test(line) && !isThisFile(path) ? [`${path}:${index + 1}`] : [])),
  );
  expect(traces).toEqual([]);
});

test("processes are ended by their id, never by a name that others may have too", () => {
  const byName = new RegExp(`\\b(?:p${"kill"}|kill${"all"})\\b`);
  const scripts = projectFiles("").filter(({ path }) => !path.endsWith(".md"));
  expect(scripts.filter(({ text }) => byName.test(text)).map(({ path }) => path)).toEqual([]);
});

function isThisFile(path: string): boolean {
  return path === "test/tidy/source-files.test.ts";
}
