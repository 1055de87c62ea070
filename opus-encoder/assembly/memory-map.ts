// The layout of the Opus encoder's memory, as byte addresses: the work memory of one frame (shared by all encoders of a
// thread, which run one at a time) and the state that one encoder retains between frames (its slot). AssemblyScript.

import { F32_BYTES, FRAME_SAMPLES, INPUT_BYTE, PACKET_BYTE, SCRATCH_BYTE, VECTOR_BYTES } from "../src/numbers.ts";
import {
  AHEAD_SAMPLES,
  BANDS_CAPACITY,
  OVERLAP_SAMPLES,
  PITCH_PAST_SAMPLES,
  SHORT_BLOCKS,
  SHORT_SAMPLES,
} from "./format.ts";

const FRAME_BYTES: usize = F32_BYTES * FRAME_SAMPLES;
/** A number per band, of one channel. */
export const BANDS_BYTES: usize = F32_BYTES * BANDS_CAPACITY;

export const INPUT: usize = INPUT_BYTE;
export const PACKET_ADDRESS: usize = PACKET_BYTE;
/** Distance between the channels' frames, in INPUT, SPECTRUM and SHAPES. */
export const CHANNEL_BYTES: usize = FRAME_BYTES;

// Made once, at the start.

/** The slope of the window: 120 floats. */
export const WINDOW: usize = SCRATCH_BYTE;
/** Cosine and sine of each 120th of a turn. */
export const ROOTS: usize = WINDOW + F32_BYTES * OVERLAP_SAMPLES;
/** 120 times the four factors between the steps of the long transform: cosines, then sines. */
export const LANE_TURNS: usize = ROOTS + 2 * F32_BYTES * SHORT_SAMPLES;
/** Rotations before and after the long transform: 480 cosines, 480 sines; and the short one: 60 and 60. */
export const LONG_TURNS: usize = LANE_TURNS + 2 * VECTOR_BYTES * SHORT_SAMPLES;
export const SHORT_TURNS: usize = LONG_TURNS + FRAME_BYTES;
/** Numbers of pulse vectors, see pulse-counts.ts. Rows begin behind three zeros, so that four can be read from any. */
export const COUNT_PADDING: usize = 3;
export const COUNT_COLUMNS: usize = 178;
export const COUNT_ROWS: usize = 15;
export const COUNTS: usize = SHORT_TURNS + F32_BYTES * SHORT_SAMPLES;
/** Numbers of vectors with few pulses, by length. */
export const FEW_COUNT_COLUMNS: usize = 15;
export const FEW_COUNTS: usize = COUNTS + F32_BYTES * (COUNT_PADDING + COUNT_COLUMNS) * COUNT_ROWS;
/** Costs of pulses, one table of 41 bytes for each of 5 splits and 21 bands, on 48 bytes. */
export const COSTS: usize = (FEW_COUNTS + F32_BYTES * (COUNT_PADDING + FEW_COUNT_COLUMNS) * COUNT_COLUMNS + 15) & ~15;
export const COST_TABLE_BYTES: usize = 48;
const COSTS_BYTES: usize = COST_TABLE_BYTES * 21 * 5;

// Work on one frame.

/** Audio with pre-emphasis, ready for the transform: per channel 120 samples of the frame before, and 960. */
export const SIGNAL: usize = COSTS + COSTS_BYTES;
export const SIGNAL_BYTES: usize = F32_BYTES * (OVERLAP_SAMPLES + FRAME_SAMPLES);
/** Audio before the pitch filter: per channel 1024 samples of the past, 960, and 192 of the next frame. */
export const UNFILTERED: usize = SIGNAL + 2 * SIGNAL_BYTES;
export const UNFILTERED_BYTES: usize = F32_BYTES * (PITCH_PAST_SAMPLES + FRAME_SAMPLES + AHEAD_SAMPLES);
/** The transform of each channel; and the same, each band divided by its energy. */
export const SPECTRUM: usize = UNFILTERED + 2 * UNFILTERED_BYTES;
export const SHAPES: usize = SPECTRUM + 2 * FRAME_BYTES;
/** Two halves that the transform's steps alternate between, and its folded input. */
export const STEP_BYTES: usize = 2 * VECTOR_BYTES * SHORT_SAMPLES;
export const STEPS: usize = SHAPES + 2 * FRAME_BYTES;
export const FOLDED: usize = STEPS + 2 * STEP_BYTES;
/** Scratch space for one frame of one channel within one function. */
export const SPARE: usize = FOLDED + FRAME_BYTES;
const SPARE_BYTES: usize = 2 * SIGNAL_BYTES;

/** Per band and channel: amplitude, its binary logarithm less the band's mean, the same of a long transform. */
export const AMPLITUDES: usize = SPARE + SPARE_BYTES;
export const LEVELS: usize = AMPLITUDES + 2 * BANDS_BYTES;
export const LONG_LEVELS: usize = LEVELS + 2 * BANDS_BYTES;
/** Per band and channel: the remaining error of the level's coding, and space for a second attempt at it. */
export const LEVEL_ERRORS: usize = LONG_LEVELS + 2 * BANDS_BYTES;
export const LEVELS_BEFORE: usize = LEVEL_ERRORS + 2 * BANDS_BYTES;
/** Per band, whole numbers: boosts (as requested, then in eighths of bits), time-frequency changes, weights. */
export const BOOSTS: usize = LEVELS_BEFORE + 2 * BANDS_BYTES;
export const RESOLUTIONS: usize = BOOSTS + BANDS_BYTES;
export const IMPORTANCE: usize = RESOLUTIONS + BANDS_BYTES;
export const SPREAD_WEIGHTS: usize = IMPORTANCE + BANDS_BYTES;
/** Per band, the allocation: for pulses (eighths of bits), fine energy (bits), and when it may have a left-over bit. */
export const PULSE_BITS: usize = SPREAD_WEIGHTS + BANDS_BYTES;
export const FINE_BITS: usize = PULSE_BITS + BANDS_BYTES;
export const FINE_PRIORITY: usize = FINE_BITS + BANDS_BYTES;
/** How many more bits leaks require, binary logarithms. */
export const LEAKS: usize = FINE_PRIORITY + BANDS_BYTES;
/** Scratch space of six lists of a number per band, within one function. */
export const BAND_SPARE: usize = LEAKS + BANDS_BYTES;
/** A vector that is searched: its absolute values, twice its pulses so far, its pulses. 192 numbers each. */
const SEARCH_BYTES: usize = F32_BYTES * 192;
export const SEARCH: usize = BAND_SPARE + 6 * BANDS_BYTES;
export const SEARCH_DOUBLES: usize = SEARCH + SEARCH_BYTES;
export const SEARCH_PULSES: usize = SEARCH_DOUBLES + SEARCH_BYTES;
/** A band while its samples are put into another order: 176 floats for each of 8 blocks at most. */
export const REORDER: usize = SEARCH_PULSES + SEARCH_BYTES;
/** Raw bits, which are written to the packet from behind. */
export const RAW_BYTES: usize = REORDER + F32_BYTES * 192;
export const RAW_CAPACITY: usize = 1280;
/** Bytes of an attempt that is set aside, from the front and raw. */
export const ATTEMPT_BYTES: usize = RAW_BYTES + RAW_CAPACITY;
export const ATTEMPT_RAW: usize = ATTEMPT_BYTES + RAW_CAPACITY;
export const SCRATCH_END: usize = ATTEMPT_RAW + RAW_CAPACITY;

/** Distance between two short blocks, in SIGNAL. */
export const SHORT_BYTES: usize = FRAME_BYTES / SHORT_BLOCKS;
