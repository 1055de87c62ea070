import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../../src/log/log.ts";
import { openStateStore } from "../../../src/state/open-state.ts";
import type { StateStore } from "../../../src/state/state-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tonearm-state-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function openStore(): Promise<StateStore> {
  const opened = await openStateStore({ path: folder, key: undefined, clock: new FakeClock(), logger: silentLogger });
  if (opened.kind === "off") throw new Error(opened.reason);
  expect(opened.setAside).toBeUndefined();
  return opened.store;
}

test("records are read in the order of their keys after the store was opened again", async () => {
  const store = await openStore();
  await store.write([
    { key: "b", value: "two" },
    { key: "a", value: "one" },
  ]);
  await store.write([{ key: "b", value: undefined }]);
  await store.write([{ key: "c", value: "three" }]);
  await store.close();

  const again = await openStore();
  expect(await again.readAll()).toEqual([
    { key: "a", value: "one" },
    { key: "c", value: "three" },
  ]);
  expect(await again.readAll()).toHaveLength(2);
  await again.close();
});
