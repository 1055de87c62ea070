import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describePlugin, findModule } from "../../../../src/plugin-host/manage/find-module.ts";

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tonearm-find-module-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, content: string | object): string {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, typeof content === "string" ? content : JSON.stringify(content));
  return whole;
}

function url(path: string): string {
  return pathToFileURL(join(folder, path)).href;
}

describe("a plugin located by path", () => {
  test("a file is the module, also behind a symbolic link", () => {
    const path = write("a b/song#1.mjs", "");
    expect(findModule({ path }, folder)).toBe(url("a b/song#1.mjs"));
    symlinkSync(path, join(folder, "link.mjs"));
    expect(findModule({ path: join(folder, "link.mjs") }, folder)).toBe(url("a b/song#1.mjs"));
  });

  test.each<[string, object, string]>([
    ["exports", { exports: "./a.js", main: "./b.js" }, "a.js"],
    ["exports of the root", { exports: { ".": "./a.js", "./more": "./b.js" } }, "a.js"],
    ["its default", { exports: { default: "./a.js" } }, "a.js"],
    [
      "its import, as that is first",
      { exports: { types: "./a.d.ts", require: "./a.cjs", import: "./a.js", default: "./b.js" } },
      "a.js",
    ],
    [
      "conditions within conditions",
      { exports: { ".": { import: { types: "./a.d.ts", default: "./a.js" } } } },
      "a.js",
    ],
    ["the first that holds of a list", { exports: [{ browser: "./b.js" }, "./a.js"] }, "a.js"],
    ["main where exports has nothing for us", { exports: { require: "./b.js" }, main: "./a.js" }, "a.js"],
    ["main", { main: "a.js" }, "a.js"],
    ["index.js", {}, "index.js"],
    ["index.js where the others are of no form", { exports: 7, main: [] }, "index.js"],
  ])("a folder's module is found by %s", (_what, json, entry) => {
    write("plugin/package.json", json);
    expect(findModule({ path: join(folder, "plugin") }, folder)).toBe(url(`plugin/${entry}`));
  });

  test.each(["missing", "missing/plugin.mjs"])("a path without a module is reported: %s", (path) => {
    const whole = join(folder, path);
    const message = `the plugin at ${whole}: the file does not exist or cannot be read`;
    expect(() => findModule({ path: whole }, folder)).toThrow(expect.objectContaining({ code: "plugin-off", message }));
  });

  test.each(["{oops", "null", undefined])("a folder whose package.json is %s is reported", (content) => {
    mkdirSync(join(folder, "plugin"));
    if (content !== undefined) write("plugin/package.json", content);
    expect(() => findModule({ path: join(folder, "plugin") }, folder)).toThrow(
      "the file does not exist or cannot be read",
    );
  });
});

describe("a plugin located by package", () => {
  test("a package is found where npm installs it: beside the configuration, or above", () => {
    write("node_modules/@someone/songs/package.json", { exports: "./dist/plugin.js" });
    const expected = url("node_modules/@someone/songs/dist/plugin.js");
    expect(findModule({ package: "@someone/songs" }, folder)).toBe(expected);
    expect(findModule({ package: "@someone/songs" }, join(folder, "deeper/still"))).toBe(expected);
  });

  test("a package that is not installed is reported, with the fix", () => {
    const message = "the package songs is not installed; run npm install songs beside application.yml";
    const asked = () => findModule({ package: "songs" }, folder);
    expect(asked).toThrow(expect.objectContaining({ code: "plugin-off", message }));
  });
});

test("an entry is named as in the configuration", () => {
  expect(describePlugin({ package: "songs" })).toBe("the plugin of the package songs");
  expect(describePlugin({ path: "/a/b.mjs" })).toBe("the plugin at /a/b.mjs");
});
