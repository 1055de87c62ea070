// The tables of parametric stereo (ISO 14496-3 section 8.6.4), as the AAC decoder's memory holds them. Part of the build.

import * as map from "../../../src/media/kernels/numbers/aac.ts";

/** Level differences in dB, coarse and fine: those above 0; the others mirror them. */
const COARSE_DB = [2, 4, 7, 10, 14, 18, 25];
const FINE_DB = [2, 4, 6, 8, 10, 13, 16, 19, 22, 25, 30, 35, 40, 45, 50];
/** Coherence, and the angle whose cosine it is, as the standard rounds it. */
const COHERENCES = [1, 0.937, 0.84118, 0.60092, 0.36764, 0, -0.589, -1];
const ANGLES = [0, 0.35685527, 0.57133466, 0.92614472, 1.1943263, Math.PI / 2, 2.2006171, Math.PI];
const COHERENCE_MIN = 0.05;

/** Prototypes of the filters, up to their middle. */
const PROTOTYPES = {
  eight20: [
    0.00746082949812, 0.02270420949825, 0.04546865930473, 0.07266113929591, 0.09885108575264, 0.11793710567217, 0.125,
  ],
  twelve34: [
    0.04081179924692,
    0.03812810994926,
    0.05144908135699,
    0.06399831151592,
    0.07428313801106,
    0.08100347892914,
    1 / 12,
  ],
  eight34: [
    0.01565675600122, 0.03752716391991, 0.05417891378782, 0.08417044116767, 0.10307344158036, 0.12222452249753, 0.125,
  ],
  four34: [-0.05908211155639, -0.04871498374946, 0, 0.07778723915851, 0.16486303567403, 0.23279856662996, 0.25],
} as const;

/** Centres of the split bands, in eighths and in 24ths of a subband. */
const CENTRES_20 = [-3, -1, 1, 3, 5, 7, 10, 14, 18, 22];
const CENTRES_34 = [
  ...[2, 6, 10, 14, 18, 22, 26, 30, 34, -10, -6, -2, 51, 57, 15, 21, 27, 33, 39, 45, 54, 66, 78, 42, 102, 66, 78, 90],
  ...[102, 114, 126, 90],
];
const FILTERED_20 = 30;
const DELAY_FRACTION = 0.39;
const FILTER_FRACTIONS = [0.43, 0.75, 0.347];

/** Tables 8.48 and 8.49: the parameter of the lowest bands, then the first band of each further one. */
const SPLIT_PARAMETERS_20 = [1, 0, 0, 1, 2, 3, 4, 5, 6, 7];
const PARAMETER_STARTS_20 = [10, 11, 12, 13, 14, 15, 16, 18, 21, 25, 30, 42, 71];
const SPLIT_PARAMETERS_34 = [
  ...[0, 1, 2, 3, 4, 5, 6, 6, 7, 2, 1, 0, 10, 10, 4, 5, 6, 7, 8, 9, 10, 11, 12, 9, 14, 11, 12, 13, 14, 15, 16, 13],
];
const PARAMETER_STARTS_34 = [32, 33, 34, 35, 36, 37, 38, 40, 42, 44, 46, 48, 51, 54, 57, 60, 64, 68, 91];

export function writeStereoTables(view: DataView): void {
  const floats = (address: number, values: readonly number[]): void =>
    values.forEach((value, index) => void view.setFloat32(address + 4 * index, value, true));
  const levels = [...levelsOf(COARSE_DB), ...levelsOf(FINE_DB)];
  floats(
    map.MIXES_BYTE,
    levels.flatMap((level) => ANGLES.flatMap((angle) => mixByRotation(level, angle))),
  );
  floats(
    map.MIXES_BYTE + map.MIX_BYTES,
    levels.flatMap((level) => COHERENCES.flatMap((coherence) => mixByComponents(level, coherence))),
  );
  floats(
    map.PHASES_BYTE,
    Array.from({ length: 512 }, (_, index) => smoothedPhase(index >> 6, (index >> 3) & 7, index & 7)).flat(),
  );
  const filters = [
    ...splitFilters(PROTOTYPES.eight20, 8),
    ...splitFilters(PROTOTYPES.twelve34, 12),
    ...splitFilters(PROTOTYPES.eight34, 8),
    ...splitFilters(PROTOTYPES.four34, 4),
  ];
  for (const [index, taps] of filters.entries()) floats(map.SPLITS_BYTE + map.SPLIT_BYTES * index, taps);
  const upperBytes = 32 * map.FILTERED_BANDS_MAX;
  floats(map.FRACTIONS_BYTE, fractions(CENTRES_20, 8, FILTERED_20, 6.5));
  floats(map.FRACTIONS_BYTE + upperBytes, fractions(CENTRES_34, 24, map.FILTERED_BANDS_MAX, 26.5));
  writeParameters(view, map.PARAMETERS_BYTE, SPLIT_PARAMETERS_20, PARAMETER_STARTS_20, 8);
  writeParameters(view, map.PARAMETERS_BYTE + map.STEREO_BANDS_MAX, SPLIT_PARAMETERS_34, PARAMETER_STARTS_34, 16);
}

/** From the most negative difference to the most positive one, as factors. */
function levelsOf(steps: readonly number[]): readonly number[] {
  return [...steps.toReversed().map((step) => -step), 0, ...steps].map((step) => 10 ** (step / 20));
}

function mixByRotation(level: number, angle: number): readonly number[] {
  const right = Math.SQRT2 / Math.sqrt(1 + level * level);
  const left = level * right;
  const alpha = angle / 2;
  const beta = alpha * (right - left) * Math.SQRT1_2;
  return [
    left * Math.cos(beta + alpha),
    right * Math.cos(beta - alpha),
    left * Math.sin(beta + alpha),
    right * Math.sin(beta - alpha),
  ];
}

function mixByComponents(level: number, coherence: number): readonly number[] {
  const rho = Math.max(coherence, COHERENCE_MIN);
  const angle = 0.5 * Math.atan2(2 * level * rho, level * level - 1);
  const alpha = angle < 0 ? angle + Math.PI / 2 : angle;
  const ratio = level + 1 / level;
  const mu = Math.sqrt(1 + (4 * rho * rho - 4) / (ratio * ratio));
  const gamma = Math.atan(Math.sqrt((1 - mu) / (1 + mu)));
  return [
    Math.SQRT2 * Math.cos(alpha) * Math.cos(gamma),
    Math.SQRT2 * Math.sin(alpha) * Math.cos(gamma),
    -Math.SQRT2 * Math.sin(alpha) * Math.sin(gamma),
    Math.SQRT2 * Math.cos(alpha) * Math.sin(gamma),
  ];
}

/** Phases in eighths of a turn, from the oldest on. */
function smoothedPhase(oldest: number, old: number, now: number): readonly number[] {
  const sum = (part: (angle: number) => number) =>
    0.25 * part((oldest * Math.PI) / 4) + 0.5 * part((old * Math.PI) / 4) + part((now * Math.PI) / 4);
  const [re, im] = [sum(Math.cos), sum(Math.sin)];
  const size = Math.hypot(re, im);
  return [re / size, im / size];
}

function splitFilters(prototype: readonly number[], count: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, band) =>
    prototype.flatMap((tap, index) => {
      const angle = (2 * Math.PI * (band + 0.5) * (index - 6)) / count;
      return [tap * Math.cos(angle), -tap * Math.sin(angle)];
    }),
  );
}

/** `unit`: of the centres; `offset`: of the bands behind them. */
function fractions(centres: readonly number[], unit: number, count: number, offset: number): readonly number[] {
  return Array.from({ length: count }, (_, band) => {
    const centre = band < centres.length ? centres[band]! / unit : band - offset;
    return [DELAY_FRACTION, ...FILTER_FRACTIONS].flatMap((fraction) => {
      const angle = -Math.PI * fraction * centre;
      return [Math.cos(angle), Math.sin(angle)];
    });
  }).flat();
}

/** `first`: the parameter of the first band that is not split. */
function writeParameters(
  view: DataView,
  address: number,
  split: readonly number[],
  starts: readonly number[],
  first: number,
): void {
  for (const [band, parameter] of split.entries()) view.setUint8(address + band, parameter);
  for (let index = 0; index < starts.length - 1; index++) {
    for (let band = starts[index]!; band < starts[index + 1]!; band++) view.setUint8(address + band, first + index);
  }
}
