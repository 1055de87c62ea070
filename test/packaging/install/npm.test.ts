// The path of a new user to the first audio, and to a node that serves: the packed tarball and npm, on the oldest
// Node.js and the newest.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeTone, pitchCents } from "../../../lab/listen/tone.ts";
import { readWav, writeWav } from "../../../lab/listen/wav.ts";
import { installNode, VERSIONS } from "../../support/install-node.mjs";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { Newcomer } from "./newcomer.ts";

/** The project's promise for the time to the first audio, installation included. */
const FIRST_AUDIO_MS_MAX = 60_000;
/** The limit on a machine, or with a registry, where npm alone takes longer than that promise. */
const NPM_TIMES_MAX = 3;
const TONE_HZ = 440;
const RATE_HZ = 48_000;
/** Limit of the tarball: 1.8 MB and 7.0 MB unpacked in 161 files, at the time of writing. */
const PACKED_BYTES_MAX = 2_000_000;
const UNPACKED_BYTES_MAX = 7_500_000;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

// Our own file.
const MANIFEST = JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, "utf8")) as Manifest;
const shelf = mkdtempSync(join(tmpdir(), "tonearm-packed-"));
let packed: Packed;

beforeAll(async () => {
  const packer = new Newcomer(join(process.execPath, ".."));
  // Built already; what `prepare` would do.
  const { status, output } = await packer.run("npm", [
    ...["pack", "--json", "--ignore-scripts", "--loglevel=silent", "--pack-destination", shelf, PROJECT_ROOT],
  ]);
  packer.close();
  if (status !== 0) throw new Error(output);
  // As npm has printed it.
  [packed] = JSON.parse(output) as [Packed];
});

afterAll(() => rmSync(shelf, { recursive: true, force: true }));

/** The files of the build that are needed at run time. */
const RUNS =
  /^dist\/(node\/(.*\.js|opus-encoder\/opus-encoder\.wasm|third-party-notices\.txt|dashboard\/.*)$|src\/plugin-api\/plugin\.|src\/media\/kernels\/[\w-]+\.(?:wasm|tables)$)/;

/** Found by no import: without it libopus encodes, at three times the CPU. */
const ENCODER = "dist/node/opus-encoder/opus-encoder.wasm";

test("the tarball is small: the programs and the files they read, nothing of the lab, the tests or the build", () => {
  const paths = packed.files.map(({ path }) => path);
  const isNeeded = (path: string): boolean =>
    RUNS.test(path) || !/^(dist|src|lab|test|docs|plugins\/(?!example\/)|node_modules)\/|\.map$/.test(path);
  expect(paths.filter((path) => !isNeeded(path))).toEqual([]);
  const read = ["LICENSE", "README.md", "deploy/systemd/tonearm.service"];
  for (const path of ["bin/tonearm.js", "dist/node/dashboard/index.html", ENCODER, ...read]) {
    expect(paths).toContain(path);
  }
  expect(packed.size).toBeLessThan(PACKED_BYTES_MAX);
  expect(packed.unpackedSize).toBeLessThan(UNPACKED_BYTES_MAX);
});

describe.each([VERSIONS.at(0) ?? "", VERSIONS.at(-1) ?? ""])("on Node.js %s", (version) => {
  const nodeFolder = mkdtempSync(join(tmpdir(), "tonearm-node-"));
  let nodeBin: string;
  const newcomers: Newcomer[] = [];
  const newcomer = (): Newcomer => {
    const one = new Newcomer(nodeBin);
    newcomers.push(one);
    return one;
  };

  beforeAll(() => {
    nodeBin = installNode(version, nodeFolder);
  });

  afterAll(() => {
    for (const one of newcomers) one.close();
    rmSync(nodeFolder, { recursive: true, force: true });
  });

  test("npx of the tarball plays a file within a minute, installation included", async () => {
    const someone = newcomer();
    const tone = makeTone({ frequencyHz: TONE_HZ, sampleRateHz: RATE_HZ, lengthSamples: RATE_HZ });
    await writeWav(join(someone.folder, "tone.wav"), { left: tone, right: tone, sampleRateHz: RATE_HZ });
    const demo = await someone.run("npx", [
      "--yes",
      `--package=${join(shelf, packed.filename)}`,
      "tonearm",
      "demo",
      "tone.wav",
    ]);
    expect(demo).toMatchObject({ status: 0, output: expect.stringMatching(/Discord's rules +none broken/) });
    expect(demo.output).not.toContain("EBADENGINE");
    const received = await readWav(join(someone.folder, "received.wav"));
    const middle = received.left.subarray(RATE_HZ / 4, (RATE_HZ * 3) / 4);
    expect(Math.abs(pitchCents(middle, TONE_HZ, RATE_HZ) ?? Number.NaN)).toBeLessThan(5);

    // The time that npm alone takes for the same packages, at the same time on the same machine.
    const { dependencies, optionalDependencies } = MANIFEST;
    const packages = Object.entries({ ...dependencies, ...optionalDependencies }).map((entry) => entry.join("@"));
    const control = await newcomer().run("npm", ["install", "--no-save", "--loglevel=error", ...packages]);
    expect(control).toMatchObject({ status: 0 });
    process.stdout.write(
      `\nNode.js ${version}: npx and a second of audio ${(demo.tookMs / 1000).toFixed(1)} s, ` +
        `npm install of the same packages ${(control.tookMs / 1000).toFixed(1)} s\n`,
    );
    expect(demo.tookMs).toBeLessThan(Math.max(FIRST_AUDIO_MS_MAX, NPM_TIMES_MAX * control.tookMs));
  });

  test("a global installation, without development packages and scripts, serves and closes in order", async () => {
    const someone = newcomer();
    const args = ["install", "--global", "--omit=dev", "--ignore-scripts", "--loglevel=error"];
    expect(await someone.run("npm", [...args, join(shelf, packed.filename)])).toMatchObject({ status: 0 });
    const tonearm = join(someone.globalBin, "tonearm");
    expect(await someone.run(tonearm, ["--version"])).toMatchObject({ status: 0, output: `${MANIFEST.version}\n` });

    const password = { LAVALINK_SERVER_PASSWORD: "nobody-guesses-it" };
    const doctor = await someone.start(tonearm, ["doctor", "--server.port=0"], password).ended;
    expect(doctor.output).toMatch(/^ok {4}encoder /m);
    const node = someone.start(tonearm, ["start", "--server.port=0"], password);
    const [, url] = await node.until(/listening on (http:\/\/127\.0\.0\.1:\d+)/);
    const answer = await fetch(`${url}/v4/info`, { headers: { authorization: "nobody-guesses-it" } });
    expect(await answer.json()).toMatchObject({
      version: { semver: expect.any(String) },
      sourceManagers: expect.arrayContaining(["http"]),
    });
    // A built-in plugin is started: its program is in the package, where the node looks for it.
    const reload = await fetch(`${url}/v4/tonearm/plugins/radio/reload`, {
      method: "POST",
      headers: { authorization: "nobody-guesses-it" },
    });
    expect(await reload.json()).toMatchObject({ state: "running" });
    node.child.kill("SIGTERM");
    expect(await node.ended).toMatchObject({
      status: 0,
      output: expect.stringMatching(/closing signal=SIGTERM[\s\S]*closed/),
    });

    const packages = join(someone.globalBin, "../lib/node_modules/tonearm/node_modules");
    expect(existsSync(join(packages, "undici"))).toBe(true);
    expect(Object.keys(MANIFEST.devDependencies).filter((name) => existsSync(join(packages, name)))).toEqual([]);
  });
});
