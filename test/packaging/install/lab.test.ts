// The lab as its users get it: its tarball, installed by npm into an empty folder without a checkout, first alone and
// then beside the node's package.

import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS } from "../../../lab/programs.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { Newcomer } from "./newcomer.ts";

const PASSWORD = "nobody-guesses-it";
/** Limits of the tarball: 1.2 MB and 3.9 MB unpacked in 991 files, at the time of writing. */
const PACKED_BYTES_MAX = 2_000_000;
const UNPACKED_BYTES_MAX = 6_500_000;
const NODE_BIN = join(process.execPath, "..");

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const shelf = mkdtempSync(join(tmpdir(), "tonearm-lab-packed-"));
const someone = new Newcomer(NODE_BIN);
let lab: Packed;

const npx = (...args: readonly string[]) => someone.run("npx", ["--no", "tonearm-lab", ...args]);
const install = (...files: readonly string[]) =>
  someone.run("npm", ["install", "--loglevel=error", ...files.map((file) => join(shelf, file))]);

/** Packs the checkout, which is built, or its workspace. */
async function pack(...args: readonly string[]): Promise<Packed> {
  const packer = new Newcomer(NODE_BIN);
  const { status, output } = await packer.run("npm", [
    ...["pack", "--json", "--loglevel=silent", "--pack-destination", shelf, ...args],
  ]);
  packer.close();
  if (status !== 0) throw new Error(output);
  // As npm has printed it.
  const [packed] = JSON.parse(output) as [Packed];
  return packed;
}

beforeAll(async () => {
  lab = await pack("--prefix", PROJECT_ROOT, "--workspace", "lab");
  const encoder = await pack("--prefix", PROJECT_ROOT, "--workspace", "opus-encoder");
  expect(await install(lab.filename, encoder.filename)).toMatchObject({ status: 0 });
});

afterAll(() => {
  someone.close();
  rmSync(shelf, { recursive: true, force: true });
});

test("the lab's tarball has compiled modules, what they read, and READMEs; packing leaves nothing in the checkout", () => {
  const paths = lab.files.map(({ path }) => path);
  const known =
    /^(?:dist\/(?:lab|opus-encoder\/(?:lab|src)|src|plugins)\/.*\.js|dist\/src\/media\/kernels\/[\w-]+\.(?:wasm|tables)|dist\/lab\/media-files\/codec-\w+\.json)$|^bin\/tonearm-lab\.js$|^(?:[\w-]+\/)?README\.md$|^LICENSE$|^package\.json$/;
  expect(paths.filter((path) => !known.test(path) || /^dist\/lab\/(?:bundles|kernels)\//.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "bin/tonearm-lab.js"]));
  expect(lab.size).toBeLessThan(PACKED_BYTES_MAX);
  expect(lab.unpackedSize).toBeLessThan(UNPACKED_BYTES_MAX);
  expect(["dist", "LICENSE"].filter((name) => existsSync(join(PROJECT_ROOT, "lab", name)))).toEqual([]);
});

test("no file of the lab's package names the folder it was built in", () => {
  const folder = join(someone.folder, "node_modules/@tonearm/lab");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  expect(texts.filter((text) => text.includes(PROJECT_ROOT))).toEqual([]);
  expect(texts.length).toBe(lab.files.length);
});

test("tonearm-lab without a name lists every program and ends with status 2", async () => {
  const { status, output } = await npx();
  expect({ status, output }).toMatchObject({
    status: 2,
    output: expect.stringMatching(/^tonearm-lab NAME \[options\]/),
  });
  const listed = Array.from(output.matchAll(/^ {2}([\w-]+) {2}/gm), ([, name]) => name);
  expect(listed).toEqual(Object.keys(COMMANDS["tonearm-lab"] ?? {}));
});

test("a simulation by the lab's package has the digest of the checkout's", async () => {
  const args = ["simulate", "--seed", "7", "--minutes", "0.1"];
  const seed = /^seed 7: .* CPU time, (\d+ frames, [\da-f]{16}), all invariants held\n$/;
  const installed = await npx(...args);
  expect(installed).toMatchObject({ status: 0, output: expect.stringMatching(seed) });
  const ours = await someone.run(process.execPath, [join(PROJECT_ROOT, "dist/lab/main.js"), "lab", ...args]);
  expect(seed.exec(installed.output)?.[1]).toBe(seed.exec(ours.output)?.[1]);
});

test("the lab's package checks the conformance of a running node", async () => {
  const node = someone.start(process.execPath, [join(PROJECT_ROOT, "bin/tonearm.js"), "start", "--server.port=0"], {
    LAVALINK_SERVER_PASSWORD: PASSWORD,
    TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
    TONEARM_VOICE_GATEWAY_SCHEME: "ws",
  });
  const [, url = ""] = await node.until(/listening on (http:\/\/127\.0\.0\.1:\d+)/);
  const checked = await npx("conformance", url, "--password", PASSWORD, "--only", "info,loading,decoding");
  expect(checked).toMatchObject({ status: 0, output: expect.stringMatching(/[1-9]\d passed, 0 failed/) });
  node.child.kill("SIGTERM");
  await node.ended;
});

test("the lab's package reports a server that breaks the protocol", async () => {
  const server = createServer((_request, response) => response.end("{}")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // listens on TCP
  const checked = await npx("conformance", `http://127.0.0.1:${port}`, "--only", "decoding");
  server.close();
  expect(checked).toMatchObject({ status: 1, output: expect.stringMatching(/[1-9]\d* failed/) });
});

test("programs that start a node use the installed package tonearm, and say in one line that it is missing", async () => {
  const compare = () =>
    npx("compare", "--only", "idle", "--rounds", "1", "--seconds", "0.5", "--settle", "0", "--media", ".");
  expect(await compare()).toMatchObject({
    status: 2,
    output: expect.stringMatching(/^.*run `npm install [^`]*tonearm-[^`]*tgz`[^\n]*\n$/),
  });
  // Ends, though it also starts a process of fake sites; its first line is the machine's.
  expect(await npx("sources", "--only", "lists")).toMatchObject({
    status: 2,
    output: expect.stringMatching(/^[^\n]*\n[^\n]*run `npm install [^`]*tonearm-[^`]*tgz`[^\n]*\n$/),
  });
  const node = await pack("--ignore-scripts", PROJECT_ROOT);
  expect(await install(node.filename)).toMatchObject({ status: 0 });
  expect(await compare()).toMatchObject({
    status: 0,
    output: expect.stringMatching(/^\| memory \(PSS\), MB \| \d+ \|$/m),
  });
});
