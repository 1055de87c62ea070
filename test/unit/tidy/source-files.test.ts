import { expect, test } from "vitest";
import { projectFiles, typescriptFiles } from "../../support/project-files.ts";

/** `path:line` of every matching line. */
function linesWith(pattern: RegExp, files: readonly { readonly path: string; readonly text: string }[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

test("a skipped test has its reason on its line, and no test excludes the others", () => {
  expect(linesWith(/^(?!.*\/\/ .).*\b(?:test|it|describe)\.(?:only|skip|todo)\(/, typescriptFiles("test/"))).toEqual(
    [],
  );
});

test("nothing in the project names the machine it was written on", () => {
  const machine = /[/](?:work|root)[/]|localhost[:]4873|file:[/]{3}home/;
  expect(linesWith(machine, projectFiles(""))).toEqual([]);
});

test("processes are ended by their id, never by a name that other processes may have", () => {
  const scripts = projectFiles("").filter(({ path }) => !path.endsWith(".md"));
  expect(linesWith(/\b(?:p[k]ill|kill[a]ll)\b/, scripts)).toEqual([]);
});

test("abort signals are listened to through src/lib/on-abort.ts, which also knows of those that have aborted", () => {
  const listens = /addEventListener\("abort"/;
  expect(linesWith(listens, typescriptFiles("src/")).filter((line) => !line.startsWith("src/lib/on-abort.ts"))).toEqual(
    [],
  );
});
