import { existsSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT, type ProjectFile, projectFiles } from "../../support/project-files.ts";

const FILES = projectFiles("").filter(({ path }) => /\.(tsx?|wat|md)$/.test(path));
const NAMES = new Set(FILES.map(({ path }) => posix.basename(path)));

/**
 * Where a path may begin that is not written out: in comments `media/scheduler/tick-loop.ts`, in a module `scheduler/tick-loop.ts`; and at its
 * top folder, which may be a package.
 */
const STARTS = ["", "src/", "src/media/", "src/control/", "lab/", "test/", "test/unit/", "docs/", "docs/decisions/"];

/** The protocol specifications that comments cite beside RFCs; they are not part of the project. */
const SPECIFICATIONS = ["protocol-v4.md", "discord-voice.md"];

/** Recorded answers of the real node, by the files they are about. */
const RECORDING = /^load(?:range|-http|-local)-/;

/** A path below one of our folders, or the name of a file that people write. */
const NAMED = /(?<![\w./…*-])(?:(?:src|lab|test|docs)\/[\w/.-]*\w|(?:[\w.-]+\/)*\w[\w.-]*\.(?:ts|wat|md))(?![\w*/…-])/g;

/** A folder in back quotes, perhaps by its last names: `demux/`. */
const NAMED_FOLDER = /`((?:[\w-]+\/)+)`/g;

/** Comments of a source file, all of a document but its code blocks and addresses. */
function wordsOf({ path, text }: ProjectFile): string {
  const words = path.endsWith(".md")
    ? text.replaceAll(/^```[\s\S]*?^```/gm, "")
    : [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^|\s)(?:\/\/|;;).*$/gm)].join("\n");
  return words.replaceAll(/https?:\/\/\S+|\bdist\/\S+/g, "");
}

function exists(name: string, from: string): boolean {
  if (!name.includes("/")) return NAMES.has(name);
  const [topFolder = ""] = from.split("/");
  return [...STARTS, `${posix.dirname(from)}/`, `${topFolder}/`].some((start) =>
    existsSync(PROJECT_ROOT + posix.join(start, name)),
  );
}

function namedIn(file: ProjectFile): string[] {
  const words = wordsOf(file);
  const folders = Array.from(words.matchAll(NAMED_FOLDER), ([, name = ""]) => name);
  return [...Array.from(words.matchAll(NAMED), ([name]) => name), ...folders];
}

test("paths and names of files are found in documents and comments, so that the rules below have an effect", () => {
  const text =
    "// See src/a/b, tick/c.ts and d.ts; not https://x.org/e.ts, nor `…-routes.ts`; `h/`.\nconst f = 'g.ts';";
  expect(namedIn({ path: "src/x.ts", text })).toEqual(["src/a/b", "tick/c.ts", "d.ts", "h/"]);
  expect(exists("tidy/named-files.test.ts", "src/x.ts")).toBe(true);
  expect(exists("tidy/unnamed-files.test.ts", "src/x.ts")).toBe(false);
});

test("every file that a document or a comment names exists", () => {
  const gone = FILES.flatMap((file) =>
    namedIn(file)
      .filter((name) => !exists(name, file.path) && !SPECIFICATIONS.includes(name) && !RECORDING.test(name))
      .map((name) => `${file.path}: ${name}`),
  );
  expect(gone).toEqual([]);
});

/** Words of others, in the documents that say how the code works and why. */
const FOREIGN = new Set(["CustomSource", "DiscardPadding", "DynamicUser", "LimitNICE"]);

/** `AudioPlayer`, `WorkerPool#relieve`, `transcoder.skipTo`: a word of code with a capital inside. */
const WORD_OF_CODE = /`((?:[A-Za-z_]\w*[.#])*[A-Za-z_]\w*)(?:\(\))?`/g;

test("every identifier that the documents about the code name exists", () => {
  const code = new Set(
    FILES.filter(({ path }) => /\.tsx?$/.test(path)).flatMap(({ text }) => text.match(/\w+/g) ?? []),
  );
  const documents = FILES.filter(({ path }) => /^(docs\/(internals|decisions)\/.*|[A-Z]+)\.md$/.test(path));
  const named = documents.flatMap(({ path, text }) =>
    Array.from(text.matchAll(WORD_OF_CODE), ([, name = ""]) => ({ path, name })).filter(({ name }) =>
      /[a-z][A-Z]/.test(name),
    ),
  );
  const gone = named.filter(({ name }) => !FOREIGN.has(name) && name.split(/[.#]/).some((word) => !code.has(word)));
  expect(gone).toEqual([]);
  expect(named.length).toBeGreaterThan(50);
});
