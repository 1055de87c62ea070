// Filters: defaults, echoed values, and which update replaces which filters.

import { type Check, checksOf } from "../workbench/check.ts";
import { exactly, expectMatch, oneOf } from "../workbench/expectation.ts";
import { expectError, PLAYER_STATE } from "../workbench/shapes.ts";

/** Each filter as sent, and as it must be returned with every member. */
const ECHOES: readonly (readonly [name: string, sent: unknown, echoed: unknown])[] = [
  ["volume", 0.5, 0.5],
  ["equalizer", [{ band: 0, gain: 0.25 }], [exactly({ band: 0, gain: 0.25 })]],
  ["karaoke", {}, exactly({ level: 1, monoLevel: 1, filterBand: 220, filterWidth: 100 })],
  ["karaoke", { filterBand: 300 }, exactly({ level: 1, monoLevel: 1, filterBand: 300, filterWidth: 100 })],
  ["timescale", {}, exactly({ speed: 1, pitch: 1, rate: 1 })],
  ["timescale", { speed: 1.25 }, exactly({ speed: 1.25, pitch: 1, rate: 1 })],
  ["tremolo", {}, exactly({ frequency: 2, depth: 0.5 })],
  ["tremolo", { depth: 0.25 }, exactly({ frequency: 2, depth: 0.25 })],
  ["vibrato", {}, exactly({ frequency: 2, depth: 0.5 })],
  ["rotation", {}, exactly({ rotationHz: 0 })],
  ["rotation", { rotationHz: 0.25 }, exactly({ rotationHz: 0.25 })],
  [
    "distortion",
    { sinScale: 0.5 },
    exactly({ sinOffset: 0, sinScale: 0.5, cosOffset: 0, cosScale: 1, tanOffset: 0, tanScale: 1, offset: 0, scale: 1 }),
  ],
  ["channelMix", {}, exactly({ leftToLeft: 1, leftToRight: 0, rightToLeft: 0, rightToRight: 1 })],
  ["lowPass", {}, exactly({ smoothing: 20 })],
];

const NULLABLE = [
  "karaoke",
  "timescale",
  "tremolo",
  "vibrato",
  "rotation",
  "distortion",
  "channelMix",
  "lowPass",
] as const;

export const filterChecks: readonly Check[] = [
  ...ECHOES.flatMap(([name, sent, echoed]) =>
    checksOf("filters", [
      [
        `${name} ${JSON.stringify(sent)} is returned with every member`,
        "sheet 3.3",
        async (bench) => {
          const { filters } = await (await bench.player()).update({ filters: { [name]: sent } });
          expectMatch(filters, exactly({ [name]: echoed }), "filters");
        },
      ],
    ]),
  ),
  ...NULLABLE.flatMap((name) =>
    checksOf("filters", [
      [
        `${name} null is the same as absent`,
        "sheet 3.3",
        async (bench) => {
          const { filters } = await (await bench.player()).update({ filters: { [name]: null } });
          expectMatch(filters[name], oneOf(undefined, null), `filters.${name}`);
        },
      ],
    ]),
  ),
  ...checksOf("filters", [
    [
      "a band without gain has gain 1",
      "sheet 3.3",
      async (bench) => {
        const { filters } = await (await bench.player()).update({ filters: { equalizer: [{ band: 3 }] } });
        expectMatch(filters.equalizer, [exactly({ band: 3, gain: 1 })], "filters.equalizer");
      },
    ],
    [
      "filters replace all filters from before",
      "spec Limits",
      async (bench) => {
        const player = await bench.player();
        await player.update({ filters: { volume: 0.5, tremolo: {} } });
        const { filters } = await player.update({ filters: { lowPass: { smoothing: 5 } } });
        expectMatch(filters, exactly({ lowPass: { smoothing: 5 } }), "filters");
      },
    ],
    [
      "filters {} clears all filters",
      "sheet 2.6",
      async (bench) => {
        const player = await bench.player();
        await player.update({ filters: { volume: 0.5, tremolo: {} } });
        expectMatch((await player.update({ filters: {} })).filters, exactly({}), "filters");
      },
    ],
    [
      "an update without filters keeps the filters",
      "sheet 2",
      async (bench) => {
        const player = await bench.player();
        await player.update({ filters: { volume: 0.5 } });
        expectMatch((await player.update({ volume: 90 })).filters, exactly({ volume: 0.5 }), "filters");
      },
    ],
    [
      "several filters at once",
      "sheet 3.3",
      async (bench) => {
        const filters = { volume: 0.5, karaoke: {}, rotation: { rotationHz: 0.2 } };
        const names = Object.keys((await (await bench.player()).update({ filters })).filters).sort();
        expectMatch(names, ["karaoke", "rotation", "volume"], "names");
      },
    ],
    [
      "names that no filter has are dropped",
      "sheet 3.3",
      async (bench) => {
        const { filters } = await (await bench.player()).update({ filters: { nonsense: { a: 1 }, volume: 1 } });
        expectMatch(filters, exactly({ volume: 1 }), "filters");
      },
    ],
    [
      "plugin filters that no plugin has are dropped",
      "sheet 3.3",
      async (bench) => {
        const filters = { pluginFilters: { nosuchfilter: { a: 1 } } };
        const echoed = (await (await bench.player()).update({ filters })).filters;
        expectMatch(echoed.pluginFilters, oneOf(undefined, exactly({})), "filters.pluginFilters");
      },
    ],
    [
      "a filter of the wrong type is 400",
      "sheet 1.4",
      async (bench) => expectError(await (await bench.player()).patch({ filters: { tremolo: 5 } }), 400),
    ],
    [
      "a member of the wrong type is 400",
      "sheet 1.4",
      async (bench) => expectError(await (await bench.player()).patch({ filters: { tremolo: { depth: "x" } } }), 400),
    ],
    [
      "filters send one playerUpdate, also without a track",
      "sheet 2.7 step 9",
      async (bench) => {
        const player = await bench.player();
        await player.update({ filters: { volume: 0.5 } });
        await player.session.ping();
        expectMatch(player.updates, [exactly({ op: "playerUpdate", guildId: player.guildId, state: PLAYER_STATE })]);
      },
    ],
    [
      "filters can be set while music plays",
      "sheet 3.3",
      async (bench) => {
        const player = await bench.connectedPlayer();
        await player.play("tone.wav");
        await player.update({
          filters: { timescale: { speed: 1.5 }, lowPass: {}, karaoke: {}, equalizer: [{ band: 1 }] },
        });
        const moved = await player.untilUpdate(({ position }) => position > 1000, "a position after the filters");
        expectMatch(moved.state.connected, true, "connected");
        expectMatch(player.eventNames, ["TrackStart"], "events");
      },
      "media",
      "voice",
    ],
  ]),
];
