import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROJECT_ROOT, projectFiles, typescriptFiles } from "../../support/project-files.ts";
import { exportsOf } from "./exports.ts";

const GLOSSARY = readFileSync(`${PROJECT_ROOT}docs/reference/glossary.md`, "utf8");

/** Of every row: the words it explains, and its last column. */
const ROWS = Array.from(
  GLOSSARY.matchAll(/^\| (?!Word |---)(.+?) \| .+ \| (.+) \|$/gm),
  ([, words = "", code = ""]) => ({
    words: words.split(", "),
    code,
  }),
);

test("the glossary explains every word once", () => {
  const words = ROWS.flatMap((row) => row.words);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  expect(words.length).toBeGreaterThan(50);
});

test("what a word is in the code is exported from the file that is named with it", () => {
  const exported = new Map(
    typescriptFiles("src/").map((file) => [file.path, new Set(exportsOf(file).map(({ name }) => name))]),
  );
  const wrong = ROWS.flatMap(({ words, code }) =>
    code.split("; ").flatMap((part) => {
      const names = Array.from(part.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
      const path = `src/${names.pop() ?? ""}`;
      if (path.endsWith("/")) return names.length === 0 ? [] : [`${words[0]}: ${part}`];
      const missing = names.filter((name) => exported.get(path)?.has(name) !== true);
      return names.length === 0 || missing.length > 0 ? [`${words[0]}: ${part}`] : [];
    }),
  );
  expect(wrong).toEqual([]);
});

test("a song is what a test makes: src and docs speak of tracks", () => {
  const texts = [...projectFiles("src/"), ...projectFiles("docs/")];
  const spoken = texts.flatMap(({ path, text }) =>
    text
      .replaceAll(/song\.(mp3|webm)\b|fretsonfire-songs-|"Song" is no word/g, "")
      .split("\n")
      .flatMap((line, index) => (/song/i.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(spoken).toEqual([]);
});
