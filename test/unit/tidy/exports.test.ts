import { expect, test } from "vitest";
import { type ProjectFile, typescriptFiles } from "../../support/project-files.ts";
import { type Export, exportsOf, membersOf, namesImportedBy } from "./exports.ts";
import { roomOf } from "./rooms.ts";

const FILES = typescriptFiles("src/");

/** Rooms whose exports are all documented, whoever imports them. */
const WHOLLY_DOCUMENTED = ["src/bridge/", "src/filters/", "src/lib/", "src/network/"];

/** Those of them whose members are as well; commands and events of the bridge are data, whose types say most. */
const DOCUMENTED_TO_THE_MEMBER = ["src/lib/", "src/network/"];

/**
 * Members that say all together with the docstring of their type: what is passed in, and what the language asks for.
 */
const SELF_EVIDENT = new Set(["clock", "guard", "family", "module", "toJSON"]);

/** By `path name`, what is imported from another room. */
const IMPORTED_ACROSS = new Set(
  FILES.flatMap((file) =>
    namesImportedBy(file)
      .filter(({ path }) => roomOf(path) !== roomOf(file.path))
      .map(({ path, name }) => `${path} ${name}`),
  ),
);

function undocumented(isMeant: (file: ProjectFile, declaration: Export) => boolean): string[] {
  return FILES.flatMap((file) =>
    exportsOf(file)
      .filter((declaration) => !declaration.isDocumented && isMeant(file, declaration))
      .map(({ name, line }) => `${file.path}:${line} ${name}`),
  );
}

test("exports, members and imported names are found (or the rules below would see nothing)", () => {
  const file = {
    path: "src/x/y.ts",
    text: [
      'import { type A, b as c } from "../../z.ts";',
      "/** Said. */",
      "export class Said {",
      "  readonly #hidden = 1;",
      "  constructor() {}",
      "  /** Said too. */",
      "  get width(): number {",
      "    return this.#hidden;",
      "  }",
      "  async open(): Promise<void> {}",
      "}",
      "",
      "export const UNSAID = 1;",
    ].join("\n"),
  };
  expect(namesImportedBy(file)).toEqual([
    { path: "src/z.ts", name: "A" },
    { path: "src/z.ts", name: "b" },
  ]);
  const [said, unsaid] = exportsOf(file);
  expect(said).toEqual({ name: "Said", kind: "class", line: 3, isDocumented: true });
  expect(unsaid).toEqual({ name: "UNSAID", kind: "const", line: 13, isDocumented: false });
  expect(said === undefined ? [] : membersOf(file, said)).toEqual([
    { name: "width", kind: "member", line: 7, isDocumented: true },
    { name: "open", kind: "member", line: 10, isDocumented: false },
  ]);
  expect(IMPORTED_ACROSS.size).toBeGreaterThan(200);
});

test("every export of the rooms that all others stand on has a docstring", () => {
  expect(undocumented(({ path }) => WHOLLY_DOCUMENTED.some((room) => path.startsWith(room)))).toEqual([]);
});

test("so has every member of what leaves export, but for those whose name says all", () => {
  const files = FILES.filter(({ path }) => DOCUMENTED_TO_THE_MEMBER.some((room) => path.startsWith(room)));
  const bare = files.flatMap((file) =>
    exportsOf(file).flatMap((owner) =>
      membersOf(file, owner)
        .filter(({ name, isDocumented }) => !isDocumented && !SELF_EVIDENT.has(name))
        .map(({ name, line }) => `${file.path}:${line} ${owner.name}.${name}`),
    ),
  );
  expect(bare).toEqual([]);
});

test("what one room imports from another has a docstring", () => {
  expect(undocumented(({ path }, { name }) => IMPORTED_ACROSS.has(`${path} ${name}`))).toEqual([]);
});

test.each(["src/", "lab/"])("no word is exported twice in %s: neither for two things, nor twice for one", (folder) => {
  const places = new Map<string, string[]>();
  // The interface of plugins is for those who do not see the rest: its words are the field's.
  const files = typescriptFiles(folder).filter(({ path }) => path !== "src/plugin-api/plugin.ts");
  for (const file of files) {
    // In one file, a type and what makes a value of it may go by one name: `trackInfo` the schema, `TrackInfo` its
    // type.
    const words = new Set(exportsOf(file).map(({ name }) => name.toLowerCase()));
    for (const word of words) places.set(word, [...(places.get(word) ?? []), file.path]);
  }
  const twice = [...places].filter(([, paths]) => paths.length > 1);
  expect(twice).toEqual([]);
});
