import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type BundleFile, bundle, ENTRIES, inAscii } from "../../../../lab/bundles/build-bundles.ts";

/** The name of the checkout's own folder is irrelevant. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url)).replaceAll("\\", "/");

/** Names of the packages, and paths in the project, of all that the first file loads at once. */
function loadedAtOnce(files: readonly BundleFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<BundleFile>();
  const visit = (file: BundleFile | undefined): void => {
    if (file === undefined || seen.has(file)) return;
    seen.add(file);
    for (const path of file.imports) visit(byPath.get(path));
  };
  visit(files[0]);
  return [...seen].flatMap(({ modules }) => modules);
}

function has(modules: readonly string[], part: string): boolean {
  return modules.some((path) => path.replace(ROOT, "").includes(part));
}

describe("an audio worker's program", async () => {
  const files = await bundle("src/media/main");

  test("an audio worker's program loads next to nothing at its start, the rest on demand", () => {
    const atOnce = loadedAtOnce(files);
    const all = files.flatMap(({ modules }) => modules);
    expect(files[0]?.path).toBe("src/media/main.js");
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
    expect(files.length).toBeLessThan(40);
  });

  test("an audio worker's program takes a byte a character in memory: its files are ASCII", () => {
    expect(files.filter(({ text }) => /[^\0-\x7f]/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test("an audio worker's program finds the audio loops where they are built, outside of it", () => {
    const [file] = files.filter(({ modules }) => has(modules, "kernels/wasm-loop.ts"));
    const [location] = /new URL\("[^"]*wasm-loop\.js", import\.meta\.url\)/.exec(file?.text ?? "") ?? [];
    expect(location).toBe('new URL("../../../src/media/kernels/wasm-loop.js", import.meta.url)');
  });
});

test("the main thread's program has demo and doctor in files that are loaded on demand", async () => {
  const files = await bundle("src/main");
  const start = files.find(({ modules }) => has(modules, "src/cli/start.ts"));
  expect(start).toBeDefined();
  expect(has(loadedAtOnce(files), "fastify")).toBe(false);
  const serving = loadedAtOnce([start, ...files].filter((file) => file !== undefined));
  expect(has(serving, "src/node.ts")).toBe(true);
  expect(has(serving, "lab/")).toBe(false);
  expect(has(serving, "src/cli/doctor/")).toBe(false);
});

test("a plugin's thread and its plugin share the interface's classes, as an operator's plugin does", async () => {
  const locations = await Promise.all(
    ["src/plugin-host/runtime/main", "plugins/radio/plugin"].map(async (entry) => {
      const [file] = await bundle(entry);
      const [, path = ""] = /from "([^"]*plugin-api\/plugin\.js)"/.exec(file?.text ?? "") ?? [];
      return new URL(path, `file:///dist/node/${entry}.js`).pathname;
    }),
  );
  expect(locations).toEqual(["/dist/src/plugin-api/plugin.js", "/dist/src/plugin-api/plugin.js"]);
});

test("every built-in plugin is built as a program", () => {
  expect(ENTRIES.filter((entry) => /^plugins\/[^/]+\/plugin$/.test(entry)).length).toBeGreaterThan(9);
});

test("a non-ASCII character is written as an escape, except where that would change the text", () => {
  expect(inAscii('const a = "…", b = /[é-🎵]/u; // µ')).toBe(
    'const a = "\\u2026", b = /[\\u00e9-\\ud83c\\udfb5]/u; // \\u00b5',
  );
  expect(() => inAscii('const a = "\\…";')).toThrow("cannot be written in ASCII");
  expect(() => inAscii("const a = String.raw`x…`;")).toThrow("cannot be written in ASCII");
});
