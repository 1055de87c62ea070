// What a packet describes of one channel: windows, bands, their Huffman tables and scale factors, pulses. AssemblyScript,
// part of the AAC decoder; individual_channel_stream of ISO 14496-3 sections 4.4.2.1 and 4.6.2.

import {
  CHANNEL_BYTES,
  CHANNELS_BYTE,
  FRAME_SAMPLES,
  GAIN_ZERO,
  GAINS,
  GAINS_BYTE,
  LONG_BANDS,
  LONG_BANDS_BYTE,
  RATE_FACTS_BYTE,
  SCALE_BOOK,
  SHORT_BANDS,
  SHORT_BANDS_BYTE,
  SPECTRA_BYTE,
} from "../../numbers/aac.ts";
import { read } from "../bits.ts";
import { readCode } from "./codes.ts";

// Whole numbers, by their index.
export const SEQUENCE: i32 = 0;
/** 0: sine, 1: Kaiser-Bessel. */
export const SHAPE: i32 = 1;
/** Bands that are coded, in each group. */
export const BANDS: i32 = 2;
export const GROUPS: i32 = 3;
/** Windows of each of eight groups. */
const GROUP_SIZE: i32 = 4;
export const PULSES: i32 = 12;
/** Lines and sizes of four pulses. */
export const PULSE_LINE: i32 = 13;
export const PULSE_SIZE: i32 = 17;
/** Filters of noise shaping in a long window; those of short windows are one for each, with an order of 0 for none. */
export const FILTERS: i32 = 21;
export const RATE: i32 = 22;
/** Of the first channel of a pair: the second, else 0; of the second: -1. */
export const PARTNER: i32 = 23;

/** Bytes from the channel's address: Huffman tables, gains and mask of its bands, filters. */
const BOOKS: usize = 128;
const BAND_GAINS: usize = 256;
const MASK: usize = 736;
export const FILTERS_AT: usize = 864;
export const FILTER_BYTES: usize = 64;
/** Groups times bands: 8 times 15, or 51. */
const GROUPED_BANDS_MAX: i32 = 120;

export const LONG: i32 = 0;
export const START: i32 = 1;
export const SHORT: i32 = 2;
export const STOP: i32 = 3;

// Numbers of Huffman tables that are none.
export const SILENT_BOOK: i32 = 0;
const RESERVED_BOOK: i32 = 12;
export const NOISE_BOOK: i32 = 13;
/** Intensity stereo with the sign inverted, and as it is. */
export const INVERTED_BOOK: i32 = 14;
export const INTENSITY_BOOK: i32 = 15;

/** Scale factors are stored as differences to the one before, from this on. */
const SCALE_CENTRE: i32 = 60;
/** The first scale factor of noise is a plain number. */
const NOISE_BITS: i32 = 9;
const NOISE_CENTRE: i32 = 256;
const NOISE_START: i32 = 90;

export function channelAt(channel: i32): usize {
  return CHANNELS_BYTE + CHANNEL_BYTES * channel;
}

export function spectrumAt(channel: i32): usize {
  return SPECTRA_BYTE + 4 * FRAME_SAMPLES * channel;
}

export function fact(channel: usize, index: i32): i32 {
  return load<i32>(channel + 4 * index);
}

export function setFact(channel: usize, index: i32, value: i32): void {
  store<i32>(channel + 4 * index, value);
}

export function isShort(channel: usize): bool {
  return fact(channel, SEQUENCE) === SHORT;
}

export function groupSize(channel: usize, group: i32): i32 {
  return fact(channel, GROUP_SIZE + group);
}

/** `index`: of a band, counted through all groups. */
export function bookOf(channel: usize, index: i32): i32 {
  return i32(load<u8>(channel + BOOKS + index));
}

export function gainOf(channel: usize, index: i32): f32 {
  return load<f32>(channel + BAND_GAINS + 4 * index);
}

export function isMasked(channel: usize, index: i32): bool {
  return load<u8>(channel + MASK + index) !== 0;
}

/** First line of a band, in one window. */
export function bandStart(channel: usize, band: i32): i32 {
  const rate = fact(channel, RATE);
  if (isShort(channel)) return i32(load<u16>(SHORT_BANDS_BYTE + 2 * (SHORT_BANDS * rate + band)));
  return i32(load<u16>(LONG_BANDS_BYTE + 2 * (LONG_BANDS * rate + band)));
}

/** How many bands there are. */
export function bandCount(channel: usize): i32 {
  return i32(load<u8>(RATE_FACTS_BYTE + 4 * fact(channel, RATE) + (isShort(channel) ? 2 : 0)));
}

/** How many bands noise shaping may reach. */
export function shapedBands(channel: usize): i32 {
  return i32(load<u8>(RATE_FACTS_BYTE + 4 * fact(channel, RATE) + (isShort(channel) ? 3 : 1)));
}

/** No audio: a long window without bands. */
export function clearChannel(channel: usize, rate: i32): void {
  memory.fill(channel, 0, CHANNEL_BYTES);
  setFact(channel, RATE, rate);
}

/** Reads ics_info. False: it is not valid. */
export function readWindows(channel: usize): bool {
  read(1);
  setFact(channel, SEQUENCE, read(2));
  setFact(channel, SHAPE, read(1));
  let groups = 1;
  setFact(channel, GROUP_SIZE, 1);
  if (isShort(channel)) {
    setFact(channel, BANDS, read(4));
    for (let window = 1; window < 8; window++) {
      if (read(1) === 0) setFact(channel, GROUP_SIZE + groups++, 1);
      else setFact(channel, GROUP_SIZE + groups - 1, groupSize(channel, groups - 1) + 1);
    }
  } else {
    setFact(channel, BANDS, read(6));
    // Prediction does not exist in this profile.
    if (read(1) !== 0) return false;
  }
  setFact(channel, GROUPS, groups);
  return fact(channel, BANDS) <= bandCount(channel);
}

/** The second channel of a pair has the windows of the first. */
export function copyWindows(from: usize, to: usize): void {
  memory.copy(to, from, 4 * PULSES);
}

/** Reads which bands of a pair are stored as sum and difference. False: it is not valid. */
export function readMask(channel: usize): bool {
  const mode = read(2);
  if (mode === 3) return false;
  const count = fact(channel, GROUPS) * fact(channel, BANDS);
  for (let index = 0; index < count; index++) {
    store<u8>(channel + MASK + index, u8(mode === 2 ? 1 : mode === 1 ? read(1) : 0));
  }
  return true;
}

/** Reads which Huffman table each band has (section_data). False: it is not valid. */
export function readBooks(channel: usize): bool {
  const lengthBits = isShort(channel) ? 3 : 5;
  const isContinued = (1 << lengthBits) - 1;
  const bands = fact(channel, BANDS);
  const groups = fact(channel, GROUPS);
  let at = channel + BOOKS;
  for (let group = 0; group < groups; group++) {
    let band = 0;
    while (band < bands) {
      const book = read(4);
      if (book === RESERVED_BOOK) return false;
      let length = 0;
      let part: i32;
      do {
        part = read(lengthBits);
        length += part;
        if (band + length > bands) return false;
      } while (part === isContinued);
      // A section of no length gives no band, and the packet ends some day.
      memory.fill(at, u8(book), length);
      at += length;
      band += length;
    }
  }
  return true;
}

/** Reads the scale factors, as gains. `gain`: the first one. False: one is out of range. */
export function readGains(channel: usize, gain: i32): bool {
  let noise = gain - NOISE_START;
  let position = 0;
  let isFirstNoise = true;
  const count = min(fact(channel, GROUPS) * fact(channel, BANDS), GROUPED_BANDS_MAX);
  for (let index = 0; index < count; index++) {
    const book = bookOf(channel, index);
    let value: f32 = 0;
    if (book === NOISE_BOOK) {
      noise += isFirstNoise ? read(NOISE_BITS) - NOISE_CENTRE : readScale();
      isFirstNoise = false;
      value = gainFor(noise);
    } else if (book >= INVERTED_BOOK) {
      position += readScale();
      value = gainFor(-position);
    } else if (book !== SILENT_BOOK) {
      gain += readScale();
      if (gain < 0 || gain > 255) return false;
      value = gainFor(gain - GAIN_ZERO);
    }
    store<f32>(channel + BAND_GAINS + 4 * index, value);
  }
  return true;
}

function readScale(): i32 {
  return readCode(SCALE_BOOK) - SCALE_CENTRE;
}

/** 2^(quarters/4), within what the table has. */
function gainFor(quarters: i32): f32 {
  const index = min(max(quarters + GAIN_ZERO, 0), GAINS - 1);
  return load<f32>(GAINS_BYTE + 4 * index);
}

/** Reads pulse_data. False: it is not valid. */
export function readPulses(channel: usize): bool {
  const isThere = read(1) !== 0;
  setFact(channel, PULSES, 0);
  if (!isThere) return true;
  if (isShort(channel)) return false;
  const count = read(2) + 1;
  const band = read(6);
  if (band >= bandCount(channel)) return false;
  let line = bandStart(channel, band);
  for (let pulse = 0; pulse < count; pulse++) {
    line += read(5);
    if (line >= FRAME_SAMPLES) return false;
    setFact(channel, PULSE_LINE + pulse, line);
    setFact(channel, PULSE_SIZE + pulse, read(4));
  }
  setFact(channel, PULSES, count);
  return true;
}
