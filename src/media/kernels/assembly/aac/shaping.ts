// Temporal noise shaping: filters over the lines of a spectrum. AssemblyScript, part of the AAC decoder; ISO 14496-3
// section 4.6.9.

import { SHAPING_BYTE, SHORT_SAMPLES, SHORT_WINDOWS, WORK_BYTE } from "../../numbers/aac.ts";
import { read } from "../bits.ts";
import {
  BANDS,
  bandCount,
  bandStart,
  FILTER_BYTES,
  FILTERS,
  FILTERS_AT,
  fact,
  isShort,
  setFact,
  shapedBands,
} from "./channel.ts";

const ORDER_MAX: i32 = 12;
const SHORT_ORDER_MAX: i32 = 7;

// Of a filter: whole numbers, then its coefficients.
const LENGTH: usize = 0;
const ORDER: usize = 4;
const IS_DOWNWARD: usize = 8;
const COEFFICIENTS: usize = 12;

/** Reads tns_data, if it is there. False: it is not valid. */
export function readFilters(channel: usize): bool {
  setFact(channel, FILTERS, 0);
  if (read(1) === 0) return true;
  const isShortWindow = isShort(channel);
  const windows = isShortWindow ? SHORT_WINDOWS : 1;
  for (let window = 0; window < windows; window++) {
    const count = read(isShortWindow ? 1 : 2);
    const filters = channel + FILTERS_AT + FILTER_BYTES * window;
    store<i32>(filters + ORDER, 0);
    const resolution = count !== 0 ? read(1) : 0;
    for (let filter = 0; filter < count; filter++) {
      if (!readFilter(filters + FILTER_BYTES * filter, isShortWindow, resolution)) return false;
    }
    setFact(channel, FILTERS, isShortWindow ? 1 : count);
  }
  return true;
}

function readFilter(filter: usize, isShortWindow: bool, resolution: i32): bool {
  store<i32>(filter + LENGTH, read(isShortWindow ? 4 : 6));
  const order = read(isShortWindow ? 3 : 5);
  if (order > (isShortWindow ? SHORT_ORDER_MAX : ORDER_MAX)) return false;
  store<i32>(filter + ORDER, order);
  if (order === 0) return true;
  store<i32>(filter + IS_DOWNWARD, read(1));
  const isCompressed = read(1);
  const values: usize = SHAPING_BYTE + 64 * (2 * isCompressed + resolution);
  for (let index = 0; index < order; index++) {
    const value = read(resolution + 3 - isCompressed);
    store<f32>(filter + COEFFICIENTS + 4 * index, load<f32>(values + 4 * value));
  }
  return true;
}

export function shape(channel: usize, spectrum: usize): void {
  const filters = fact(channel, FILTERS);
  if (filters === 0) return;
  const windows = isShort(channel) ? SHORT_WINDOWS : 1;
  const limit = min(shapedBands(channel), fact(channel, BANDS));
  for (let window = 0; window < windows; window++) {
    let bottom = bandCount(channel);
    for (let index = 0; index < filters; index++) {
      const filter = channel + FILTERS_AT + FILTER_BYTES * (window + index);
      const top = bottom;
      bottom = max(0, top - load<i32>(filter + LENGTH));
      const order = load<i32>(filter + ORDER);
      const start = bandStart(channel, min(bottom, limit));
      const size = bandStart(channel, min(top, limit)) - start;
      if (order === 0 || size <= 0) continue;
      toPrediction(filter + COEFFICIENTS, order);
      const first = spectrum + 4 * (SHORT_SAMPLES * window + start);
      if (load<i32>(filter + IS_DOWNWARD) !== 0) run(first + 4 * (size - 1), size, order, -4);
      else run(first, size, order, 4);
    }
  }
}

/** To `WORK_BYTE`: the coefficients of the filter from those of its lattice. */
function toPrediction(lattice: usize, order: i32): void {
  for (let index = 0; index < order; index++) {
    const value = load<f32>(lattice + 4 * index);
    let low: usize = WORK_BYTE;
    let high: usize = WORK_BYTE + 4 * (index - 1);
    for (let pair = 0; pair < (index + 1) >> 1; pair++) {
      const a = load<f32>(low);
      const b = load<f32>(high);
      store<f32>(low, a + value * b);
      store<f32>(high, b + value * a);
      low += 4;
      high -= 4;
    }
    store<f32>(WORK_BYTE + 4 * index, value);
  }
}

function run(at: usize, size: i32, order: i32, step: isize): void {
  for (let line = 0; line < size; line++) {
    let value = load<f32>(at);
    let before = at;
    const known = min(line, order);
    for (let index = 0; index < known; index++) {
      before -= step;
      value -= load<f32>(before) * load<f32>(WORK_BYTE + 4 * index);
    }
    store<f32>(at, value);
    at += step;
  }
}
