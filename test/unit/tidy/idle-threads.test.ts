import { expect, test } from "vitest";
import { projectFiles } from "../../support/project-files.ts";

/** The modules that a thread's entry loads at once, by static imports of values. */
function loadedBy(entry: string): Map<string, string> {
  const texts = new Map(projectFiles("src/").map(({ path, text }) => [path, text]));
  const packages = new Map<string, string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, name = ""] of (texts.get(path) ?? "").matchAll(/^import (?!type )(?:[^;"]* from )?"([^"]+)"/gm)) {
      if (name.startsWith(".")) visit(new URL(name, `file:///${path}`).pathname.slice(1));
      else if (!packages.has(name)) packages.set(name, path);
    }
  };
  visit(entry);
  return packages;
}

test("an audio thread that plays nothing has not loaded the HTTP client: it takes some 7 MB of each", () => {
  const packages = loadedBy("src/media/main.ts");
  expect(packages.get("undici")).toBeUndefined();
  expect(packages.size).toBeGreaterThan(1);
});

test("the main thread loads neither the HTTP client nor what plugins work with", () => {
  const packages = loadedBy("src/main.ts");
  for (const name of ["undici", "sax", "meriyah", "quickjs-emscripten-core"]) {
    expect([name, packages.get(name)]).toEqual([name, undefined]);
  }
});
