import { chmodSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keysCommand } from "../../../src/cli/keys-command.ts";
import { hashOf, readKeyFile } from "../../../src/control/access/client-key.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-keys-"));
  path = join(folder, "keys.yml");
});

afterEach(() => rmSync(folder, { recursive: true }));

function run(...args: string[]): string {
  let output = "";
  const write = (text: string) => {
    output += text;
  };
  expect(keysCommand([...args, "--tonearm.keys.file=keys.yml"], { cwd: folder, write })).toBe(0);
  return output;
}

/** The key that an output shows. */
function shownIn(output: string): string {
  return /is {2}(tonearm_\S+)/.exec(output)?.[1] ?? "";
}

function hashes(name: string): readonly string[] | undefined {
  return readKeyFile(readFileSync(path, "utf8"), "keys.yml").find((key) => key.name === name)?.hashes;
}

describe("tonearm keys", () => {
  test("adds a key, shows it once and keeps its hash", () => {
    const key = shownIn(run("add", "music-bot"));
    expect(hashes("music-bot")).toEqual([hashOf(key)]);
    expect(readFileSync(path, "utf8")).not.toContain(key);
    expect(run()).toBe("music-bot  client\n");
    expect(run("list")).not.toContain(key);
  });

  test("tonearm keys replaces a key by adding a second one first", () => {
    const first = hashOf(shownIn(run("add", "bot")));
    const second = hashOf(shownIn(run("rotate", "bot")));
    expect(hashes("bot")).toEqual([first, second]);
    expect(run("list")).toContain("`tonearm keys retire bot`");
    run("retire", "bot");
    expect(hashes("bot")).toEqual([second]);
    run("retire", "bot");
    expect(hashes("bot")).toEqual([second]);
  });

  test("tonearm keys removes a key, and the last one", () => {
    run("add", "a");
    run("add", "b");
    run("remove", "a");
    expect(run()).toBe("b  client\n");
    run("remove", "b");
    expect(run()).toContain("no keys yet");
    run("add", "c");
    expect(run()).toBe("c  client\n");
  });

  test("keeps what an operator has written, and the file's rights", () => {
    const hash = hashOf("123");
    writeFileSync(path, `# ours\n123:\n  hashes: ${hash} # the first\n  players: 007 # few\n  sources: [http, "x"]\n`);
    chmodSync(path, 0o640);
    run("add", "bot");
    run("rotate", "123");
    const text = readFileSync(path, "utf8");
    for (const retained of ["# ours\n", "players: 007 # few\n", '  sources: [ http, "x" ]\n'])
      expect(text).toContain(retained);
    expect(hashes("123")?.[0]).toBe(hash);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  test("retires all but the newest of hashes in one text, too", () => {
    writeFileSync(path, `bot:\n  hashes: ${hashOf("one")}, ${hashOf("two")}\n`);
    run("retire", "bot");
    expect(hashes("bot")).toEqual([hashOf("two")]);
  });

  test.each([
    ["with a dot", (a: string, b: string) => `bot.hashes: [${a}, ${b}]\n`],
    ["by a merge", (a: string, b: string) => `<<: { bot: { hashes: [${a}, ${b}] } }\n`],
    ["in several documents", (a: string, b: string) => `bot:\n  role: viewer\n---\nbot:\n  hashes: [${a}, ${b}]\n`],
  ])("does not report a key as removed that is still valid, written %s", (_, write) => {
    writeFileSync(path, write(hashOf("one"), hashOf("two")));
    const before = readFileSync(path, "utf8");
    for (const action of ["retire", "remove"]) {
      try {
        run(action, "bot");
      } catch (error) {
        expect(String(error)).toContain("edit its hashes in the file by hand");
        expect(readFileSync(path, "utf8")).toBe(before);
        continue;
      }
      expect(hashes("bot")?.length ?? 0).toBe(action === "retire" ? 1 : 0);
      writeFileSync(path, before);
    }
  });

  test("tonearm keys changes the target of a symbolic link, and keeps the link", () => {
    const real = join(folder, "real.yml");
    writeFileSync(real, "");
    symlinkSync("real.yml", path);
    run("add", "bot");
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain("bot:");
  });

  test.each([
    [["add", "bot"], "there is a key bot already; `tonearm keys rotate bot` makes another"],
    [["rotate", "other"], "there is no key other"],
    [["remove", "other"], "there is no key other"],
    [["add", "../x"], "the name of a key has up to 64"],
    [["ad", "bot"], 'Did you mean "add"?'],
    [["add"], "with a name"],
    [["add", "x", "y"], "with a name"],
  ])("%j is refused, and nothing changes", (args, message) => {
    run("add", "bot");
    const before = readFileSync(path, "utf8");
    expect(() => run(...args)).toThrow(message);
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  test("a file with a mistake is not written over, nor one that another command writes", () => {
    writeFileSync(path, "bot: nonsense\n");
    expect(() => run("add", "other")).toThrow("keys.yml:1:6");
    expect(readFileSync(path, "utf8")).toBe("bot: nonsense\n");
    writeFileSync(path, "");
    writeFileSync(`${path}.new`, "of another");
    expect(() => run("add", "other")).toThrow("keys.yml.new exists. Another command is running");
    expect(readFileSync(`${path}.new`, "utf8")).toBe("of another");
  });

  test("without a file to keep them in, it says so", () => {
    expect(() => keysCommand(["add", "bot"], { cwd: folder, write: () => undefined })).toThrow(
      "tonearm.keys.file is not set",
    );
  });
});
