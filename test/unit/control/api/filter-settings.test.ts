import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { ApiError } from "../../../../src/control/api/api-error.ts";
import { allowedFilters, checkedFilterSettings, filtersIn } from "../../../../src/control/api/filter-settings.ts";
import { filtersBody } from "../../../../src/control/protocol/filter-schemas.ts";
import type { FilterEntry, Members, NumberMember, ObjectFilter } from "../../../../src/filters/filter-entry.ts";
import { FILTER_TABLE } from "../../../../src/filters/filter-table.ts";
import type { ModuleFilter } from "../../../../src/filters/module-filters.ts";
import { parseJson } from "../../../../src/lib/json.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { randomFilters, randomFiltersBody } from "../../../support/random-filters.ts";

function settingsOf(text: string): unknown {
  return checkedFilterSettings(filtersBody.parse(parseJson(text)));
}

describe("filters", () => {
  test("filters are filled in with their defaults", () => {
    const body =
      '{"karaoke":{},"timescale":{},"tremolo":{},"vibrato":{},"distortion":{},"rotation":{},"channelMix":{},"lowPass":{}}';
    expect(settingsOf(body)).toEqual({
      karaoke: { level: 1, monoLevel: 1, filterBand: 220, filterWidth: 100 },
      timescale: { speed: 1, pitch: 1, rate: 1 },
      tremolo: { frequency: 2, depth: 0.5 },
      vibrato: { frequency: 2, depth: 0.5 },
      distortion: {
        sinOffset: 0,
        sinScale: 1,
        cosOffset: 0,
        cosScale: 1,
        tanOffset: 0,
        tanScale: 1,
        offset: 0,
        scale: 1,
      },
      rotation: { rotationHz: 0 },
      channelMix: { leftToLeft: 1, leftToRight: 0, rightToLeft: 0, rightToRight: 1 },
      lowPass: { smoothing: 20 },
    });
  });

  test("filters that are null or unknown are left out", () => {
    expect(settingsOf('{"karaoke":null,"echo":{"delay":1},"pluginFilters":{"wobble":{}},"timescale":null}')).toEqual(
      {},
    );
  });

  test("Tonearm's own filters are filled in from the table", () => {
    const names = Object.keys(FILTER_TABLE.tonearm);
    const body = { pluginFilters: { tonearm: Object.fromEntries(names.map((name) => [name, {}])), other: { a: 1 } } };
    const defaults = Object.entries(FILTER_TABLE.tonearm).map(([name, { members }]) => [
      name,
      Object.fromEntries(
        Object.entries<Members[string]>(members).map(([member, known]) => [
          member,
          "item" in known ? [] : known.defaultValue,
        ]),
      ),
    ]);
    expect(settingsOf(JSON.stringify(body))).toEqual({ pluginFilters: { tonearm: Object.fromEntries(defaults) } });
    expect(names).toHaveLength(11);
  });

  test("each of Tonearm's own filters can be switched off", () => {
    const namesIn = (text: string) => filtersIn(filtersBody.parse(parseJson(text)));
    expect(namesIn('{"volume":1,"pluginFilters":{"tonearm":{"echo":{}}}}')).toEqual(["volume", "tonearm"]);
    expect(namesIn('{"volume":1,"pluginFilters":{"other":{}}}')).toEqual(["volume"]);
  });

  test("filters of Lavalink's plugins are taken in both forms while they are on, and an echo by the member that says whose it is", () => {
    const dspx = '"high-pass":{"cutoffFrequency":80},"normalization":{"maxAmplitude":0.75,"adaptive":false}';
    const nested =
      '"lavalink-filter-plugin":{"echo":{"delay":4,"decay":0.5},"reverb":{"delays":[],"gains":[]}},"low-pass":{}';
    const body = `{"pluginFilters":{${dspx},"echo":{"echoLength":0.5,"decay":0.25},${nested}}}`;
    expect(settingsOf(body)).toEqual({
      pluginFilters: {
        "high-pass": { cutoffFrequency: 80, boostFactor: 1 },
        normalization: { maxAmplitude: 0.75, adaptive: false },
        echo: { echoLength: 0.5, decay: 0.25 },
        "lavalink-filter-plugin": { echo: { delay: 4, decay: 0.5 } },
      },
    });
    const flat = '{"pluginFilters":{"echo":{"delay":1,"decay":0.5},"reverb":{"delays":[0.5],"gains":[0.5]}}}';
    expect(settingsOf(flat)).toEqual({
      pluginFilters: { echo: { delay: 1, decay: 0.5 }, reverb: { delays: [0.5], gains: [0.5] } },
    });
    expect(filtersIn(filtersBody.parse(parseJson(body)))).toEqual([
      "high-pass",
      "low-pass",
      "normalization",
      "echo",
      "reverb",
    ]);
  });

  describe("of plugins", () => {
    const entry = (depth: NumberMember): ObjectFilter => ({ kind: "object", members: { depth }, isOff: () => false });
    const depth: NumberMember = { numberType: "double", defaultValue: 0.5, min: 0, max: 1, meaning: "x" };
    const plugin = "p";
    const known: Readonly<Record<string, ModuleFilter>> = {
      wobble: { plugin, entry: entry(depth), trouble: undefined },
      off: { plugin, entry: entry(depth), trouble: "the plugin p is off: no key" },
    };
    const leftOut: string[] = [];
    const moduleFilters = { find: (name: string) => known[name], onLeftOut: (name: string) => leftOut.push(name) };
    const bodyOf = (pluginFilters: string) => filtersBody.parse(parseJson(`{"pluginFilters":${pluginFilters}}`));
    const check = (pluginFilters: string) => checkedFilterSettings(bodyOf(pluginFilters), moduleFilters);

    test("the settings are filled in, and those that no plugin has are dropped", () => {
      expect(check('{"wobble":{"depth":"1","colour":2},"unknown":{"a":1}}')).toEqual({
        pluginFilters: { wobble: { depth: 1 } },
      });
      expect(check('{"wobble":{}}')).toEqual({ pluginFilters: { wobble: { depth: 0.5 } } });
      expect(check('{"wobble":null}')).toEqual({});
      expect(filtersIn(bodyOf('{"wobble":{},"unknown":{},"volume":1}'), moduleFilters)).toEqual(["wobble"]);
    });

    test("one that cannot be set is left out, whatever its settings, and the others are set", () => {
      expect(check('{"off":{"depth":9},"wobble":{}}')).toEqual({ pluginFilters: { wobble: { depth: 0.5 } } });
      expect(leftOut).toEqual(["off"]);
    });

    test.each([
      ['{"wobble":{"depth":2}}', "filters.pluginFilters.wobble.depth must be from 0 to 1, but is 2"],
      ['{"wobble":{"depth":[]}}', "filters.pluginFilters.wobble.depth: not a number"],
      ['{"wobble":7}', "filters.pluginFilters.wobble: "],
    ])("%s is refused", (body, message) => {
      expect(() => check(body)).toThrow(message);
    });
  });

  test.each([
    ['{"normalization":{"maxAmplitude":2}}', "filters.pluginFilters.normalization.maxAmplitude must be from 0 to 1"],
    ['{"echo":{"echoLength":9,"decay":0.5}}', "filters.pluginFilters.echo.echoLength must be from 0 to 5"],
    ['{"echo":{"delay":-1,"decay":0.5}}', "filters.pluginFilters.echo.delay must be from 0 to 5"],
    ['{"reverb":{"delays":[0.1,-1],"gains":[]}}', "filters.pluginFilters.reverb.delays[1] must be from 0 to 1"],
    [
      '{"lavalink-filter-plugin":{"echo":{"delay":1,"decay":7}}}',
      "filters.pluginFilters.lavalink-filter-plugin.echo.decay must be from 0 to 1",
    ],
  ])("filters of Lavalink's plugins out of range are refused: %s", (pluginFilters, message) => {
    expect(() => settingsOf(`{"pluginFilters":${pluginFilters}}`)).toThrow(message);
  });

  const HIGH_PASS = { "high-pass": { cutoffFrequency: 80, boostFactor: 1 } };
  const DELAY = { echo: { delay: 2, decay: 0.5 } };

  test.each([
    ['{"echo":{"echoLength":null,"delay":2,"decay":0.5}}', DELAY],
    ['{"echo":{"echoLength":0,"delay":2,"decay":0.5}}', DELAY],
    ['{"echo":{"echoLength":1,"delay":[],"decay":0.5}}', { echo: { echoLength: 1, decay: 0.5 } }],
    ['{"echo":{"echoLength":1,"delay":2,"decay":0.5}}', { echo: { echoLength: 1, decay: 0.5 } }],
    ['{"echo":{"delay":2,"decay":null}}', undefined],
    ['{"high-pass":{"cutoffFrequency":80,"boostFactor":null}}', HIGH_PASS],
    ['{"high-pass":{"cutoffFrequency":80.5}}', undefined],
    ['{"high-pass":true,"low-pass":[],"echo":1,"reverb":"x","lavalink-filter-plugin":7}', undefined],
    [
      '{"normalization":{"maxAmplitude":0.5,"adaptive":"yes"}}',
      { normalization: { maxAmplitude: 0.5, adaptive: true } },
    ],
    ['{"reverb":{"delays":null,"gains":{}}}', undefined],
    ['{"lavalink-filter-plugin":{"echo":{"delay":2,"decay":0.5},"reverb":false}}', { "lavalink-filter-plugin": DELAY }],
  ])("in filters of Lavalink's plugins, what is of another kind counts as absent: %s", (body, pluginFilters) => {
    expect(settingsOf(`{"pluginFilters":${body}}`)).toEqual(pluginFilters === undefined ? {} : { pluginFilters });
  });

  test.each([
    '{"pluginFilters":null}',
    '{"pluginFilters":{"tonearm":null}}',
    '{"pluginFilters":{"tonearm":{}}}',
    '{"pluginFilters":{"tonearm":{"echo":null,"wobble":{"depth":1}}}}',
  ])("Tonearm's own filters are left out: %s", (body) => {
    expect(settingsOf(body)).toEqual({});
  });

  test("Tonearm's own filters keep the members that were sent, and no unknown ones", () => {
    const body = '{"tonearm":{"echo":{"delay":"125.5","colour":3},"fadeIn":{"duration":0,"curve":"linear"}}}';
    expect(settingsOf(`{"pluginFilters":${body}}`)).toEqual({
      pluginFilters: {
        tonearm: { echo: { delay: 125.5, decay: 0.4, mix: 0.35 }, fadeIn: { duration: 0, curve: "linear" } },
      },
    });
  });

  test("filters are rounded to 32 bits, and doubles stay whole", () => {
    expect(settingsOf('{"volume":0.1,"timescale":{"speed":1.1,"pitch":1e-7,"rate":100000000.0}}')).toEqual({
      volume: 0.1,
      timescale: { speed: 1.1, pitch: 1e-7, rate: 1e8 },
    });
    expect(settingsOf('{"karaoke":{"level":0.3333333333,"filterBand":123456789}}')).toMatchObject({
      karaoke: { level: 0.33333334, filterBand: 123456792 },
    });
  });

  test("a band without a gain has the gain 1", () => {
    expect(settingsOf('{"equalizer":[{"band":1},{"band":"2","gain":"0.5"}]}')).toEqual({
      equalizer: [
        { band: 1, gain: 1 },
        { band: 2, gain: 0.5 },
      ],
    });
  });

  test("filters of depth 0 are off, whatever their other members", () => {
    expect(settingsOf('{"tremolo":{"depth":0,"frequency":0},"vibrato":{"depth":0,"frequency":99}}')).toEqual({
      tremolo: { depth: 0, frequency: 0 },
      vibrato: { depth: 0, frequency: 99 },
    });
  });

  test.each([
    ["volume", "0", "5", "-0.01", "5.01"],
    ["equalizer.band", "0", "14", "-1", "15"],
    ["equalizer.gain", "-0.25", "1", "-0.26", "1.01"],
    ["karaoke.level", "0", "1", "-0.01", "1.01"],
    ["karaoke.monoLevel", "0", "1", "-0.01", "1.01"],
    ["karaoke.filterWidth", "0", "1000", "-0.01", "-1"],
    ["timescale.speed", "0.001", "100", "0", "-1"],
    ["timescale.pitch", "0.001", "100", "0", "-1"],
    ["timescale.rate", "0.001", "100", "0", "-1"],
    ["tremolo.frequency", "0.001", "100", "0", "-1"],
    ["tremolo.depth", "0", "1", "-0.01", "1.01"],
    ["vibrato.frequency", "0.001", "14", "0", "14.01"],
    ["vibrato.depth", "0", "1", "-0.01", "1.01"],
    ["channelMix.leftToRight", "0", "1", "-0.01", "1.01"],
  ])("%s goes from %s to %s, not to %s or %s", (path, ...[low = "", high = "", below = "", above = ""]) => {
    for (const value of [low, high]) expect(() => settingsOf(bodyFor(path, value))).not.toThrow();
    for (const value of [below, above]) expect(() => settingsOf(bodyFor(path, value))).toThrow(`but is ${value}`);
  });

  test.each(numberMembers())("$path goes from $min to $max", ({ path, min, max, isMinExcluded = false }) => {
    const full = `filters.pluginFilters.tonearm.${path}`;
    const range = isMinExcluded ? `greater than ${min} and at most ${max}` : `from ${min} to ${max}`;
    const setTo = (value: number) => () => settingsOf(`{"pluginFilters":{"tonearm":${bodyFor(path, String(value))}}}`);
    for (const value of [isMinExcluded ? min + 0.001 : min, max]) expect(setTo(value)).not.toThrow();
    for (const value of [isMinExcluded ? min : min - 0.01, max + 0.01]) {
      expect(setTo(value)).toThrow(`${full} must be ${range}, but is ${value}`);
    }
  });

  test.each([
    '{"volume":null}',
    '{"equalizer":null}',
    '{"equalizer":[{"gain":1}]}',
    '{"timescale":{"speed":null}}',
    '{"karaoke":"x"}',
    '{"karaoke":[]}',
    '{"pluginFilters":[]}',
    '{"pluginFilters":{"tonearm":5}}',
    '{"pluginFilters":{"tonearm":{"echo":true}}}',
    '{"pluginFilters":{"tonearm":{"echo":{"delay":null}}}}',
    '{"pluginFilters":{"tonearm":{"fadeOut":{"curve":"round"}}}}',
    '{"volume":"NaN"}',
    '{"volume":1e39}',
    '{"volume":true}',
    '{"equalizer":[{"band":1.0}]}',
  ])("%s is of the wrong type", (body) => {
    expect(filtersBody.safeParse(parseJson(body)).success).toBe(false);
  });
});

type NestedMember = NumberMember & { readonly path: string; readonly min: number; readonly max: number };

function numberMembers(): readonly NestedMember[] {
  return Object.entries(FILTER_TABLE.tonearm).flatMap(([filter, { members }]) =>
    Object.entries<Members[string]>(members).flatMap(([name, member]) =>
      !("numberType" in member) ? [] : [{ min: 0, max: 0, ...member, path: `${filter}.${name}` }],
    ),
  );
}

function bodyFor(path: string, value: string): string {
  const [filter, member] = path.split(".");
  if (member === undefined) return `{"${filter}":${value}}`;
  if (filter === "equalizer") return `{"equalizer":[{"band":1,"gain":0,"${member}":${value}}]}`;
  return `{"${filter}":{"${member}":${value}}}`;
}

describe("filters without those that may not be used", () => {
  const echo = { delay: 1, decay: 0.5 };
  const filters = {
    volume: 0.5,
    tremolo: { frequency: 2, depth: 0.5 },
    pluginFilters: {
      tonearm: { highPass: { frequency: 80 } },
      echo,
      "lavalink-filter-plugin": { echo },
      wobble: { a: 1 },
    },
  };
  const without = (disabled: readonly string[], allowed?: readonly string[]) =>
    allowedFilters<object>(filters, {
      disabledFilters: new Set(disabled),
      limits: { filters: allowed && new Set(allowed) },
    });
  const { tonearm, wobble, ...others } = filters.pluginFilters;

  test("those that are switched off are left out, wherever a client has put them", () => {
    expect(without(["volume", "echo"])).toEqual({ tremolo: filters.tremolo, pluginFilters: { tonearm, wobble } });
    expect(without(["tonearm", "wobble"])).toEqual({ ...filters, pluginFilters: others });
    expect(without(["volume", "tremolo", "tonearm", "echo", "wobble"])).toEqual({});
  });

  test("those that a key may not use are left out", () => {
    expect(without([], ["tremolo", "wobble"])).toEqual({ tremolo: filters.tremolo, pluginFilters: { wobble } });
    expect(without(["wobble"], ["wobble"])).toEqual({});
  });

  test("they are the same object when all may be used", () => {
    expect(without(["karaoke"])).toBe(filters);
    expect(without([], ["volume", "tremolo", "tonearm", "echo", "wobble"])).toBe(filters);
  });

  test("what is left is what a request without them would have set", () => {
    const seed = fuzzSeed();
    const random = seededRandom(seed);
    for (let count = 0; count < 500; count++) {
      const given = randomFilters(random);
      const names = filtersIn(filtersBody.parse(parseJson(JSON.stringify(given))));
      const disabledFilters = new Set(names.filter(() => random() < 0.3));
      const left = allowedFilters(given, { disabledFilters, limits: { filters: undefined } });
      expect(filtersIn(filtersBody.parse(parseJson(JSON.stringify(left)))), `seed ${seed}`).toEqual(
        names.filter((name) => !disabledFilters.has(name)),
      );
      expect(disabledFilters.size === 0, `seed ${seed}`).toBe(left === given);
    }
  });
});

test("any body is refused, or normalised to settings that audio threads may trust: complete, in range, no more", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seededRandom(seed);
  let taken = 0;
  for (let object = 0; object < 5000; object++) {
    const text = JSON.stringify(randomFiltersBody(random));
    const body = filtersBody.safeParse(parseJson(text));
    if (!body.success) continue;
    try {
      const { pluginFilters, ...settings } = checkedFilterSettings(body.data);
      expectTrusted(settings, FILTER_TABLE.protocol);
      expectTrusted(pluginFilters?.tonearm ?? {}, FILTER_TABLE.tonearm);
      const {
        tonearm: _,
        echo = {},
        reverb = {},
        "lavalink-filter-plugin": nested = {},
        ...flat
      } = pluginFilters ?? {};
      const { lavalinkPlugins } = FILTER_TABLE;
      const named = { "lavalink-filter-plugin.echo": {}, "lavalink-filter-plugin.reverb": reverb, "lavadspx.echo": {} };
      const isDelay = "delay" in echo;
      named[isDelay ? "lavalink-filter-plugin.echo" : "lavadspx.echo"] = echo;
      for (const settings of [flat, named]) expectTrusted(withoutEmpty(settings), lavalinkPlugins);
      expectTrusted(nested, {
        echo: lavalinkPlugins["lavalink-filter-plugin.echo"],
        reverb: lavalinkPlugins["lavalink-filter-plugin.reverb"],
      });
      taken += 1;
    } catch (error) {
      if (!(error instanceof ApiError)) throw new Error(`seed ${seed}: ${text}`, { cause: error });
    }
  }
  expect(taken).toBeGreaterThan(500);
});

function withoutEmpty(filters: object): object {
  return Object.fromEntries(Object.entries(filters).filter(([, settings]) => Object.keys(settings).length > 0));
}

function expectTrusted(settings: object, table: Readonly<Record<string, FilterEntry>>): void {
  for (const [name, value] of Object.entries(settings)) {
    const entry = table[name];
    if (entry === undefined) throw new Error(`${name} is not known`);
    if (entry.kind === "number") expectNumber(entry.value, value);
    else if (entry.kind === "list") for (const item of value) expectMembers(entry.members, item);
    else expectMembers(entry.members, value, entry.isFreeWhenOff === true && entry.isOff(value));
  }
}

function expectMembers(members: Members, values: Readonly<Record<string, unknown>>, isFree = false): void {
  expect(Object.keys(values).toSorted()).toEqual(Object.keys(members).toSorted());
  for (const [name, member] of Object.entries(members)) {
    const value = values[name];
    if ("choices" in member) expect(member.choices).toContain(value);
    else if ("item" in member) for (const item of value as readonly unknown[]) expectNumber(member.item, item);
    else if (!("numberType" in member)) expect([true, false]).toContain(value);
    else expectNumber(isFree ? { ...member, min: -Infinity, max: Infinity } : member, value);
  }
}

function expectNumber(member: NumberMember, value: unknown): void {
  const { min = -Infinity, max = Infinity, isMinExcluded = false, numberType } = member;
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`${value} is no number`);
  expect(value).toBeLessThanOrEqual(max);
  expect(value).toBeGreaterThanOrEqual(min);
  if (isMinExcluded) expect(value).not.toBe(min);
  if (numberType === "integer") expect(Number.isInteger(value)).toBe(true);
}
