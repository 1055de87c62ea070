// The Opus encoder's package on its own: packed, installed into an empty folder, used as its README says.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let packed: Packed;
// Our own file.
const { peerDependencies } = JSON.parse(readFileSync(`${PROJECT_ROOT}opus-encoder/package.json`, "utf8"));
const LIBOPUS = `libopus-wasm@${peerDependencies["libopus-wasm"]}`;

const pack = (folder: string): Promise<string> =>
  succeed("npm", "pack", "--json", "--loglevel=silent", "--pack-destination", shelf, folder);

async function succeed(command: string, ...args: string[]): Promise<string> {
  const { status, output } = await someone.run(command, args);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with status ${status}: ${output}`);
  return output;
}

beforeAll(async () => {
  // As npm has printed it.
  [packed] = JSON.parse(await pack(join(PROJECT_ROOT, "opus-encoder"))) as [Packed];
  await succeed("npm", "install", join(shelf, packed.filename));
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

test("packing removes what an older build has left, and refuses a checkout that has not been built", async () => {
  const folder = join(shelf, "opus-encoder");
  for (const path of ["package.json", "prepack.mjs", "README.md", "bin", "dist", "docs", "src"]) {
    cpSync(join(PROJECT_ROOT, "opus-encoder", path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "dist/removed.js"), "");
  mkdirSync(join(folder, "dist/lab/removed"));
  writeFileSync(join(folder, "dist/lab/removed/main.js"), "");
  const [{ files }] = JSON.parse(await pack(folder)) as [Packed];
  const paths = (all: Packed["files"]): string[] => all.map(({ path }) => path).filter((path) => path !== "LICENSE");
  expect(paths(files)).toEqual(paths(packed.files));
  expect(paths(files)).toEqual(expect.arrayContaining(["dist/index.js", "dist/opus-encoder.wasm", "dist/lab/main.js"]));
  rmSync(join(folder, "dist"), { recursive: true });
  await expect(pack(folder)).rejects.toThrow("ended with status 1");
  const lab = await someone.run(process.execPath, [join(folder, "bin/opus-encoder-lab.js")]);
  expect(lab).toMatchObject({ status: 1, output: expect.stringMatching(/^The lab has not been built yet/) });
});

test("its lab runs beside libopus, and without it names the missing package", async () => {
  const alone = await someone.run("npx", ["opus-encoder-lab", "--frames", "200"]);
  expect(alone).toMatchObject({
    status: 2,
    output: `the lab compares with libopus: npm install ${LIBOPUS}\n`,
  });
  await succeed("npm", "install", LIBOPUS);
  expect(await succeed("npx", "opus-encoder-lab", "--help")).toMatch(/^ {2}opus-encoder-lab --music FOLDER /m);
  const report = JSON.parse(await succeed("npx", "opus-encoder-lab", "--frames", "200"));
  expect(report).toMatchObject({ frames: 200, rangesCompared: 200, badFrames: 0 });
});
