// `tonearm canary` before stand-ins on loopback, one of which is broken: its table and its status. It never sees a real
// site here.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { canaryCommand } from "../../../lab/canary/command.ts";
import { BandcampSite } from "../../../lab/sites/bandcamp.ts";
import { GetyarnSite } from "../../../lab/sites/getyarn.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { BUILTIN_PLUGINS } from "../../../plugins/builtin.ts";
import { BUILTIN_FOLDER, TEST_ENTRIES } from "../../support/start-test-environment.ts";

const YARN = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";

let folder: string;
let soundcloud: SoundCloudSite;
let bandcamp: BandcampSite;
let getyarn: GetyarnSite;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "canary-"));
  soundcloud = await SoundCloudSite.start();
  soundcloud.addLabelTrack(50, "label");
  bandcamp = await BandcampSite.start();
  getyarn = await GetyarnSite.start();
  const tries = {
    soundcloud: {
      search: "scsearch:song",
      link: "https://soundcloud.com/stand-ins/song",
      more: [
        { link: "https://soundcloud.com/stand-ins/label", mayFailWith: "protected by DRM" },
        { search: "scsearch:song 5", options: { encryptedTracks: "hide" } },
        { search: "scsearch:song 5", mayFailWith: "protected by DRM" },
      ],
    },
    bandcamp: { search: "bcsearch:song", link: null },
    "getyarn.io": { link: YARN },
  };
  writeFileSync(join(folder, "tries.json"), JSON.stringify(tries));
  writeFileSync(join(folder, "application.yml"), "lavalink:\n  server:\n    password: of the operator\n");
});
afterAll(async () => {
  for (const site of [soundcloud, bandcamp, getyarn]) await site.close();
  rmSync(folder, { recursive: true });
});

/** Runs the canary with these arguments; the stand-ins replace the hosts of the sites. */
async function run(...args: readonly string[]): Promise<{ readonly status: number; readonly text: string }> {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  const hosts = { ...soundcloud.hosts, ...bandcamp.hosts, ...getyarn.hosts };
  const replaced = Object.entries(hosts).map(([host, url]) => `--tonearm.hosts.${host}=${url}`);
  const status = await canaryCommand([...args, ...replaced], {
    cwd: folder,
    env: {},
    write,
    writeError: write,
    pauseMs: 1100,
    nodeOptions: { ...TEST_ENTRIES, plugins: { builtinFolder: BUILTIN_FOLDER, builtins: BUILTIN_PLUGINS } },
  });
  return { status, text };
}

function askedCount(): number {
  return [soundcloud.server, bandcamp.site, getyarn.site].reduce((sum, { requests }) => sum + requests.length, 0);
}

it("the canary sends no requests without --yes", async () => {
  expect(await run("--only", "soundcloud")).toMatchObject({
    status: 2,
    text: expect.stringContaining("--yes is missing"),
  });
  expect(await run("--help")).toMatchObject({ status: 0, text: expect.stringContaining("tonearm canary --yes") });
  expect(askedCount()).toBe(0);
});

it("the canary reports each source's results and backends, and the error of a broken one", async () => {
  bandcamp.site.fail({ at: /./, outcome: { status: 500, text: "broken" } });
  const { status, text } = await run("--yes", "--only", "soundcloud,bandcamp,getyarn.io", "--tries", "tries.json");
  expect(status).toBe(1);
  expect(text).toMatch(/^With application\.yml\.\n/);
  expect(text).toMatch(/^SOURCE +TRIED +RESULT +TIME +BACKENDS$/m);
  expect(text).toMatch(/^soundcloud +search +scsearch:song +ok +\d+ ms.*\n {4}\d+ tracks, first Song 11$/m);
  expect(text).toMatch(/^soundcloud +link +https:\/\/soundcloud\.com\/stand-ins\/song +ok +\d+ ms.*\n {4}Song 11$/m);
  expect(text).toMatch(/^soundcloud +audio +of Song 11 +ok +\d+ ms.*\n {4}received 3\.0 s, the first after \d+ ms$/m);
  expect(text).toMatch(/^soundcloud .* ms +\S.*$/m);
  expect(text).toMatch(/^soundcloud +audio +of Song 50 +ok +\d+ ms.*\n {4}This track is protected by DRM/m);
  // With other options, and without them again.
  expect(text).toMatch(/^soundcloud +search +scsearch:song 5 +FAILED +\d+ ms.*\n {4}found nothing$/m);
  expect(text).toMatch(/^soundcloud +search +scsearch:song 5 +ok +\d+ ms/m);
  expect(text).toMatch(/^bandcamp +search +bcsearch:song +FAILED +\d+ ms.*\n {4}.*500/m);
  expect(text).toMatch(/^bandcamp +audio +skipped\n {4}there is no track to play$/m);
  expect(text).not.toMatch(/^bandcamp +link/m);
  expect(text).toMatch(/^getyarn\.io +audio +of It's "on" +ok/m);
  expect(text).toMatch(/\nFAILED: soundcloud \(search\), bandcamp \(search\)\n$/);
});

it("the canary exits with status 0 when nothing failed", async () => {
  const { status, text } = await run("--yes", "--only", "getyarn.io", "--tries", "tries.json");
  expect({ status, text }).toMatchObject({ status: 0, text: expect.stringMatching(/\nNothing failed\.\n$/) });
});

it("the canary reports a source whose plugin is off, and one with nothing to try", async () => {
  const args = ["--yes", "--only", "soundcloud,local", "--lavalink.server.sources.local=true"];
  const { status, text } = await run(...args, "--plugins.soundcloud.setTracksMax=many");
  expect(status).toBe(1);
  expect(text).toMatch(/^soundcloud +set-up +FAILED\n {4}its plugin is off: .*setTracksMax/m);
  expect(text).toMatch(/^local +search +skipped\n {4}nothing to try/m);
});

it("the canary refuses unknown sources and invalid arguments before it starts", async () => {
  const before = askedCount();
  const yes = ["--yes", "--only", "getyarn.io"];
  expect(await run("--yes", "--only", "nosuch")).toMatchObject({
    status: 2,
    text: expect.stringMatching(/unknown or disabled source: nosuch; enabled: soundcloud, bandcamp, .*http/),
  });
  for (const args of [["--no"], ["--tries", "nosuch.yml"], ["--server.port=here"], ["--config", "nosuch.yml"]])
    expect(await run(...yes, ...args)).toMatchObject({ status: 2, text: expect.stringMatching(/canary: .*/) });
  expect(askedCount()).toBe(before);
});
