import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { activeSettingsIn, type FilterName, settingsIn } from "../../../src/filters/filter-settings.ts";
import { FILTER_TABLE } from "../../../src/filters/filter-table.ts";
import { filterSettings } from "../../support/filter-settings.ts";
import { withFilterTables } from "../../support/render-filter-tables.ts";

const PAGE = new URL("../../../docs/reference/filters.md", import.meta.url);
const PROTOCOL = Object.keys(FILTER_TABLE.protocol);
const TONEARM = Object.keys(FILTER_TABLE.tonearm);
const LAVALINK_PLUGINS = Object.keys(FILTER_TABLE.lavalinkPlugins);
const NAMES = [...PROTOCOL, ...TONEARM, ...LAVALINK_PLUGINS] as FilterName[]; // the keys that the type names

test("docs/reference/filters.md has its tables (fix it with: npx vitest run test/unit/filters --update)", async () => {
  await expect(withFilterTables(readFileSync(PAGE, "utf8"))).toMatchFileSnapshot(PAGE.pathname);
});

test("no two filters have the same name, and none has the name of a container of filters", () => {
  expect(new Set([...NAMES, "pluginFilters", "tonearm"]).size).toBe(NAMES.length + 2);
});

describe("filter settings of a client", () => {
  const all = Object.fromEntries(PROTOCOL.filter((name) => name !== "volume").map((name) => [name, {}]));
  const tonearm = Object.fromEntries(TONEARM.map((name) => [name, {}]));
  const filters = filterSettings({ ...all, volume: 1, equalizer: [], pluginFilters: { tonearm } });

  test("the settings of a filter are found by name, at both levels of the object", () => {
    expect(settingsIn(filters, "volume")).toBe(1);
    expect(settingsIn(filters, "tremolo")).toEqual({ frequency: 2, depth: 0.5 });
    expect(settingsIn(filters, "highPass")).toEqual({ frequency: 80 });
    for (const name of [...PROTOCOL, ...TONEARM] as FilterName[]) {
      expect(settingsIn(filters, name), name).toBeDefined();
      expect(settingsIn({}, name), name).toBeUndefined();
      expect(settingsIn({ pluginFilters: { tonearm: {} } }, name), name).toBeUndefined();
    }
  });

  test("every filter with its defaults filled in changes the audio, except those whose defaults are off", () => {
    const off = NAMES.filter((name) => activeSettingsIn(filters, name) === undefined);
    expect(off).toEqual([
      "volume",
      "equalizer",
      "timescale",
      "distortion",
      "rotation",
      "channelMix",
      ...LAVALINK_PLUGINS,
    ]);
  });

  test.each([
    ["volume", 0.985, 0.975],
    [
      "equalizer",
      [
        { band: 1, gain: 1 },
        { band: 1, gain: 0 },
      ],
      [
        { band: 1, gain: 0 },
        { band: 1, gain: 1 },
      ],
    ],
    ["karaoke", { level: 0 }, { level: 0.1 }],
    ["timescale", { speed: 0.5, pitch: 0.5, rate: 2 }, { speed: 0.5, rate: 2 }],
    ["tremolo", { depth: 0, frequency: -1 }, { depth: 0.1 }],
    ["vibrato", { depth: 0, frequency: 99 }, { depth: 0.1 }],
    ["distortion", { scale: 1 }, { tanOffset: 0.1 }],
    ["rotation", { rotationHz: 0 }, { rotationHz: -0.1 }],
    ["channelMix", { leftToLeft: 1 }, { leftToRight: 0.1 }],
    ["lowPass", { smoothing: 1 }, { smoothing: 1.1 }],
  ] as const)("%s is off with %j and on with %j", (name, off, on) => {
    expect(activeSettingsIn(filterSettings({ [name]: off }), name)).toBeUndefined();
    expect(activeSettingsIn(filterSettings({ [name]: on }), name)).toBeDefined();
  });

  test.each([
    ["high-pass", "high-pass", { cutoffFrequency: 0 }, { cutoffFrequency: 80 }],
    ["low-pass", "low-pass", {}, { cutoffFrequency: 80, boostFactor: 2 }],
    ["normalization", "normalization", { adaptive: true }, { maxAmplitude: 0.5 }],
    ["lavadspx.echo", "echo", { echoLength: 1 }, { echoLength: 1, decay: 0.5 }],
    ["lavalink-filter-plugin.echo", "echo", { delay: 0, decay: 0.5 }, { delay: 1, decay: 0.5 }],
    ["lavalink-filter-plugin.reverb", "reverb", { delays: [0.1] }, { delays: [0.1], gains: [0.1] }],
  ] as const)("%s, sent as %s, is off with %j and on with %j", (name, sent, off, on) => {
    const settings = (members: object) => filterSettings({ pluginFilters: { [sent]: members } });
    expect(activeSettingsIn(settings(off), name)).toBeUndefined();
    expect(activeSettingsIn(settings(on), name)).toBeDefined();
    const nested = (members: object) =>
      filterSettings({ pluginFilters: { "lavalink-filter-plugin": { [sent]: members } } });
    if (name.startsWith("lavalink-filter-plugin.")) expect(activeSettingsIn(nested(on), name)).toBeDefined();
  });

  test.each([
    ["echo", { mix: 0 }, { mix: 0.01 }],
    ["reverb", { mix: 0 }, { mix: 0.01 }],
    ["chorus", { mix: 0 }, { mix: 0.01 }],
    ["phaser", { mix: 0 }, { mix: 0.01 }],
    ["flanger", { mix: 0 }, { mix: 0.01 }],
    ["compressor", { ratio: 1 }, { ratio: 1, gain: 0.1 }],
    ["fadeIn", { duration: 0 }, { duration: 1 }],
    ["fadeOut", { duration: 0 }, { duration: 1 }],
    ["crossfade", { duration: 0 }, { duration: 1 }],
  ] as const)("%s is off with %j and on with %j", (name, off, on) => {
    const own = (settings: object) => filterSettings({ pluginFilters: { tonearm: { [name]: settings } } });
    expect(activeSettingsIn(own(off), name)).toBeUndefined();
    expect(activeSettingsIn(own(on), name)).toBeDefined();
  });
});
