// Makes the tables of bands from the header: of envelopes, noise and limiter, and the patches that are copied up.
// AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.18.3.

import {
  ADJUSTED_BANDS,
  LOGARITHMS_BYTE,
  OFFSET_ROWS_BYTE,
  OFFSETS_BYTE,
  RATES_BYTE,
  WORK_BYTE,
} from "../../../numbers/aac.ts";
import {
  ALTER_SCALE,
  COUNT,
  CROSSOVER,
  entry,
  FIRST,
  FREQUENCY_SCALE,
  fact,
  HIGH_COUNT,
  HIGH_TABLE,
  LIMIT_COUNT,
  LIMIT_TABLE,
  LIMITER_BANDS,
  LOW_COUNT,
  LOW_TABLE,
  MASTER_COUNT,
  MASTER_FIRST,
  MASTER_TABLE,
  NOISE_BANDS,
  NOISE_COUNT,
  NOISE_TABLE,
  PATCH_COUNT,
  PATCH_SIZES,
  PATCH_STARTS,
  RANDOM_INDEX,
  START_FREQUENCY,
  STOP_FREQUENCY,
  setEntry,
  setFact,
} from "./facts.ts";

const MASTER_BANDS_MAX: i32 = 64;
const NOISE_BANDS_MAX: i32 = 5;
const PATCHES_MAX: i32 = 6;
/** Widths of bands, 32 bits each, in order or sorted. */
const WIDTHS: usize = WORK_BYTE;
const UPPER_WIDTHS: usize = WIDTHS + 4 * 64;
const NO_OFFSETS: i32 = 255;

/** False: the header is not valid. `rate`: index of the core's sample rate. */
export function makeTables(replica: usize, rate: i32): bool {
  const stop = makeMaster(replica, rate);
  return stop > 0 && derive(replica, stop, 2 * load<i32>(RATES_BYTE + 4 * rate));
}

/** Returns the end of the master table, 0 if it is not valid. */
function makeMaster(replica: usize, rate: i32): i32 {
  const rateHz = 2 * load<i32>(RATES_BYTE + 4 * rate);
  const row = i32(load<u8>(OFFSET_ROWS_BYTE + rate));
  if (row === NO_OFFSETS) return 0;
  const lowestHz = rateHz < 32_000 ? 3000 : rateHz < 64_000 ? 4000 : 5000;
  const half = rateHz >> 1;
  const offset = i32(load<i8>(OFFSETS_BYTE + 16 * row + fact(replica, START_FREQUENCY)));
  const first = ((lowestHz << 7) + half) / rateHz + offset;
  const stop = min(stopBand(fact(replica, STOP_FREQUENCY), ((lowestHz << 8) + half) / rateHz, first), 64);
  const countMax = rateHz <= 32_000 ? 48 : rateHz === 44_100 ? 35 : 32;
  if (first <= 0 || stop <= first || stop - first > countMax) return 0;
  setFact(replica, MASTER_FIRST, first);
  const isValid =
    fact(replica, FREQUENCY_SCALE) === 0 ? makeLinear(replica, first, stop) : makeWarped(replica, first, stop);
  return isValid && fact(replica, CROSSOVER) < fact(replica, MASTER_COUNT) ? stop : 0;
}

function stopBand(code: i32, lowest: i32, first: i32): i32 {
  if (code === 14) return 2 * first;
  if (code === 15) return 3 * first;
  spread(WIDTHS, lowest, 64, 13);
  sort(WIDTHS, 13);
  let stop = lowest;
  for (let index = 0; index < code; index++) stop += load<i32>(WIDTHS + 4 * index);
  return stop;
}

/** Bands of one or two subbands. */
function makeLinear(replica: usize, first: i32, stop: i32): bool {
  const width = fact(replica, ALTER_SCALE) + 1;
  const count = ((stop - first + (width & 2)) >> width) << 1;
  if (count <= 0 || count > MASTER_BANDS_MAX) return false;
  for (let band = 0; band < count; band++) store<i32>(WIDTHS + 4 * band, width);
  const rest = stop - first - count * width;
  if (rest < 0) {
    addTo(WIDTHS, -1);
    if (rest < -1) addTo(WIDTHS + 4, -1);
  } else if (rest > 0) addTo(WIDTHS + 4 * (count - 1), 1);
  return appendMaster(replica, first, 0, WIDTHS, count);
}

/** Bands that get wider with the frequency, in one or two regions. */
function makeWarped(replica: usize, first: i32, stop: i32): bool {
  const perOctave: f64 = 7 - fact(replica, FREQUENCY_SCALE);
  const hasTwo = 49 * stop > 110 * first;
  const middle = hasTwo ? 2 * first : stop;
  const count = 2 * i32(nearest(perOctave * octaves(first, middle)));
  if (count <= 0 || count > MASTER_BANDS_MAX) return false;
  spread(WIDTHS, first, middle, count);
  sort(WIDTHS, count);
  if (!appendMaster(replica, first, 0, WIDTHS, count)) return false;
  if (!hasTwo) return true;
  const warp: f64 = fact(replica, ALTER_SCALE) !== 0 ? 1 / 1.3 : 1;
  const upperCount = 2 * i32(nearest(perOctave * warp * octaves(middle, stop)));
  if (upperCount <= 0 || count + upperCount > MASTER_BANDS_MAX) return false;
  spread(UPPER_WIDTHS, middle, stop, upperCount);
  sort(UPPER_WIDTHS, upperCount);
  const widest = load<i32>(WIDTHS + 4 * (count - 1));
  const narrowest = load<i32>(UPPER_WIDTHS);
  if (narrowest < widest) {
    const last = UPPER_WIDTHS + 4 * (upperCount - 1);
    const change = min(widest - narrowest, (load<i32>(last) - narrowest) >> 1);
    addTo(UPPER_WIDTHS, change);
    addTo(last, -change);
    sort(UPPER_WIDTHS, upperCount);
  }
  return appendMaster(replica, middle, count, UPPER_WIDTHS, upperCount);
}

function addTo(at: usize, value: i32): void {
  store<i32>(at, load<i32>(at) + value);
}

function octaves(low: i32, high: i32): f64 {
  return load<f64>(LOGARITHMS_BYTE + 8 * high) - load<f64>(LOGARITHMS_BYTE + 8 * low);
}

/** Widths of `count` bands whose borders grow by the same factor. */
function spread(widths: usize, low: i32, high: i32, count: i32): void {
  const factor = root(f64(high) / f64(low), count);
  let border: f64 = low;
  let before = low;
  for (let band = 0; band < count - 1; band++) {
    border *= factor;
    const next = i32(nearest(border));
    store<i32>(widths + 4 * band, next - before);
    before = next;
  }
  store<i32>(widths + 4 * (count - 1), high - before);
}

/** The root of the order `count`, by Newton's method. */
function root(value: f64, count: i32): f64 {
  let result: f64 = 1 + (value - 1) / count;
  for (let step = 0; step < 64; step++) {
    let power: f64 = 1;
    for (let index = 1; index < count; index++) power *= result;
    const next = result - (power * result - value) / (count * power);
    if (next >= result) break;
    result = next;
  }
  return result;
}

function sort(at: usize, count: i32): void {
  for (let index = 1; index < count; index++) {
    const value = load<i32>(at + 4 * index);
    let place = index;
    for (; place > 0 && load<i32>(at + 4 * (place - 1)) > value; place--) {
      store<i32>(at + 4 * place, load<i32>(at + 4 * (place - 1)));
    }
    store<i32>(at + 4 * place, value);
  }
}

/** Puts borders behind `known` bands. False: a width is not valid. */
function appendMaster(replica: usize, first: i32, known: i32, widths: usize, count: i32): bool {
  let border = first;
  setEntry(replica, MASTER_TABLE, known, border);
  for (let band = 0; band < count; band++) {
    const width = load<i32>(widths + 4 * band);
    if (width <= 0) return false;
    border += width;
    setEntry(replica, MASTER_TABLE, known + band + 1, border);
  }
  setFact(replica, MASTER_COUNT, known + count);
  return border <= 64;
}

function derive(replica: usize, stop: i32, rateHz: i32): bool {
  const crossover = fact(replica, CROSSOVER);
  const high = fact(replica, MASTER_COUNT) - crossover;
  const low = (high + 1) >> 1;
  for (let band = 0; band <= high; band++)
    setEntry(replica, HIGH_TABLE, band, entry(replica, MASTER_TABLE, crossover + band));
  const first = entry(replica, HIGH_TABLE, 0);
  const count = entry(replica, HIGH_TABLE, high) - first;
  if (first > 32 || first + count > 64 || high > ADJUSTED_BANDS || count > ADJUSTED_BANDS) return false;
  setEntry(replica, LOW_TABLE, 0, first);
  for (let band = 1; band <= low; band++)
    setEntry(replica, LOW_TABLE, band, entry(replica, HIGH_TABLE, 2 * band - (high & 1)));
  const noise = max(1, i32(nearest(f64(fact(replica, NOISE_BANDS)) * octaves(first, stop))));
  if (noise > NOISE_BANDS_MAX) return false;
  setEntry(replica, NOISE_TABLE, 0, first);
  let index = 0;
  for (let band = 1; band <= noise; band++) {
    index += (low - index) / (noise + 1 - band);
    setEntry(replica, NOISE_TABLE, band, entry(replica, LOW_TABLE, index));
  }
  setFact(replica, FIRST, first);
  setFact(replica, COUNT, count);
  setFact(replica, HIGH_COUNT, high);
  setFact(replica, LOW_COUNT, low);
  setFact(replica, NOISE_COUNT, noise);
  if (!makePatches(replica, rateHz)) return false;
  makeLimits(replica);
  setFact(replica, RANDOM_INDEX, 0);
  return true;
}

function makePatches(replica: usize, rateHz: i32): bool {
  const masterFirst = fact(replica, MASTER_FIRST);
  const first = fact(replica, FIRST);
  const end = first + fact(replica, COUNT);
  const bands = fact(replica, MASTER_COUNT);
  const goal = ((1000 << 11) + (rateHz >> 1)) / rateHz;
  let highest = bands;
  if (goal < end) {
    highest = 0;
    while (entry(replica, MASTER_TABLE, highest) < goal) highest++;
  }
  let limit = masterFirst;
  let top = first;
  let border = 0;
  let patches = 0;
  for (let step = 0; border !== end; step++) {
    if (step > MASTER_BANDS_MAX || patches >= PATCHES_MAX) return false;
    let odd = 0;
    let index = highest;
    do {
      border = entry(replica, MASTER_TABLE, index);
      odd = (border + masterFirst) & 1;
      index--;
    } while (index >= 0 && border > masterFirst - 1 + limit - odd);
    const size = max(border - top, 0);
    const start = masterFirst - odd - size;
    if (size > 0) {
      if (start < 0) return false;
      setEntry(replica, PATCH_SIZES, patches, size);
      setEntry(replica, PATCH_STARTS, patches, start);
      patches++;
      top = border;
      limit = border;
    } else limit = first;
    if (entry(replica, MASTER_TABLE, highest) - border < 3) highest = bands;
  }
  if (patches > 1 && entry(replica, PATCH_SIZES, patches - 1) < 3) patches--;
  setFact(replica, PATCH_COUNT, patches);
  return true;
}

/** Bands of the limiter: those of low resolution and the borders of patches, without what is too narrow. */
export function makeLimits(replica: usize): void {
  const low = fact(replica, LOW_COUNT);
  const code = fact(replica, LIMITER_BANDS);
  if (code === 0) {
    setEntry(replica, LIMIT_TABLE, 0, entry(replica, LOW_TABLE, 0));
    setEntry(replica, LIMIT_TABLE, 1, entry(replica, LOW_TABLE, low));
    setFact(replica, LIMIT_COUNT, 1);
    return;
  }
  // 2^(0.49 / 1.2), 2^(0.49 / 2), 2^(0.49 / 3)
  const widest: f64 = code === 1 ? 1.327151747 : code === 2 ? 1.185092771 : 1.11987164;
  const patches = fact(replica, PATCH_COUNT);
  let count = 0;
  for (let band = 0; band <= low; band++) store<i32>(WIDTHS + 4 * count++, entry(replica, LOW_TABLE, band));
  let border = fact(replica, FIRST);
  for (let patch = 0; patch < patches - 1; patch++) {
    border += entry(replica, PATCH_SIZES, patch);
    store<i32>(WIDTHS + 4 * count++, border);
  }
  sort(WIDTHS, count);
  let last = load<i32>(WIDTHS);
  let limits = 0;
  setEntry(replica, LIMIT_TABLE, 0, last);
  for (let index = 1; index < count; index++) {
    const next = load<i32>(WIDTHS + 4 * index);
    if (f64(next) < f64(last) * widest) {
      if (next === last || !isPatchBorder(replica, next)) continue;
      // A border of a patch takes the place of one that is none.
      if (isPatchBorder(replica, last)) limits++;
    } else limits++;
    setEntry(replica, LIMIT_TABLE, limits, next);
    last = next;
  }
  setFact(replica, LIMIT_COUNT, limits);
}

function isPatchBorder(replica: usize, subband: i32): bool {
  let border = fact(replica, FIRST);
  const patches = fact(replica, PATCH_COUNT);
  for (let patch = 0; patch <= patches; patch++) {
    if (border === subband) return true;
    border += entry(replica, PATCH_SIZES, patch);
  }
  return false;
}
