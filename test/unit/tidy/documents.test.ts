import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { headingsOf, linksOf } from "../../../docs/site/markdown.mjs";
import { isElsewhere } from "../../../docs/site/pages.mjs";
import { ERROR_FAULTS } from "../../../src/errors.ts";
import { VERSION } from "../../../src/version.ts";
import { PROJECT_ROOT, projectFiles } from "../../support/project-files.ts";
import {
  DIFFERENCES,
  HANDSHAKE_DIFFERENCES,
  LOADED_DIFFERENCES,
  PLANNER_DIFFERENCES,
  SEQUENCE_DIFFERENCES,
} from "../control/api/golden-differences.ts";

interface PackageJson {
  readonly version: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

// Our own file, and a test that fails loudly when it has another shape.
const PACKAGE = JSON.parse(read("package.json")) as PackageJson;
const DOCUMENTS = projectFiles("").filter(({ path }) => path.endsWith(".md"));

function read(path: string): string {
  return readFileSync(PROJECT_ROOT + path, "utf8");
}

test("docs/reference/errors.md has a section for every code, in order, and no others", () => {
  const headings = [...read("docs/reference/errors.md").matchAll(/^## (.+)$/gm)].map((match) => match[1]);
  expect(headings).toEqual(Object.keys(ERROR_FAULTS).toSorted());
});

test("every section of docs/reference/errors.md has text", () => {
  const sections = read("docs/reference/errors.md").split(/^## /m).slice(1);
  const empty = sections.filter((section) => section.split("\n").slice(1).join("").trim().length < 40);
  expect(empty.map((section) => section.split("\n")[0])).toEqual([]);
});

test("docs/reference/compatibility.md names every recording with a different answer, and no others", () => {
  const rows = [...read("docs/reference/compatibility.md").matchAll(/^\| (.+) \|$/gm)].map(([, row = ""]) =>
    row.split(" | "),
  );
  const named = rows.flatMap(([, , , , names = ""]) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const all = [DIFFERENCES, LOADED_DIFFERENCES, PLANNER_DIFFERENCES, SEQUENCE_DIFFERENCES];
  const walked = all.flatMap((differences) => differences.flatMap(({ names }) => names));
  expect(named.toSorted()).toEqual([...walked, ...Object.keys(HANDSHAKE_DIFFERENCES)].toSorted());
  expect(named.length).toBeGreaterThan(30);
});

test("VERSION is that of package.json, and CHANGELOG.md begins with the next version", () => {
  expect(VERSION).toBe(PACKAGE.version);
  expect(read("CHANGELOG.md")).toMatch(/^# Changelog\n[\s\S]*?\n## Next\n/);
});

test("the lab's package has the version of the root, and all that the node needs at run time", () => {
  // Our own file; it contains the node's modules.
  const { name, version, license, engines, dependencies, optionalDependencies } = JSON.parse(read("lab/package.json"));
  const ours = { version: PACKAGE.version, license: PACKAGE.license, engines: PACKAGE.engines };
  expect({ name, version, license, engines }).toEqual({ name: "@tonearm/lab", ...ours });
  // The node's programs contain the encoder.
  const encoder = { "@tonearm/opus-encoder": PACKAGE.version };
  expect(dependencies).toEqual({ ...encoder, ...PACKAGE.dependencies });
  expect(optionalDependencies).toEqual(PACKAGE.optionalDependencies);
});

test("the encoder's package has the version of the root, and of the libopus that the root uses", () => {
  const { version, license, engines, dependencies, devDependencies } = PACKAGE;
  const expected = { name: "@tonearm/opus-encoder", version, license, engines };
  const peerDependencies = { "libopus-wasm": dependencies["libopus-wasm"] };
  expect(JSON.parse(read("opus-encoder/package.json"))).toMatchObject({ ...expected, peerDependencies });
  expect(devDependencies["@tonearm/opus-encoder"]).toBe(version);
});

test("every dependency is pinned and has its reason in docs/decisions/dependencies.md", () => {
  const { dependencies, devDependencies, optionalDependencies } = PACKAGE;
  // Our own file, too.
  const site = JSON.parse(read("docs/site/package.json")) as Pick<PackageJson, "dependencies">;
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies, ...site.dependencies };
  const reasons = read("docs/decisions/dependencies.md");
  for (const [name, range] of Object.entries(all)) {
    expect(versionOf(range), name).toMatch(/^\d+\.\d+\.\d+$/);
    expect(reasons.includes(`\`${name}\``), `${name} is named in dependencies.md`).toBe(true);
  }
});

/** Without the package of an alias. */
function versionOf(range: string): string {
  return range.replace(/^npm:[\w.-]+@/, "");
}

test("README.md names the clients in the versions they are tested in", () => {
  const rows = read("README.md").matchAll(/^\| `([\w.:-]+)`[^|]*\| (?:JavaScript|Python|Rust|Java) \| ([\d.]+) \|/gm);
  const named = Array.from(rows, ([, name = "", version = ""]) => ({ name, version }));
  const python = read("test/slow/clients/python/requirements.txt").matchAll(/^([\w.-]+)==([\d.]+)$/gm);
  const rust = read("test/slow/clients/rust/Cargo.toml").matchAll(/^([\w-]+) = \{ version = "=([\d.]+)"/gm);
  const elsewhere = [...python, ...rust].map(([, name = "", version = ""]) => [name, version] as const);
  const java = read("test/slow/clients/java/pom.xml").matchAll(
    /<groupId>([\w.]+)<\/groupId>\s*<artifactId>([\w.-]+)<\/artifactId>\s*<version>([\d.]+)<\/version>/g,
  );
  const artifacts = Array.from(java, ([, group, name, version = ""]) => [`${group}:${name}`, version] as const);
  const npm = Object.entries(PACKAGE.devDependencies).map(([name, range]) => [name, versionOf(range)] as const);
  const tested = new Map([...npm, ...elsewhere, ...artifacts]);
  expect(named).toEqual(named.map(({ name }) => ({ name, version: tested.get(name) })));
  expect(named.length).toBeGreaterThan(11);
});

test("every npm script that a document names exists", () => {
  const named = DOCUMENTS.flatMap(({ path, text }) =>
    [...text.matchAll(/npm run ([\w:-]*\w)/g)].map((match) => ({ path, script: match[1] ?? "" })),
  );
  expect(named.filter(({ script }) => !(script in PACKAGE.scripts))).toEqual([]);
  expect(named.length).toBeGreaterThan(3);
});

test("CONTRIBUTING.md has a row for every suite", () => {
  const suites = [...read("vitest.config.ts").matchAll(/^ +name: "(\w+)",$/gm)].map(([, name]) => name);
  const rows = [...read("CONTRIBUTING.md").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(suites);
  expect(suites).toHaveLength(5);
});

test("every link has an existing file, and an existing heading in it, as its target", () => {
  const anchors = new Map(DOCUMENTS.map(({ path, text }) => [path, headingsOf(text).map(({ anchor }) => anchor)]));
  const links = DOCUMENTS.flatMap(({ path, text }) => linksOf(text).map(({ target }) => ({ path, target })));
  const broken = links.filter(({ path, target }) => {
    if (isElsewhere(target)) return false;
    const [file = "", anchor] = target.split("#", 2);
    const targetPath = file === "" ? path : posix.join(posix.dirname(path), file);
    const isThere = existsSync(PROJECT_ROOT + targetPath);
    return !isThere || (anchor !== undefined && anchors.get(targetPath)?.includes(anchor) !== true);
  });
  expect(broken).toEqual([]);
  expect(links.length).toBeGreaterThan(200);
});

test.each(["", "docs/site/"])(
  "%spackage-lock.json knows the parts of every platform, or npm ci would refuse it",
  (folder) => {
    type LockedPackage = { readonly optionalDependencies?: Readonly<Record<string, string>> };
    const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as {
      packages: Readonly<Record<string, LockedPackage>>;
    };
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  },
);
