import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { encoderCommand } from "../../../../opus-encoder/lab/command.ts";

afterEach(() => void vi.unstubAllEnvs());

async function run(
  ...args: string[]
): Promise<{ readonly status: number; readonly out: string; readonly errors: string }> {
  const [out, errors]: [string[], string[]] = [[], []];
  const status = await encoderCommand(args, {
    command: "npm run bench -- encoder",
    program: "none",
    write: (text) => out.push(text),
    writeError: (text) => errors.push(text),
  });
  return { status, out: out.join(""), errors: errors.join("") };
}

test("the encoder bench refuses invalid arguments with a message and status 2", async () => {
  expect(await run()).toEqual({ status: 2, out: "", errors: "say where music is: --music FOLDER\n" });
  expect((await run("--frames", "many")).errors).toBe('--frames is "many", no number\n');
  expect((await run("--encoder", "libopus:11")).errors).toMatch(
    /^no encoder is called "libopus:11"; there are tonearm, libopus/,
  );
  expect((await run("--encoder", "toString")).errors).toMatch(/^no encoder is called/);
  expect((await run("--louder")).status).toBe(2);
});

test("--help of the encoder bench prints the usage", async () => {
  const { status, out } = await run("--help");
  expect(status).toBe(0);
  expect(out).toContain("npm run bench -- encoder --music FOLDER");
});

test("--music without ffmpeg, or without music, is refused in one line with status 2", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-music-"));
  vi.stubEnv("PATH", folder);
  try {
    const empty = await run("--cost", "--music", folder);
    expect(empty).toEqual({ status: 2, out: "", errors: `there is no music in ${folder}\n` });
    writeFileSync(join(folder, "song.ogg"), "");
    const errors = "--music needs ffprobe, which was not found: install ffmpeg\n";
    expect(await run("--cost", "--music", folder)).toEqual({ status: 2, out: "", errors });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("--frames without music generates all its audio, and reports the counts", async () => {
  // `npm run lab -- encoder-exact` names a number, which may be followed by another.
  const { status, out } = await run("--frames", "100000", "--frames", "200", "--encoder", "libopus:0");
  expect(status).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ frames: 200, rangesCompared: 0, badFrames: 0 });
});

test("--first-frames prints the figures of an encoder in this process", async () => {
  const { out } = await run("--first-frames", "libopus:0");
  const { createMs, firstMicroseconds, laterMicroseconds, longestMicroseconds } = JSON.parse(out);
  expect(Math.min(createMs, laterMicroseconds)).toBeGreaterThan(0);
  expect(longestMicroseconds).toBeGreaterThanOrEqual(firstMicroseconds);
});
