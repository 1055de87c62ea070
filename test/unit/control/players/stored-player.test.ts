import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { PlayerIntent } from "../../../../src/control/players/player-intent.ts";
import { readStoredPlayer, storedPlayerOf, storedTracksOf } from "../../../../src/control/players/stored-player.ts";
import { parseJson, plainJson, stringifyJson } from "../../../../src/lib/json.ts";
import { randomFilters } from "../../../support/random-filters.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const MIRROR = {
  track: buildTrack({ sourceName: "soundcloud", length: 9223372036854775807n }),
  provider: "ytsearch:%QUERY%",
  score: 0.875,
  reasons: ["isrc", "title"],
  failure: undefined,
};
const VOICE = {
  credentials: { token: "t", endpoint: "voice.example:443", sessionId: "s", channelId: "18446744073709551615" },
  isClosed: false,
};
const TRACK = { track: buildTrack(), positionMs: 1234.5, epochMs: 1_700_000_000_000, endMs: undefined };
const PLAYER: PlayerIntent = { track: undefined, volume: 100, filters: {}, isPaused: false, voice: undefined };
const FULL: PlayerIntent = {
  track: { ...TRACK, mirror: { ...MIRROR, failure: "the video is private" }, rate: 1.25, endMs: 20_000 },
  volume: 0,
  filters: { volume: 0.5, pluginFilters: { tonearm: { highPass: { frequency: 80 } } } },
  isPaused: true,
  voice: VOICE,
};

/** As a store keeps it: a text. */
function throughText(stored: unknown): unknown {
  return plainJson(parseJson(stringifyJson(stored)));
}

function roundTrip(intent: PlayerIntent): PlayerIntent | undefined {
  return readStoredPlayer(
    throughText(storedPlayerOf(intent)),
    intent.track && throughText(storedTracksOf(intent.track)),
  );
}

describe("a player that is stored and read again", () => {
  const cases: readonly (readonly [string, PlayerIntent])[] = [
    ["a new player", PLAYER],
    ["everything", FULL],
    ["a track without a rate", { ...PLAYER, track: TRACK }],
    ["a track that stands still", { ...PLAYER, track: { ...TRACK, rate: 0 } }],
    ["a mirror of a source without audio", { ...PLAYER, track: { ...TRACK, mirror: MIRROR } }],
    ["user data", { ...PLAYER, track: { ...TRACK, track: { ...buildTrack(), userData: { a: [1n << 60n] } } } }],
    [
      "a closed connection without a channel",
      {
        ...PLAYER,
        voice: { credentials: { ...VOICE.credentials, channelId: undefined }, isClosed: true },
      },
    ],
    [
      "filters of plugins",
      {
        ...PLAYER,
        filters: { pluginFilters: { "plugin:echo": { on: true, wet: 0.5, mode: "x" } } } as PlayerIntent["filters"],
      },
    ],
  ];

  test.each(cases)("it is the same: %s", (_name, intent) => {
    expect(roundTrip(intent)).toStrictEqual(intent);
  });

  test("it has the same filters, in the same order, whatever they are", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = seededRandom(seed);
    for (let count = 0; count < 500; count++) {
      const filters = randomFilters(random);
      const read = roundTrip({ ...PLAYER, filters })?.filters;
      expect(read, `seed ${seed}`).toEqual(filters);
      expect(JSON.stringify(read), `seed ${seed}`).toBe(JSON.stringify(filters));
    }
  });
});

describe("a player that is read from elsewhere", () => {
  const stored = throughText(storedPlayerOf(FULL)) as { track: object; voice: object };
  const tracks = throughText(FULL.track && storedTracksOf(FULL.track)) as { mirror: object };
  const track = (change: object) => ({ track: { ...stored.track, ...change } });
  const voice = (change: object) => ({ voice: { ...stored.voice, ...change } });
  const { mirror } = tracks;
  const tonearm = (filters: object) => ({ filters: { pluginFilters: { tonearm: filters } } });
  const tremolo = (depth: number, frequency: number) => ({ filters: { tremolo: { frequency, depth } } });

  const wrong: readonly object[] = [
    { volume: -1 },
    { volume: 1001 },
    { volume: "100" },
    { volume: undefined },
    { isPaused: 0 },
    { isPaused: undefined },
    { track: null },
    { track: 1 },
    track({ positionMs: -1 }),
    track({ positionMs: undefined }),
    track({ positionMs: Number.NaN }),
    track({ epochMs: "1" }),
    track({ epochMs: Number.POSITIVE_INFINITY }),
    track({ rate: -1 }),
    track({ rate: null }),
    track({ endMs: null }),
    { voice: null },
    voice({ token: 1 }),
    voice({ endpoint: undefined }),
    voice({ sessionId: null }),
    voice({ channelId: null }),
    voice({ channelId: "../x" }),
    voice({ isClosed: undefined }),
    { filters: undefined },
    { filters: [] },
    { filters: { wobble: {} } },
    { filters: { volume: 5.01 } },
    { filters: { volume: "1" } },
    { filters: { equalizer: [{ band: 15, gain: 0 }] } },
    { filters: { equalizer: [{ band: 1, gain: 1.01 }] } },
    { filters: { equalizer: [{ band: 1.5, gain: 0 }] } },
    { filters: { equalizer: Array.from({ length: 257 }, () => ({ band: 1, gain: 0 })) } },
    { filters: { timescale: { speed: 1, pitch: 1 } } },
    tremolo(0.5, 0),
    tonearm({ highPass: { frequency: 9 } }),
    tonearm({ highPass: { frequency: 80, more: 1 } }),
    tonearm({ wobble: {} }),
    { filters: { pluginFilters: { "plugin:echo": { nested: {} } } } },
    { filters: { pluginFilters: { "plugin:echo": 1 } } },
    { filters: { pluginFilters: { "plugin:echo": null } } },
    { filters: plainJson(parseJson('{ "pluginFilters": { "__proto__": { "nested": {} } } }')) },
    { filters: plainJson(parseJson('{ "__proto__": { "volume": 9 } }')) },
  ];

  test("it is none when any member is wrong", () => {
    expect(readStoredPlayer(stored, tracks)).toStrictEqual(FULL);
    for (const change of wrong)
      expect(readStoredPlayer({ ...stored, ...change }, tracks), stringifyJson(change)).toBeUndefined();
    for (const value of [undefined, null, 1, "x", []]) expect(readStoredPlayer(value, tracks)).toBeUndefined();
  });

  test("it is none when any member of its tracks is wrong, or they are missing", () => {
    const wrongTracks: readonly object[] = [
      { track: undefined },
      { track: { encoded: "" } },
      { mirror: null },
      { mirror: { ...mirror, track: null } },
      { mirror: { ...mirror, provider: 1 } },
      { mirror: { ...mirror, score: "1" } },
      { mirror: { ...mirror, reasons: [1] } },
      { mirror: { ...mirror, reasons: "isrc" } },
      { mirror: { ...mirror, failure: null } },
    ];
    for (const change of wrongTracks)
      expect(readStoredPlayer(stored, { ...tracks, ...change }), stringifyJson(change)).toBeUndefined();
    for (const value of [undefined, null, 1, "x", []]) expect(readStoredPlayer(stored, value)).toBeUndefined();
  });

  test("filters at the ends of their ranges, and those that are off and free, are right", () => {
    const right = [
      { filters: { volume: 5, equalizer: [{ band: 14, gain: -0.25 }] } },
      { filters: { equalizer: Array.from({ length: 256 }, () => ({ band: 0, gain: 1 })) } },
      tremolo(0, -7),
      tonearm({ highPass: { frequency: 10 } }),
    ];
    for (const change of right) expect(readStoredPlayer({ ...stored, ...change }, tracks)).toMatchObject(change);
  });
});
