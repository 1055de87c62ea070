import { mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ByteSource } from "../../../../src/media/input/byte-source.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, patternBytes } from "../../../support/input-builders.ts";

const FILE = patternBytes(400_000);
let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "local-source-")));
  writeFileSync(join(folder, "song.mp3"), FILE);
  writeFileSync(join(folder, "empty.mp3"), "");
});

afterAll(() => rmSync(folder, { recursive: true }));

async function open(name: string): Promise<ByteSource> {
  const deps = createInputDeps({ clock: new FakeClock(), settings: { localRoots: [folder] } });
  deps.client.close();
  return (await openInput({ kind: "local", path: join(folder, name), container: undefined }, deps)).source;
}

it("a file source reads any position exactly, across block borders and up to the end", async () => {
  const source = await open("song.mp3");
  expect(source).toMatchObject({ sizeBytes: 400_000, isRandomAccess: true, mimeType: undefined });
  for (const [at, length] of [
    [0, 100],
    [65_535, 2],
    [65_536, 65_536],
    [10, 399_000],
    [399_990, 100],
    [5, 0],
  ] as const) {
    expect(Buffer.compare(await source.read(at, length), FILE.subarray(at, at + length)), `${at}+${length}`).toBe(0);
  }
  expect(await source.read(400_000, 10)).toHaveLength(0);
  expect(source.readBuffered(500_000, 10)).toHaveLength(0);
  source.close();
});

it("the next block of a file is read before it is needed", async () => {
  const source = await open("song.mp3");
  expect(source.readBuffered(0, 10)).toBeUndefined();
  await source.read(0, 10);
  while (source.readBuffered(65_536, 10) === undefined) await new Promise((resolve) => setImmediate(resolve));
  const across = source.readBuffered(65_000, 1_000);
  expect(across && Buffer.compare(across, FILE.subarray(65_000, 66_000))).toBe(0);
  source.close();
});

it("closing a file source rejects pending and later reads, and may happen twice", async () => {
  const source = await open("song.mp3");
  const pending = source.read(0, 300_000);
  source.close();
  source.close();
  await expect(pending).rejects.toMatchObject({ code: "input-closed" });
  await expect(source.read(0, 10)).rejects.toMatchObject({ code: "input-closed" });
  expect(source.readBuffered(0, 10)).toBeUndefined();
});

it("an empty file is an empty source, and a file that shrinks ends early", async () => {
  const empty = await open("empty.mp3");
  expect(await empty.read(0, 10)).toHaveLength(0);
  empty.close();
  writeFileSync(join(folder, "shrinking.mp3"), FILE);
  const source = await open("shrinking.mp3");
  truncateSync(join(folder, "shrinking.mp3"), 100_000);
  expect(await source.read(99_000, 100_000)).toHaveLength(1_000);
  source.close();
});

it("a file outside of the roots is refused", async () => {
  const deps = createInputDeps({ clock: new FakeClock() });
  const input = { kind: "local", path: join(folder, "song.mp3"), container: undefined } as const;
  await expect(openInput(input, deps)).rejects.toMatchObject({ code: "local-file-refused" });
  deps.client.close();
});
