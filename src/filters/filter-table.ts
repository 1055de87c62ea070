// All filters, in one table: the protocol's ten (protocol-v4.md section 3.3), Tonearm's own, and those of Lavalink's
// plugins LavaDSPX and lavalink-filter-plugin (section 8.3). The checks of requests,
// the OpenAPI schemas, the defaults, the types that cross the bridge, the decision whether a filter is built, and the
// tables of docs/reference/filters.md are derived from it. Both threads.

import type {
  FilterEntry,
  ListFilter,
  Members,
  NumberFilter,
  NumberMember,
  ObjectFilter,
  ValuesOf,
} from "./filter-entry.ts";

/** There are fifteen bands; some clients send one more than once, and the last counts. */
const EQUALIZER_COUNT_MAX = 256;
/** A filter volume as near to 1 as this makes no audible difference; upstream leaves it out as well. */
const VOLUME_DIFFERENCE_MIN = 0.02;
/** Lines of a reverb, and their longest delay: they take at most 3 MiB of memory. */
const REVERB_LINES_MAX = 8;
/** Rate of a delay's modulation. */
const SWING = { min: 0, max: 14, isMinExcluded: true, unit: "Hz" } as const;

/**
 * An entry added here is checked, documented, echoed and typed; its effect on the audio is a `FilterDefinition` of
 * media/effects/filters.
 */
export const FILTER_TABLE = {
  /** By their names in the filters object, in the order in which they are listed, checked and echoed. */
  protocol: {
    volume: numberFilter(float("gain: 1 is unchanged, 0 is silence", { min: 0, max: 5 }), {
      isOff: (volume) => Math.abs(1 - volume) < VOLUME_DIFFERENCE_MIN,
    }),
    equalizer: listFilter(
      {
        band: {
          numberType: "integer",
          min: 0,
          max: 14,
          meaning: "25, 40, 63, 100, 160, 250, 400, 630 Hz, … 16 kHz",
        },
        gain: float("the band's factor is 1 + 4 × `gain`: -0.25 mutes it, 0 is flat", {
          defaultValue: 1,
          min: -0.25,
          max: 1,
        }),
      },
      { countMax: EQUALIZER_COUNT_MAX, isOff: (bands) => lastGains(bands).every((gain) => gain === 0) },
    ),
    karaoke: objectFilter(
      {
        level: floatShare(1, "share of the centre that is removed; 0 is off"),
        monoLevel: floatShare(1, "share of a band of the centre that is added back"),
        filterBand: float("centre frequency of that band", { defaultValue: 220, unit: "Hz" }),
        filterWidth: float("width of that band; 0 adds nothing back", { defaultValue: 100, min: 0, unit: "Hz" }),
      },
      { isOff: ({ level }) => level === 0 },
    ),
    timescale: objectFilter(
      {
        speed: factor("tempo, at the same pitch"),
        pitch: factor("pitch, at the same tempo"),
        rate: factor("both at once"),
      },
      { isOff: ({ speed, pitch, rate }) => speed * rate === 1 && pitch * rate === 1 },
    ),
    tremolo: objectFilter(
      {
        frequency: float("modulation of the volume", { defaultValue: 2, min: 0, isMinExcluded: true, unit: "Hz" }),
        depth: floatShare(0.5, "modulates down to 1 - `depth`; 0 is off"),
      },
      { isOff: ({ depth }) => depth === 0, isFreeWhenOff: true },
    ),
    vibrato: objectFilter(
      {
        frequency: float("modulation of the pitch", { ...SWING, defaultValue: 2 }),
        depth: floatShare(0.5, "a delay modulated over 2 ms at 1; 0 is off"),
      },
      { isOff: ({ depth }) => depth === 0, isFreeWhenOff: true },
    ),
    distortion: objectFilter({
      sinOffset: float("added to the sine of the sample", { defaultValue: 0 }),
      sinScale: float("factor of the sample for its sine", { defaultValue: 1 }),
      cosOffset: float("added to the cosine", { defaultValue: 0 }),
      cosScale: float("as `sinScale`, for the cosine", { defaultValue: 1 }),
      tanOffset: float("added to the tangent", { defaultValue: 0 }),
      tanScale: float("as `sinScale`, for the tangent", { defaultValue: 1 }),
      offset: float("added to the product of the three", { defaultValue: 0 }),
      scale: float("factor of the product", { defaultValue: 1 }),
    }),
    rotation: objectFilter({
      rotationHz: double("rotations per second, backwards below 0; 0 is off", { defaultValue: 0, unit: "Hz" }),
    }),
    channelMix: objectFilter({
      leftToLeft: floatShare(1, "share of the left input in the left output"),
      leftToRight: floatShare(0, "share of the left input in the right output"),
      rightToLeft: floatShare(0, "share of the right input in the left output"),
      rightToRight: floatShare(1, "share of the right input in the right output"),
    }),
    lowPass: objectFilter(
      {
        smoothing: float("each sample moves by 1 / `smoothing` of the difference; 1 and less is off", {
          defaultValue: 20,
        }),
      },
      { isOff: ({ smoothing }) => smoothing <= 1 },
    ),
  },

  /** By their names in `pluginFilters.tonearm`. */
  tonearm: {
    highPass: objectFilter(
      {
        frequency: double("cutoff, 12 dB per octave", {
          defaultValue: 80,
          min: 10,
          max: 20_000,
          unit: "Hz",
        }),
      },
      { isOff: () => false },
    ),
    echo: objectFilter(
      {
        delay: milliseconds("time between repeats, per channel", {
          defaultValue: 350,
          min: 1,
          max: 2000,
        }),
        decay: loop(0.4, "feedback of each repeat"),
        mix: share(0.35, "wet share; 0 is off"),
      },
      { isOff: isUnmixed },
    ),
    reverb: objectFilter(
      {
        roomSize: share(0.5, "decay by 60 dB in 0.4 s to 8 s, 1.8 s at 0.5"),
        damping: share(0.5, "faster decay of high frequencies"),
        width: share(1, "stereo width of the reverb; 0 is mono"),
        mix: share(0.3, "wet share; 0 is off"),
      },
      { isOff: isUnmixed },
    ),
    chorus: objectFilter(
      {
        frequency: swing(0.8, "modulation of the delay"),
        depth: share(0.5, "modulation by 4 ms to either side of `delay` at 1"),
        delay: milliseconds("delay of the second voice", { defaultValue: 20, min: 5, max: 50 }),
        mix: share(0.5, "wet share; 0 is off"),
      },
      { isOff: isUnmixed },
    ),
    phaser: objectFilter(
      {
        frequency: swing(0.5, "sweep of the two notches"),
        depth: share(0.7, "sweep by two octaves up and down at 1, around 330 and 1930 Hz"),
        feedback: loop(0.3, "sharpness"),
        mix: share(0.5, "wet share; notches are deepest at 0.5; 0 is off"),
      },
      { isOff: isUnmixed },
    ),
    flanger: objectFilter(
      {
        frequency: swing(0.25, "sweep of the comb"),
        depth: share(0.7, "sweep between `delay` and this share less"),
        delay: milliseconds("longest delay", { defaultValue: 3, min: 0.5, max: 15 }),
        feedback: loop(0.4, "sharpness"),
        mix: share(0.5, "wet share; 0 is off"),
      },
      { isOff: isUnmixed },
    ),
    compressor: objectFilter(
      {
        threshold: decibels("level above which peaks are reduced", { defaultValue: -18, min: -60, max: 0 }),
        ratio: double("dB above the threshold that become 1 dB", { defaultValue: 4, min: 1, max: 20 }),
        attack: milliseconds("time to 63 % of the reduction", { defaultValue: 5, min: 0.1, max: 500 }),
        release: milliseconds("time to 63 % of the recovery, 10 to 20 ms after the last peak", {
          defaultValue: 120,
          min: 1,
          max: 5000,
        }),
        knee: decibels("width of the soft knee, half of it below the threshold", { defaultValue: 6, min: 0, max: 24 }),
        gain: decibels("make-up gain", { defaultValue: 0, min: 0, max: 24 }),
      },
      { isOff: ({ ratio, gain }) => ratio === 1 && gain === 0 },
    ),
    loudness: objectFilter(
      {
        target: double("loudness of every track", { defaultValue: -14, min: -40, max: -5, unit: "LUFS" }),
        peak: double("true-peak limit", { defaultValue: -1, min: -9, max: 0, unit: "dBTP" }),
      },
      { isOff: () => false },
    ),
    fadeIn: fade("fade from silence at the start of a track; 0 is off"),
    fadeOut: fade("fade to silence at the end of a track; 0 is off"),
    crossfade: fade("fade from one track to the next; 0 is off"),
  },

  /**
   * Those of Lavalink's plugins. A name before a dot is its plugin's, as two have an `echo`: `LavalinkPluginFilters`
   * says where each stands in `pluginFilters`. All are off without members, as there.
   */
  lavalinkPlugins: {
    "high-pass": passFilter("attenuates below the cutoff, 12 dB per octave"),
    "low-pass": passFilter("attenuates above the cutoff, 12 dB per octave"),
    normalization: objectFilter(
      {
        maxAmplitude: float("highest sample; louder ones are scaled down; 0 is off", {
          defaultValue: 0,
          min: 0,
          max: 1,
        }),
        adaptive: { defaultValue: true, meaning: "by the highest peak so far, not that of each frame" },
      },
      { isOff: ({ maxAmplitude }) => maxAmplitude === 0 },
    ),
    "lavadspx.echo": objectFilter(
      { echoLength: repeat(), decay: decay() },
      { isOff: ({ echoLength, decay }) => echoLength === 0 || decay === 0 },
    ),
    "lavalink-filter-plugin.echo": objectFilter(
      { delay: repeat(), decay: decay() },
      { isOff: ({ delay, decay }) => delay === 0 || decay === 0 },
    ),
    "lavalink-filter-plugin.reverb": objectFilter(
      {
        delays: {
          item: float("", { min: 0, max: 1, unit: "s" }),
          countMax: REVERB_LINES_MAX,
          meaning: "time between the repeats of each comb; none is off",
        },
        gains: {
          item: float("", { min: 0, max: 1 }),
          countMax: REVERB_LINES_MAX,
          meaning: "feedback of each comb; one without is left out; above 0.95 as 0.95",
        },
      },
      { isOff: ({ delays, gains }) => delays.length === 0 || gains.length === 0 },
    ),
  },
} as const satisfies Readonly<
  Record<"protocol" | "tonearm" | "lavalinkPlugins", Readonly<Record<string, FilterEntry>>>
>;

/** The entry of an object without its members. */
interface ObjectOptions<Known extends Members> {
  /** Undefined: the filter is off where every member has its default. */
  readonly isOff?: (settings: ValuesOf<Known>) => boolean;
  readonly isFreeWhenOff?: boolean;
}

function objectFilter<const Known extends Members>(
  members: Known,
  { isOff = (settings) => isAtDefaults(members, settings), ...options }: ObjectOptions<Known> = {},
): ObjectFilter<Known> {
  return { kind: "object", members, isOff, ...options };
}

function listFilter<const Known extends Members>(
  members: Known,
  options: Pick<ListFilter<Known>, "countMax" | "isOff">,
): ListFilter<Known> {
  return { kind: "list", members, ...options };
}

function numberFilter(value: NumberMember, options: Pick<NumberFilter, "isOff">): NumberFilter {
  return { kind: "number", value, ...options };
}

type NumberOptions = Omit<NumberMember, "numberType" | "meaning">;

function float(meaning: string, options: NumberOptions): NumberMember {
  return { numberType: "float", ...options, meaning };
}

function double(meaning: string, options: NumberOptions): NumberMember {
  return { numberType: "double", ...options, meaning };
}

function floatShare(defaultValue: number, meaning: string): NumberMember {
  return float(meaning, { defaultValue, min: 0, max: 1 });
}

function factor(meaning: string): NumberMember {
  return double(meaning, { defaultValue: 1, min: 0, isMinExcluded: true });
}

function share(defaultValue: number, meaning: string): NumberMember {
  return double(meaning, { defaultValue, min: 0, max: 1 });
}

/** A feedback gain: at 1 the feedback would never fade out. */
function loop(defaultValue: number, meaning: string): NumberMember {
  return double(meaning, { defaultValue, min: 0, max: 0.95 });
}

function swing(defaultValue: number, meaning: string): NumberMember {
  return double(meaning, { ...SWING, defaultValue });
}

function milliseconds(meaning: string, options: Required<Pick<NumberMember, "defaultValue" | "min" | "max">>) {
  return double(meaning, { ...options, unit: "ms" });
}

function decibels(meaning: string, options: Required<Pick<NumberMember, "defaultValue" | "min" | "max">>) {
  return double(meaning, { ...options, unit: "dB" });
}

function fade(meaning: string) {
  return objectFilter(
    {
      duration: milliseconds(meaning, { defaultValue: 3000, min: 0, max: 30_000 }),
      curve: {
        defaultValue: "sine",
        choices: ["linear", "sine", "exponential"],
        meaning: "see [Fades](#fades)",
      },
    },
    { isOff: ({ duration }) => duration === 0 },
  );
}

/** Of LavaDSPX: a cutoff of 0 is off there. */
function passFilter(meaning: string) {
  return objectFilter(
    {
      cutoffFrequency: { numberType: "integer", defaultValue: 0, min: 0, unit: "Hz", meaning: `${meaning}; 0 is off` },
      boostFactor: float("gain after that", { defaultValue: 1 }),
    },
    { isOff: ({ cutoffFrequency }) => cutoffFrequency <= 0, isFreeWhenOff: true },
  );
}

function repeat(): NumberMember {
  return float("time between repeats; 0 is off", { defaultValue: 0, min: 0, max: 5, unit: "s" });
}

function decay(): NumberMember {
  return float("feedback of each repeat; 0 is off, above 0.95 as 0.95", { defaultValue: 0, min: 0, max: 1 });
}

function isUnmixed({ mix }: { readonly mix: number }): boolean {
  return mix === 0;
}

function isAtDefaults<Known extends Members>(members: Known, settings: ValuesOf<Known>): boolean {
  const values: Readonly<Record<string, unknown>> = settings;
  return Object.entries(members).every(([member, known]) => "item" in known || values[member] === known.defaultValue);
}

/** The gain of each named band; of several for one band the last counts. */
function lastGains(bands: readonly { readonly band: number; readonly gain: number }[]): readonly number[] {
  return [...new Map(bands.map(({ band, gain }) => [band, gain])).values()];
}
