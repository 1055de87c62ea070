import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OpusCacheFolder } from "../../../../src/control/workers/opus-cache-folder.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** Three quarters of it are for entries, a quarter for those that are being written. */
const BYTES_MAX = 4000;
const [A = "", B = "", C = "", D = ""] = ["a", "b", "c", "d"].map((digit) => digit.repeat(64));

let parent: string;
let path: string;
let log: string[];
let clock: FakeClock;
let folder: OpusCacheFolder;
let worker: AbortController;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "tonearm-opus-cache-"));
  path = join(parent, "cache");
  log = [];
  worker = new AbortController();
  clock = new FakeClock();
  folder = createFolder();
});
afterEach(() => rmSync(parent, { recursive: true }));

function createFolder(at = path): OpusCacheFolder {
  const logger = createLogger((level, message) => log.push(`${level} ${message}`));
  return new OpusCacheFolder({ path: at, bytesMax: BYTES_MAX, clock, logger });
}

function names(): readonly string[] {
  return readdirSync(path)
    .map((name) => name.slice(0, 1) + name.slice(64))
    .toSorted();
}

/** A worker asks, and writes an entry of that size if it may. */
async function write(key: string, sizeBytes: number): Promise<void> {
  const answer = folder.answer({ key, reservedBytes: sizeBytes }, worker.signal);
  if (answer.kind !== "write") throw new Error(`answered ${answer.kind}`);
  writeFileSync(answer.path, new Uint8Array(sizeBytes));
  folder.onEvent({ type: "opusCacheWritten", path: answer.path, sizeBytes });
  await folder.settled();
}

function kindFor(key: string, reservedBytes = 100): string {
  return folder.answer({ key, reservedBytes }, worker.signal).kind;
}

describe("the folder of the Opus cache", () => {
  it("is made for this user alone, and one line says where it is and how large", async () => {
    await folder.open();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(names()).toEqual([]);
    expect(log).toEqual(["info Opus cache is on"]);
  });

  it("warns once when it cannot be written, and has and takes nothing", async () => {
    writeFileSync(join(parent, "file"), "");
    folder = createFolder(join(parent, "file", "cache"));
    await folder.open();
    expect(log).toEqual(["warn Opus cache is off: its folder (tonearm.opusCache.path) cannot be used"]);
    expect(kindFor(A)).toBe("none");
  });

  it("has an entry once it is written, and keeps it over a restart", async () => {
    await folder.open();
    expect(kindFor(A, 0)).toBe("none");
    await write(A, 500);
    expect(names()).toEqual(["a.opus"]);
    folder = createFolder();
    await folder.open();
    expect(folder.answer({ key: A, reservedBytes: 100 }, worker.signal)).toEqual({
      kind: "entry",
      path: join(path, `${A}.opus`),
    });
  });

  it("removes the least recently used entries so that it stays within its bound", async () => {
    await folder.open();
    for (const key of [A, B, C]) await write(key, 1000);
    expect(kindFor(A)).toBe("entry");
    await write(D, 900);
    expect(names()).toEqual(["a.opus", "c.opus", "d.opus"]);
    expect(folder.sizeBytes).toBe(2900);
  });

  it("knows after a restart which entries were used last", async () => {
    await folder.open();
    for (const key of [A, B, C]) await write(key, 1000);
    for (const key of [A, B, C]) utimesSync(join(path, `${key}.opus`), 1000, 1000);
    kindFor(A);
    kindFor(C);
    await folder.settled();
    folder = createFolder();
    await folder.open();
    await write(D, 900);
    expect(names()).toEqual(["a.opus", "c.opus", "d.opus"]);
  });

  it("is within its bound after a start with a lower one", async () => {
    mkdirSync(path);
    for (const key of [A, B, C, D]) writeFileSync(join(path, `${key}.opus`), new Uint8Array(1000));
    for (const [index, key] of [D, C, B, A].entries()) utimesSync(join(path, `${key}.opus`), index, index);
    await folder.open();
    expect(names()).toEqual(["a.opus", "b.opus", "c.opus"]);
  });

  it("reserves no more than its share for entries that are being written", async () => {
    await folder.open();
    expect([kindFor(A, 600), kindFor(B, 600), kindFor(C, 400), kindFor(D, 1)]).toEqual([
      "write",
      "none",
      "write",
      "none",
    ]);
  });

  it("has each entry written by one worker only", async () => {
    await folder.open();
    expect([kindFor(A), kindFor(A)]).toEqual(["write", "none"]);
  });

  it("removes what a worker gave up, was too large, was never finished, or was left by a worker that is gone", async () => {
    await folder.open();
    const answers = [A, B, C, D].map((key) => folder.answer({ key, reservedBytes: 100 }, worker.signal));
    const paths = answers.flatMap((answer) => (answer.kind === "write" ? answer.path : []));
    for (const one of paths) writeFileSync(one, "frames");
    const [givenUp = "", tooLarge = ""] = paths;
    folder.onEvent({ type: "opusCacheWritten", path: givenUp, sizeBytes: undefined });
    folder.onEvent({ type: "opusCacheWritten", path: tooLarge, sizeBytes: 101 });
    worker.abort();
    await folder.settled();
    expect(names()).toEqual([]);
    expect(folder.sizeBytes).toBe(0);
    worker = new AbortController();
    expect(kindFor(A)).toBe("write");
    clock.advance(2 * 3_600_000);
    await folder.settled();
    expect(folder.sizeBytes).toBe(0);
  });

  it("removes files that an earlier process did not finish, and leaves other files alone", async () => {
    mkdirSync(path, { mode: 0o755 });
    writeFileSync(join(path, `${A}.7.part`), "half");
    writeFileSync(join(path, "music.mp3"), "not ours");
    await folder.open();
    expect(readdirSync(path)).toEqual(["music.mp3"]);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(folder.sizeBytes).toBe(0);
  });

  it("removes a damaged entry with one line, and takes a new one", async () => {
    await folder.open();
    await write(A, 500);
    for (let count = 0; count < 2; count++) {
      folder.onEvent({ type: "opusCacheDamaged", key: A, reason: "its head is not that of the entry" });
    }
    await folder.settled();
    expect(existsSync(join(path, `${A}.opus`))).toBe(false);
    expect(log.slice(1)).toEqual(["warn Opus cache entry removed: it is damaged, and its track is transcoded again"]);
    expect(kindFor(A)).toBe("write");
  });

  it("warns once an hour of a disk that refuses entries", async () => {
    await folder.open();
    for (let count = 0; count < 3; count++) {
      const answer = folder.answer({ key: A, reservedBytes: 100 }, worker.signal);
      if (answer.kind !== "write") throw new Error(`answered ${answer.kind}`);
      folder.onEvent({ type: "opusCacheWritten", path: answer.path, sizeBytes: undefined, failure: "ENOSPC" });
      await folder.settled();
      if (count === 1) clock.advance(3_600_000);
    }
    expect(log.slice(1)).toEqual([
      "warn Opus cache entry was not stored: the disk refuses it",
      "warn Opus cache entry was not stored: the disk refuses it",
    ]);
  });
});
