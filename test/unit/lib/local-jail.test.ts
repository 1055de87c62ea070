import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isSameFile, LocalJail } from "../../../src/lib/local-jail.ts";

let folder: string;
let music: string;
let jail: LocalJail;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "jail-")));
  music = join(folder, "music");
  mkdirSync(join(music, "album"), { recursive: true });
  mkdirSync(join(folder, "music-private"));
  writeFileSync(join(music, "song.mp3"), "song");
  writeFileSync(join(music, "album", "..song.mp3"), "dots");
  writeFileSync(join(folder, "secret.txt"), "secret");
  writeFileSync(join(folder, "music-private", "secret.txt"), "secret");
  symlinkSync(join(folder, "secret.txt"), join(music, "link-out"));
  symlinkSync(join(music, "song.mp3"), join(music, "link-in"));
  symlinkSync(folder, join(music, "folder-out"));
  symlinkSync(music, join(folder, "music-link"));
  jail = new LocalJail([music]);
});

afterAll(() => rmSync(folder, { recursive: true }));

async function textOf(from: LocalJail, path: string): Promise<string> {
  const handle = await from.open(path);
  try {
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

it("the jail opens files below a root, also through links and dots that stay inside", async () => {
  expect(await textOf(jail, join(music, "song.mp3"))).toBe("song");
  expect(await textOf(jail, join(music, "album", "..", "song.mp3"))).toBe("song");
  expect(await textOf(jail, join(music, "album", "..song.mp3"))).toBe("dots");
  expect(await textOf(jail, join(music, "link-in"))).toBe("song");
  expect(await textOf(jail, join(folder, "music-link", "song.mp3"))).toBe("song");
  expect(await textOf(jail, relative(process.cwd(), join(music, "song.mp3")))).toBe("song");
});

it("a root that is a link stands for its target", async () => {
  const linked = new LocalJail([join(folder, "music-link")]);
  expect(await textOf(linked, join(folder, "music-link", "song.mp3"))).toBe("song");
});

it.each([
  ["a file outside", () => join(folder, "secret.txt")],
  ["a folder whose name begins like the root", () => join(folder, "music-private", "secret.txt")],
  ["dots that escape the root", () => join(music, "..", "secret.txt")],
  ["a link that escapes the root", () => join(music, "link-out")],
  ["a linked folder that escapes the root", () => join(music, "folder-out", "secret.txt")],
  ["the root itself", () => music],
  ["a folder", () => join(music, "album")],
  ["a device", () => "/dev/zero"],
  ["a missing file outside", () => join(folder, "nothing.txt")],
  ["a missing file outside through dots", () => join(music, "..", "nothing.txt")],
  ["a null byte", () => `${join(music, "song.mp3")}\0.txt`],
  ["nothing", () => ""],
])("%s is refused", async (_what, path) => {
  await expect(jail.open(path())).rejects.toMatchObject({ code: "local-file-refused" });
});

it("a missing file below a root is reported as missing", async () => {
  await expect(jail.open(join(music, "nothing.mp3"))).rejects.toMatchObject({ code: "input-not-found" });
});

it("a path longer than any can be is refused unread, one of the greatest length is looked for", async () => {
  const [longest, longer] = [4096, 4097].map((length) => `${music}/`.padEnd(length, "a/"));
  await expect(jail.open(longest!)).rejects.toMatchObject({ code: "input-not-found" });
  const refused = { code: "local-file-refused", message: expect.stringContaining("4097 characters") };
  await expect(jail.open(longer!)).rejects.toMatchObject(refused);
});

it("without roots, or with missing ones, nothing opens", async () => {
  const song = join(music, "song.mp3");
  await expect(new LocalJail([]).open(song)).rejects.toMatchObject({ code: "local-file-refused" });
  const missing = new LocalJail([join(folder, "not-mounted")]);
  await expect(missing.open(song)).rejects.toMatchObject({ code: "local-file-refused" });
});

it.skipIf(process.platform === "win32")("what lies outside is refused without being opened", async () => {
  // A socket cannot be opened, so an attempt would fail.
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, "socket"), resolve));
  await expect(jail.open(join(folder, "socket"))).rejects.toMatchObject({ code: "local-file-refused" });
  await new Promise((resolve) => server.close(resolve));
});

it.skipIf(process.platform === "win32")("a named pipe neither hangs nor opens", async () => {
  execFileSync("mkfifo", [join(music, "pipe")]);
  await expect(jail.open(join(music, "pipe"))).rejects.toMatchObject({ code: "local-file-refused" });
});

it("a file's identity matches where Windows gives its volume in 64 bits by name and in 32 by handle", () => {
  const byName = { dev: 0x3a1c_7d00_bc94_10ffn, ino: 7n };
  expect(isSameFile(byName, { dev: 0xbc94_10ffn, ino: 7n })).toBe(true);
  expect(isSameFile(byName, { dev: 0xbc94_10fen, ino: 7n })).toBe(false);
  expect(isSameFile(byName, { dev: 0xbc94_10ffn, ino: 8n })).toBe(false);
});
