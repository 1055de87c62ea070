import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type BundleFile, bundle, inAscii, PROGRAMS } from "../../../../lab/bundles/build-bundles.ts";

/** The name of the checkout's own folder is irrelevant. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url)).replaceAll("\\", "/");

/** The programs that are built together; a second's work. */
const TOGETHER = await bundle(PROGRAMS[0] ?? []);

/** Names of the packages, and paths in the project, of all that a file loads at once. */
function loadedAtOnce(files: readonly BundleFile[], start: BundleFile | undefined): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<BundleFile>();
  const visit = (file: BundleFile | undefined): void => {
    if (file === undefined || seen.has(file)) return;
    seen.add(file);
    for (const path of file.imports) visit(byPath.get(path));
  };
  visit(start);
  return [...seen].flatMap(({ modules }) => modules);
}

function has(modules: readonly string[], part: string): boolean {
  return modules.some((path) => path.replace(ROOT, "").includes(part));
}

function fileOf(path: string): BundleFile | undefined {
  return TOGETHER.find((file) => file.path === path);
}

describe("an audio worker's program", () => {
  test("begins with next to nothing, as a worker that nobody has used; the rest is loaded when it is needed", () => {
    const atOnce = loadedAtOnce(TOGETHER, fileOf("src/media/main.js"));
    const all = TOGETHER.flatMap(({ modules }) => modules);
    expect(has(atOnce, "src/bridge/thread-start.ts")).toBe(true);
    const later = [
      "src/media/audio-worker.ts",
      "src/media/voice/connection/voice-connection.ts",
      "src/media/demux/hls/",
    ];
    for (const part of [...later, "node_modules/undici/"]) {
      expect([part, has(atOnce, part), has(all, part)]).toEqual([part, false, true]);
    }
    expect(atOnce.length).toBeLessThan(20);
    expect(all.length).toBeGreaterThan(300);
    expect(TOGETHER.length).toBeLessThan(80);
  });

  test("takes a byte a character in memory: no file has any beyond ASCII", () => {
    expect(TOGETHER.filter(({ text }) => /[^\0-\x7f]/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test("finds the sound loops where they are built: they are no part of it", () => {
    const [file] = TOGETHER.filter(({ modules }) => has(modules, "kernels/wasm-loop.ts"));
    const [location] = /new URL\("[^"]*wasm-loop\.js", import\.meta\.url\)/.exec(file?.text ?? "") ?? [];
    expect(location).toBe('new URL("../../src/media/kernels/wasm-loop.js", import.meta.url)');
  });
});

test("the main thread's program holds the demo and the doctor apart from what serves", async () => {
  const files = await bundle(["src/main"]);
  const start = files.find(({ modules }) => has(modules, "src/cli/start.ts"));
  expect(start).toBeDefined();
  expect(has(loadedAtOnce(files, files[0]), "fastify")).toBe(false);
  const serving = loadedAtOnce(files, start);
  expect(has(serving, "src/node.ts")).toBe(true);
  for (const part of ["lab/", "src/cli/doctor/", "node_modules/undici/"]) {
    expect([part, has(serving, part)]).toEqual([part, false]);
  }
  expect(start?.imports.length).toBeLessThan(20);
  const [, path = ""] =
    /new URL\("\.\/media\/pacer-main\.js", new URL\("([^"]+)", import\.meta\.url\)/.exec(
      files.map(({ text }) => text).join("\n"),
    ) ?? [];
  expect(path).toBe("./main.js");
});

test("the main thread's program finds the bundled plugins, which the package ships", async () => {
  const files = await bundle(["src/main"]);
  const found = files.flatMap((file) =>
    Array.from(
      file.text.matchAll(/new URL\("\.\.\/plugins\/", new URL\("([^"]+)", import\.meta\.url\)\.href\)/g),
      ([, location = ""]) => new URL("../plugins/", new URL(location, `file:///dist/node/${file.path}`)).pathname,
    ),
  );
  expect(found).toEqual(["/dist/node/plugins/"]);
});

test("what several threads load is built once: no module is in two files of the programs", () => {
  const modules = TOGETHER.flatMap((file) => file.modules);
  expect(modules.filter((module, index) => modules.indexOf(module) !== index)).toEqual([]);
});

test("a thread's file loads few others at once: each costs memory by being one", () => {
  const filesOf = (path: string): number => {
    const seen = new Set<string>();
    const visit = (name: string): void => {
      const file = fileOf(name);
      if (file === undefined || seen.has(name)) return;
      seen.add(name);
      file.imports.forEach(visit);
    };
    visit(path);
    return seen.size;
  };
  const counts = (PROGRAMS[0] ?? []).map((entry) => [entry, filesOf(`${entry}.js`)] as const);
  expect(counts.filter(([, count]) => count < 1 || count > 12)).toEqual([]);
});

test.each([["src/media/codec-main"], ["src/media/pacer-main"], ["plugins/radio/plugin"]])(
  "%s is one file by itself",
  async (entry) => {
    expect(PROGRAMS).toContainEqual([entry]);
    expect((await bundle([entry])).map(({ path }) => path)).toEqual([`${entry}.js`]);
  },
);

test.each([[PROGRAMS[0] ?? []], [["src/main"]], [["src/media/codec-main"]]])(
  "%j finds the Opus encoder where the package ships it",
  async (entries) => {
    const files = entries === PROGRAMS[0] ? TOGETHER : await bundle(entries);
    const [file] = files.filter(({ modules }) => has(modules, "opus-encoder/src/kernel.ts"));
    const [, location = ""] = /new URL\("([^"]*opus-encoder\.js)", import\.meta\.url\)/.exec(file?.text ?? "") ?? [];
    const found = new URL("./opus-encoder.wasm", new URL(location, `file:///dist/node/${file?.path}`)).pathname;
    expect(found).toBe("/dist/node/opus-encoder/opus-encoder.wasm");
  },
);

test("a plugin's thread and its plugin share the interface's classes, as an operator's plugin does", async () => {
  const [radio] = await bundle(["plugins/radio/plugin"]);
  const locations = [...TOGETHER, radio].flatMap((file) =>
    Array.from(
      file?.text.matchAll(/from "([^"]*plugin-api\/plugin\.js)"/g) ?? [],
      ([, path = ""]) => new URL(path, `file:///dist/node/${file?.path}`).pathname,
    ),
  );
  expect(locations.length).toBeGreaterThan(1);
  expect(new Set(locations)).toEqual(new Set(["/dist/src/plugin-api/plugin.js"]));
});

test("every plugin that comes with the node is a program", () => {
  expect(PROGRAMS.flat().filter((entry) => /^plugins\/[^/]+\/plugin$/.test(entry)).length).toBeGreaterThan(9);
});

test("a non-ASCII character is written as an escape, except where that would change the text", () => {
  expect(inAscii('const a = "…", b = /[é-🎵]/u; // µ')).toBe(
    'const a = "\\u2026", b = /[\\u00e9-\\ud83c\\udfb5]/u; // \\u00b5',
  );
  expect(() => inAscii('const a = "\\…";')).toThrow("cannot be written in ASCII");
  expect(() => inAscii("const a = String.raw`x…`;")).toThrow("cannot be written in ASCII");
});
