import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stateCheck } from "../../../src/cli/doctor/state-check.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function check(path: string, { isEnabled = true, loadDatabase = async (): Promise<unknown> => undefined } = {}) {
  return stateCheck({ isEnabled, path, key: undefined }, { loadDatabase }).run();
}

describe("the doctor's line about stored state", () => {
  test("a folder that can be written to passes, and nothing is left in it", async () => {
    writeFileSync(join(folder, "key"), "x");
    expect(await check(folder)).toEqual({ status: "ok", found: `stored in ${folder}` });
    expect(readdirSync(folder)).toEqual(["key"]);
  });

  test("a folder that does not exist yet passes, and is left for the node to create", async () => {
    const path = join(folder, "deep/state");
    expect(await check(path)).toEqual({ status: "ok", found: `${path} will be created` });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("the default folder of a shell is named as such: a service of systemd has another one", async () => {
    const path = join(folder, "state");
    const found = async (env: Readonly<Record<string, string>>) =>
      (await stateCheck({ isEnabled: true, path, key: undefined }, { cwd: folder, env }).run()).found;
    expect(await found({})).toBe(`${path} will be created (STATE_DIRECTORY of systemd is not set here)`);
    expect(await found({ STATE_DIRECTORY: folder })).toBe(`${path} will be created`);
  });

  test.each(["state", "state/deep"])("a file where %s should be is a warning with advice", async (name) => {
    writeFileSync(join(folder, "state"), "x");
    expect(await check(join(folder, name))).toEqual({
      status: "warn",
      found: `${join(folder, "state")} cannot be written to (ENOTDIR)`,
      advice: expect.stringContaining("set tonearm.state.path"),
    });
  });

  // Root may write anywhere.
  test.skipIf(process.getuid?.() === 0).each(["state", "state/deep"])(
    "a folder without the permission to write %s is a warning",
    async (name) => {
      const state = join(folder, "state");
      mkdirSync(state);
      chmodSync(state, 0o500);
      expect(await check(join(folder, name))).toMatchObject({
        status: "warn",
        found: `${state} cannot be written to (EACCES)`,
      });
    },
  );

  test("a missing database package is a warning that says how to install it", async () => {
    const loadDatabase = () => Promise.reject(new Error("Cannot find package"));
    expect(await check(folder, { loadDatabase })).toEqual({
      status: "warn",
      found: "the optional package classic-level cannot be loaded",
      advice: expect.stringContaining("--omit=optional"),
    });
  });

  test("the database package of this checkout loads", async () => {
    expect(await stateCheck({ isEnabled: true, path: folder, key: undefined }).run()).toMatchObject({ status: "ok" });
  });

  test("state that is switched off is not checked", async () => {
    const loadDatabase = () => Promise.reject(new Error("never asked"));
    expect(await check("/nowhere", { isEnabled: false, loadDatabase })).toEqual({
      status: "ok",
      found: "not stored, as tonearm.state.enabled is false",
    });
  });
});
