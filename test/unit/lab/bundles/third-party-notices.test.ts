import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { thirdPartyNotices } from "../../../../lab/bundles/third-party-notices.ts";

let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tonearm-notices-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function install(path: string, manifest: object, files: Readonly<Record<string, string>> = {}): string {
  const folder = join(root, path);
  mkdirSync(join(folder, "lib"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return `${folder}/lib/a.js`;
}

test("third-party notices have name, version, licence and its text of each package, once", async () => {
  const one = install(
    "node_modules/@some/one",
    { name: "@some/one", version: "1.2.3", license: "MIT" },
    { LICENSE: "Do as you like." },
  );
  const inner = install(
    "node_modules/@some/one/node_modules/two",
    { name: "two", version: "2.0.0", license: "ISC" },
    { "license.md": "Likewise.", NOTICE: "By me." },
  );
  const notices = await thirdPartyNotices([`${root}/src/own.ts`, one, inner, one, "\0virtual"]);
  expect(
    notices
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("---"))
      .slice(1),
  ).toEqual(["@some/one 1.2.3 (MIT)", "Do as you like.", "two 2.0.0 (ISC)", "By me.", "Likewise."]);
});

test("a package without a licence is not distributed", async () => {
  const path = install("node_modules/odd", { name: "odd", version: "1.0.0" });
  await expect(thirdPartyNotices([path])).rejects.toThrow("odd names no licence");
});
