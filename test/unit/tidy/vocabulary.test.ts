import { expect, test } from "vitest";
import { projectFiles } from "../../support/project-files.ts";

/** Words that were replaced by the terms of the field, with their replacements. Add only words that have no other use. */
const REPLACED: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\banew\b/i, "again"],
  [/\bwhoever\b/i, "callers that, any client that"],
  [/\bof (?:its|their) own\b(?! \w)/i, "own, separate, built-in"],
  [/\bmend(?:s|ed|ing)?\b/i, "fix, repair"],
  [/\bshut by default\b/i, "secure by default"],
  [/\bhasty\b/i, "rate limited"],
  [/\btenants?\b|PlayerTenant|WorkerTenant/i, "pooled player"],
  [/bulkhead/i, "error boundary"],
  [/\blook-ups?\b|LookupThread|LookupTurns/i, "probe, load, resolve"],
  [/ThreadTurns|WorkTurns/i, "time slicer"],
  [/GreedWatch|trackGreedy/i, "CPU quota watch"],
  [/takeBack|takenBack/, "revoke, rewind"],
  [/PlayerSurroundings/i, "player context"],
  [/naughty/i, "misbehaving"],
];

const FOLDERS = ["src/", "lab/", "plugins/", "dashboard/", "test/", "docs/", "opus-encoder/"];

/** Continues a phrase over a line break, also in a comment. */
function joined(text: string): string {
  return text.replaceAll(/\r?\n[ \t]*(?:(?:\/\/|\*|#|;;)[ \t])?[ \t]*/g, " ");
}

function replacedIn(text: string): string[] {
  const line = joined(text);
  return REPLACED.flatMap(([pattern, replacement]) => {
    const [found] = pattern.exec(line) ?? [];
    return found === undefined ? [] : [`"${found}" is now: ${replacement}`];
  });
}

test("replaced words are found in identifiers, comments and phrases over two lines", () => {
  const text = "// A thread of\n// its own.\nconst lookupThreads = startLookupThreads();\n/** Reads it\n * anew. */";
  expect(replacedIn(text).map((found) => found.split('"')[1])).toEqual(["anew", "of its own", "lookupThread"]);
  expect(replacedIn("An amended rule, a table lookup, the id of its own commit.")).toEqual([]);
});

test("no file and no file name uses a word that a term of the field has replaced", () => {
  const files = FOLDERS.flatMap(projectFiles).filter(({ path }) => !path.endsWith("tidy/vocabulary.test.ts"));
  expect(files.length).toBeGreaterThan(1000);
  const found = files.flatMap(({ path, text }) => replacedIn(`${path}\n${text}`).map((word) => `${path}: ${word}`));
  expect(found).toEqual([]);
});
