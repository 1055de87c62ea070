// The Opus encoder's package on its own: packed, installed into an empty folder, used as its README says.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeBlocksOf } from "../../../docs/site/markdown.mjs";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { Newcomer } from "./newcomer.ts";

const shelf = mkdtempSync(join(tmpdir(), "tonearm-packed-"));
const someone = new Newcomer(join(process.execPath, ".."));
/** In the order in which the README has them. */
const [EXAMPLE] = codeBlocksOf(readFileSync(`${PROJECT_ROOT}opus-encoder/README.md`, "utf8"));

async function succeed(command: string, ...args: string[]): Promise<string> {
  const { status, output } = await someone.run(command, args);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with status ${status}: ${output}`);
  return output;
}

beforeAll(async () => {
  const folder = join(PROJECT_ROOT, "opus-encoder");
  await succeed("npm", "pack", "--ignore-scripts", "--loglevel=silent", "--pack-destination", shelf, folder);
  await succeed("npm", "install", join(shelf, "tonearm-opus-encoder-0.1.0.tgz"));
});

afterAll(() => {
  someone.close();
  rmSync(shelf, { recursive: true, force: true });
});

test("the README's example runs, and a frame of silence is a packet of three bytes", async () => {
  expect(EXAMPLE?.language).toBe("js");
  const check = "console.log(JSON.stringify([size, ...packet.subarray(0, size)]));";
  writeFileSync(join(someone.folder, "example.mjs"), `${EXAMPLE?.code}\n${check}\n`);
  const [size, toc, ...frame] = JSON.parse(await succeed("node", "example.mjs"));
  // RFC 6716 section 3.1: CELT, full band, 20 ms, stereo, one frame.
  expect([size, toc, frame.length]).toEqual([3, (31 << 3) | 4, 2]);
});

test("its lab runs beside libopus, and without it names the missing package", async () => {
  const alone = await someone.run("npx", ["opus-encoder-lab", "--frames", "200"]);
  expect(alone).toMatchObject({
    status: 2,
    output: "the lab compares with libopus: npm install libopus-wasm@0.2.0\n",
  });
  await succeed("npm", "install", "libopus-wasm@0.2.0");
  const report = JSON.parse(await succeed("npx", "opus-encoder-lab", "--frames", "200"));
  expect(report).toMatchObject({ frames: 200, rangesCompared: 200, badFrames: 0 });
});
