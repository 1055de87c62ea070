// When the sources of Apple Music and Deezer are on, and which options they get.

import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { PluginPlan } from "../../../src/plugin-host/manage/plugins.ts";
import { planPlugins } from "../../../src/plugin-host/plan/plugin-plans.ts";

function plans(text: string): readonly PluginPlan[] {
  const { config } = loadConfig({
    args: [],
    env: {},
    cwd: "/app",
    realPath: (path) => path,
    coreCount: 2,
    readFile: (path) => (path === "/app/application.yml" ? text : undefined),
  });
  return planPlugins(config, { cwd: "/nowhere", builtinFolder: new URL("file:///app/plugins/") });
}

test.each([
  ["{}", []],
  ["plugins.lavasrc.sources: { deezer: true, applemusic: false }", ["deezer"]],
  ["plugins.lavasrc.sources: { deezer: false, applemusic: true }", ["applemusic"]],
  ["plugins: { applemusic: { countryCode: de }, deezer: { enabled: true } }", ["deezer", "applemusic"]],
  ["plugins: { lavasrc: { sources: { deezer: true } }, deezer: { enabled: false } }", []],
  ["plugins.lavasrc.deezer: { arl: your deezer arl, formats: [MP3_128] }", []],
])("%s turns on %j", (text, names) => {
  const found = plans(text).filter(({ name }) => name === "deezer" || name === "applemusic");
  expect(found.map(({ name, problem }) => [name, problem])).toEqual(names.map((name) => [name, undefined]));
});

test("LavaSrc's options of Apple Music are taken over, and those of Deezer do not matter", () => {
  const found = plans(`plugins.lavasrc:
  sources: { deezer: true, applemusic: true }
  deezer: { masterDecryptionKey: your master key, arl: your deezer arl, formats: [FLAC] }
  applemusic:
    country-code: DE
    mediaAPIToken: your apple music api token
    albumLoadLimit: 2
    other: 1
`);
  const [deezer, apple] = ["deezer", "applemusic"].map((wanted) => found.find(({ name }) => name === wanted));
  expect([deezer?.problem, deezer?.optionsOf("deezer")]).toEqual([undefined, {}]);
  expect([apple?.problem, apple?.optionsOf("applemusic")]).toEqual([
    undefined,
    { countryCode: "DE", mediaAPIToken: "your apple music api token", albumLoadLimit: "2" },
  ]);
});
