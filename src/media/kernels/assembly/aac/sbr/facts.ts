// What a channel retains for spectral band replication, by its place in memory. Those of a pair share the header and the
// tables of the first. AssemblyScript, part of the AAC decoder; ISO 14496-3 section 4.6.18.

import { ADJUSTED_BANDS, REPLICA_BYTES, REPLICA_ENVELOPES, REPLICA_TABLES } from "../../../numbers/aac.ts";

// Whole numbers of the header, by their index.
export const IS_STARTED: i32 = 0;
/** The packet has had data, that are not used yet. */
export const HAS_DATA: i32 = 1;
/** First subband and number of those that are generated, in this packet and in the one before. */
export const FIRST: i32 = 2;
export const COUNT: i32 = 3;
export const OLD_FIRST: i32 = 4;
export const OLD_COUNT: i32 = 5;
/** The numbers above are of this packet. */
export const IS_PUSHED: i32 = 6;
/** The header is different from the one before. */
export const IS_RESET: i32 = 7;
export const AMPLITUDE_STEP: i32 = 8;
/** Six numbers that the tables depend on. */
export const START_FREQUENCY: i32 = 9;
export const STOP_FREQUENCY: i32 = 10;
export const CROSSOVER: i32 = 11;
export const FREQUENCY_SCALE: i32 = 12;
export const ALTER_SCALE: i32 = 13;
export const NOISE_BANDS: i32 = 14;
export const LIMITER_BANDS: i32 = 15;
export const LIMITER_GAIN: i32 = 16;
export const IS_INTERPOLATED: i32 = 17;
export const IS_SHARP: i32 = 18;
export const IS_COUPLED: i32 = 19;
/** Bands of each table. */
export const MASTER_COUNT: i32 = 20;
export const LOW_COUNT: i32 = 21;
export const HIGH_COUNT: i32 = 22;
export const NOISE_COUNT: i32 = 23;
export const LIMIT_COUNT: i32 = 24;
export const PATCH_COUNT: i32 = 25;
/** First subband of the master table. */
export const MASTER_FIRST: i32 = 26;

// Whole numbers of each channel.
export const FRAME_CLASS: i32 = 32;
export const ENVELOPES: i32 = 33;
export const NOISES: i32 = 34;
export const STEP: i32 = 35;
export const HAS_SINES: i32 = 36;
/** Envelope that begins with a transient, -1 for none; and whether the first one follows on one: 0, else -1. */
export const TRANSIENT: i32 = 37;
export const OLD_TRANSIENT: i32 = 38;
/** End of the last envelope of the packet before. */
export const OLD_END: i32 = 39;
export const RANDOM_INDEX: i32 = 40;
export const SINE_INDEX: i32 = 41;
/** Resolution of each envelope, 1 for the high one; the first is the last of the packet before. */
export const RESOLUTION: i32 = 42;
/** Borders of envelopes and of noise. */
export const BORDER: i32 = 48;
export const NOISE_BORDER: i32 = 56;
/** Inverse filtering of each noise band, and that of the packet before. */
export const FILTERING: i32 = 60;
export const OLD_FILTERING: i32 = 65;
/** Which differences are in time: of envelopes, of noise. */
export const IS_IN_TIME: i32 = 70;
export const IS_NOISE_IN_TIME: i32 = 76;
/** Chirp factors, as 32-bit floats. */
export const CHIRP: i32 = 80;

// Tables of first subbands, from the header on; then bytes of each channel.
export const MASTER_TABLE: usize = REPLICA_TABLES;
export const LOW_TABLE: usize = MASTER_TABLE + 72;
export const HIGH_TABLE: usize = LOW_TABLE + 72;
export const NOISE_TABLE: usize = HIGH_TABLE + 72;
export const LIMIT_TABLE: usize = NOISE_TABLE + 16;
export const PATCH_SIZES: usize = LIMIT_TABLE + 80;
export const PATCH_STARTS: usize = PATCH_SIZES + 16;
/** Of each band with high resolution: it has a sine. */
const SINES: usize = PATCH_STARTS + 16;
/** Of each subband: the last envelope of the packet before had a sine there. */
export const OLD_SINES: usize = SINES + 64;

/** Coded levels: six rows of envelopes, the first from the packet before; three of noise. */
const LEVELS: usize = REPLICA_ENVELOPES;
const NOISE_LEVELS: usize = LEVELS + 6 * ADJUSTED_BANDS;
const NOISE_ROW: usize = 8;

export function fact(replica: usize, index: i32): i32 {
  return load<i32>(replica + 4 * index);
}

export function setFact(replica: usize, index: i32, value: i32): void {
  store<i32>(replica + 4 * index, value);
}

export function entry(replica: usize, table: usize, index: i32): i32 {
  return i32(load<u8>(replica + table + index));
}

export function setEntry(replica: usize, table: usize, index: i32, value: i32): void {
  store<u8>(replica + table + index, u8(value));
}

export function hasSine(replica: usize, band: i32): bool {
  return entry(replica, SINES, band) !== 0;
}

export function setSine(replica: usize, band: i32, value: i32): void {
  setEntry(replica, SINES, band, value);
}

export function level(replica: usize, envelope: i32, band: i32): i32 {
  return entry(replica, LEVELS + ADJUSTED_BANDS * envelope, band);
}

export function setLevel(replica: usize, envelope: i32, band: i32, value: i32): void {
  setEntry(replica, LEVELS + ADJUSTED_BANDS * envelope, band, value);
}

export function noiseLevel(replica: usize, noise: i32, band: i32): i32 {
  return entry(replica, NOISE_LEVELS + NOISE_ROW * noise, band);
}

export function setNoiseLevel(replica: usize, noise: i32, band: i32, value: i32): void {
  setEntry(replica, NOISE_LEVELS + NOISE_ROW * noise, band, value);
}

/** The last rows become those before the next packet's. */
export function keepLevels(replica: usize, envelopes: i32): void {
  memory.copy(replica + LEVELS, replica + LEVELS + ADJUSTED_BANDS * envelopes, ADJUSTED_BANDS);
}

export function keepNoiseLevels(replica: usize, noises: i32): void {
  memory.copy(replica + NOISE_LEVELS, replica + NOISE_LEVELS + NOISE_ROW * noises, NOISE_ROW);
}

/** Before the first data. */
export function clearReplica(replica: usize): void {
  memory.fill(replica, 0, REPLICA_BYTES);
  turnOff(replica);
  setFact(replica, OLD_FIRST, 32);
}

/** Nothing is generated until the next header. */
export function turnOff(replica: usize): void {
  setFact(replica, IS_STARTED, 0);
  setFact(replica, FIRST, 32);
  setFact(replica, COUNT, 0);
  setFact(replica, TRANSIENT, -1);
  for (let index = START_FREQUENCY; index <= NOISE_BANDS; index++) setFact(replica, index, -1);
}
