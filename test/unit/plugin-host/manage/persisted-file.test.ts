import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PersistedValue } from "../../../../src/bridge/plugin-messages.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { PersistedFile } from "../../../../src/plugin-host/manage/persisted-file.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const VALUES: readonly PersistedValue[] = [
  { cache: "logins", key: "", json: '"a\\n{}"', untilMs: Number.POSITIVE_INFINITY },
  { cache: "ids", key: 'k"1', json: '{"id":[1,null]}', untilMs: 1_700_000_000_000 },
];

let folder: string;
let clock: FakeClock;
let lines: { readonly level: string; readonly message: string }[];
/** All that was logged, with fields. */
let told: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "persisted-"));
  clock = new FakeClock();
  lines = [];
  told = "";
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fileAt(...path: readonly string[]): PersistedFile {
  const logger = createLogger((level, message, fields) => {
    lines.push({ level, message });
    told += inspect(fields);
  });
  return new PersistedFile({ path: join(folder, ...path), clock, logger });
}

describe("the stored values", () => {
  test("stored values are restored unchanged by a node that starts later", async () => {
    await fileAt("new", "songs.json").write(VALUES);
    expect(await fileAt("new", "songs.json").read()).toEqual(VALUES);
    expect(lines).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  test("the file is readable by its owner only, whatever file was there before", async () => {
    writeFileSync(join(folder, "songs.json"), "{}", { mode: 0o644 });
    writeFileSync(join(folder, "songs.json.new"), "left by a crash", { mode: 0o666 });
    await fileAt("songs.json").write(VALUES);
    expect(statSync(join(folder, "songs.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["songs.json"]);
  });

  test("the file is JSON", async () => {
    await fileAt("songs.json").write(VALUES);
    expect(JSON.parse(readFileSync(join(folder, "songs.json"), "utf8"))).toEqual({
      format: 1,
      values: [
        { cache: "logins", key: "", value: "a\n{}", untilMs: null },
        { cache: "ids", key: 'k"1', value: { id: [1, null] }, untilMs: 1_700_000_000_000 },
      ],
    });
  });
});

test("a missing file is not reported", async () => {
  expect(await fileAt("songs.json").read()).toEqual([]);
  expect(lines).toEqual([]);
});

test.each([
  ["of no JSON", '{"format":1,"values":[hunter2'],
  ["empty JSON", "null"],
  ["of another format", '{"format":2,"values":[]}'],
  ["without values", '{"format":1}'],
  ["of broken values", '{"format":1,"values":[{"cache":"a","key":"b"}]}'],
  ["of values without a time", '{"format":1,"values":[{"cache":"a","key":"b","value":1}]}'],
  ["of more than 4 MiB", " ".repeat(4 * 1024 * 1024 + 1)],
])("a file %s is renamed with one log line, and the next one is written in its place", async (_what, text) => {
  writeFileSync(join(folder, "songs.json"), text);
  const file = fileAt("songs.json");
  expect(await file.read()).toEqual([]);
  expect(readFileSync(join(folder, "songs.json.broken"), "utf8")).toBe(text);
  expect(lines).toEqual([
    { level: "warn", message: "persisted values of a plugin are invalid, file renamed to *.broken" },
  ]);
  expect(told).not.toContain("hunter2");
  await file.write(VALUES);
  expect(await file.read()).toEqual(VALUES);
});

test("a file that cannot be written is reported once, until it can be", async () => {
  mkdirSync(join(folder, "songs.json"));
  writeFileSync(join(folder, "songs.json", "x"), "");
  const file = fileAt("songs.json");
  for (let count = 0; count < 3; count++) await file.write(VALUES);
  expect(lines).toEqual([{ level: "warn", message: "persisted values of a plugin could not be written to disk" }]);
  rmSync(join(folder, "songs.json"), { recursive: true });
  await file.write(VALUES);
  expect(await file.read()).toEqual(VALUES);
});
