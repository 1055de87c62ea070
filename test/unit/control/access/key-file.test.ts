import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { KeyFile } from "../../../../src/control/access/key-file.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let folder: string;
let path: string;
let clock: FakeClock;
let ring: KeyRing;
let lines: string[];
let replacedCount: number;
let keyFile: KeyFile | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-keys-"));
  path = join(folder, "keys.yml");
  clock = new FakeClock();
  ring = new KeyRing(clock);
  lines = [];
  replacedCount = 0;
});

afterEach(() => {
  keyFile?.close();
  rmSync(folder, { recursive: true });
});

function open(): void {
  const logger = createLogger((level, message) => lines.push(`${level} ${message}`));
  keyFile = new KeyFile({ path, ring, clock, logger });
  keyFile.onReplaced = () => replacedCount++;
}

function write(names: Readonly<Record<string, string>>): void {
  const entries = Object.entries(names).map(([name, key]) => `${name}:\n  hashes: [${hashOf(key)}]\n`);
  writeFileSync(path, entries.join(""));
}

/** Waits until the condition is true; each check of the file on disk takes some time. */
async function until(isSo: () => boolean): Promise<void> {
  const check = () => {
    clock.advance(2000);
    return isSo();
  };
  await expect.poll(check).toBe(true);
}

test("keys come, are changed and go without a restart", async () => {
  open();
  expect(lines).toEqual(["warn client key file does not exist yet: `tonearm keys add NAME` creates it"]);
  expect(ring.find("one")).toBeUndefined();
  write({ bot: "one" });
  await until(() => ring.find("one") !== undefined);
  const before = ring.find("one")!;
  write({ bot: "two", "other-bot": "three" });
  await until(() => ring.find("two") !== undefined);
  expect(ring.find("one")).toBeUndefined();
  expect(ring.isCurrent(before)).toBe(false);
  expect(ring.isCurrent(ring.find("three")!)).toBe(true);
  expect(ring.limitsOf("gone")).toMatchObject({ sessions: 0, players: 0 });
  expect(replacedCount).toBe(2);
});

test("a key file that is invalid or missing changes nothing", async () => {
  write({ bot: "one" });
  open();
  writeFileSync(path, "bot: nonsense\n");
  await until(() => lines.length === 1);
  rmSync(path);
  await until(() => lines.length === 2);
  expect(ring.find("one")?.name).toBe("bot");
  expect(lines).toEqual([
    "error client key file is invalid: the keys in force stay",
    "error client key file is missing: the keys in force stay; write an empty file to remove all keys",
  ]);
  expect(replacedCount).toBe(0);
});

test("a mistake in it ends the start", () => {
  writeFileSync(path, "bot: nonsense\n");
  expect(open).toThrow(/keys\.yml:1:6: expected what bot may do below its name/);
  rmSync(path);
  expect(() => new KeyFile({ path: folder, ring, clock, logger: createLogger(() => undefined) })).toThrow(
    /could not be read/,
  );
});
