import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encoderCommand } from "../../../opus-encoder/lab/command.ts";

let folder: string;

async function makeSong(name: string, audio: string): Promise<void> {
  const input = ["-v", "error", "-f", "lavfi", "-i", `aevalsrc=${audio}:s=44100:d=12`];
  await promisify(execFile)("ffmpeg", [...input, join(folder, name)]);
}

async function listen(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const status = await encoderCommand(
    ["--music", folder, "--seconds", "1", "--excerpts", "4", "--encoder", "libopus:0", ...args],
    {
      command: "npm run bench -- encoder",
      program: "none",
      write: (text) => lines.push(text),
      writeError: (text) => lines.push(text),
    },
  );
  expect(status).toBe(0);
  return lines.join("");
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-quality-"));
  await makeSong("chord.flac", "0.2*sin(2765*t)+0.2*sin(4000*t)|0.2*sin(3100*t)");
  await makeSong("mono.ogg", "0.3*sin(900*t*t)+0.2*(random(0)-0.5)");
  await makeSong("silence.flac", "0");
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("the music of a folder is compared without silence, and a seed selects the same seconds again", async () => {
  const file = join(folder, "judgements.json");
  const first = await listen("--bitrates", "64,128", "--against", "libopus:10", "--json", file);
  const drawn = (text: string) => [...text.matchAll(/^(\S+) from ([\d.]+) s/gm)].map(([line]) => line);
  expect(drawn(first).length).toBeGreaterThan(1);
  expect(drawn(first).join()).not.toContain("silence");
  expect(first).toContain("| libopus:10 | 128 |");
  expect(first).toContain("libopus:0 against libopus:10, each excerpt at the same rate");
  const again = await listen("--bitrates", "64,128", "--against", "libopus:10", "--reuse", file);
  expect(again).toBe(first);
  const other = await listen("--bitrates", "64,128", "--against", "libopus:10", "--seed", "2");
  expect(drawn(other)).not.toEqual(drawn(first));
  const [excerpt] = JSON.parse(readFileSync(file, "utf8"));
  expect(excerpt.judgements.length).toBe(4);
});

test("with one bitrate given, the other encoders are compared at bitrates around it", async () => {
  const text = await listen("--bitrates", "96", "--encoder", "libopus:5", "--against", "libopus:5,libopus:10");
  expect(text).toMatch(/^\| libopus:10 \| 88.32 \|/m);
  expect(text).toMatch(/^\| all \(\d\) \| (?:better|worse|even) [+-]\d/m);
});
