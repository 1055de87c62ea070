import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runTrials } from "../../../../lab/files/run-trials.ts";
import { asking } from "../../../../lab/test-environment/side-process.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** Tries files as their names say. */
const PROCESS = `process.on("message", ({ id, request: { file } }) => {
  if (file === "crashes") process.exit(1);
  if (file === "loops") process.send({}, () => { for (;;); });
  else process.send({ id, value: { file } }, () => file === "quits" && process.exit());
});`;
const folder = mkdtempSync(join(tmpdir(), "tonearm-trials-"));
const entry = join(folder, "process.mjs");
writeFileSync(entry, PROCESS);

const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

test("a file whose process crashes or loops beyond the time limit is reported, and the next ones are tried", async () => {
  const clock = new FakeClock();
  const exits: Promise<unknown[]>[] = [];
  const start = (): ChildProcess => {
    const child = fork(entry);
    children.push(child);
    exits.push(once(child, "exit"));
    // Only a process that loops sends anything but answers.
    child.on("message", (message) => "id" in (message as object) || clock.advance(60_000));
    return child;
  };
  const settings = { root: folder, servers: [], seconds: 1, timeoutMs: 60_000 };
  const files = ["right", "loops", "crashes", "last"].map((file) => ({ file, audioFile: undefined }));
  expect(await runTrials({ settings, files, jobs: 1, clock, start })).toEqual([
    { file: "right" },
    { file: "loops", broken: "it takes longer than 60 s" },
    { file: "crashes", broken: "the side process has ended" },
    { file: "last" },
  ]);
  expect((await Promise.all(exits)).map(([, signal]) => signal)).toEqual(["SIGKILL", null, "SIGKILL"]);
  expect(clock.pendingCount).toBe(0);
  expect(children.every(({ connected }) => !connected)).toBe(true);
});

test("a request to a process that has ended is refused", async () => {
  const child = fork(entry);
  children.push(child);
  const exit = once(child, "exit");
  const ask = asking<{ readonly file: string }>(child);
  expect(await ask({ file: "quits" })).toEqual({ file: "quits" });
  await exit;
  await expect(ask({ file: "last" })).rejects.toThrow("closed");
});
