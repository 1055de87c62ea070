// From the levels and shapes of bands to audio (RFC 6716 sections 4.3.6 and 4.3.7): the spectrum of each channel, and its
// inverse transform, whose blocks overlap. AssemblyScript, part of the CELT decoder.

import { reversed, transformLanes, transformLong } from "../../../../../opus-encoder/assembly/cosine-transform.ts";
import { BANDS, edge, meanLevel } from "../../../../../opus-encoder/assembly/format.ts";
import { floatAt, setFloat } from "../../../../../opus-encoder/assembly/lists.ts";
import {
  AMPLITUDES,
  BANDS_BYTES,
  CHANNEL_BYTES,
  LONG_TURNS,
  SHAPES,
  SHORT_TURNS,
  SPARE,
  SPECTRUM,
  WINDOW,
} from "../../../../../opus-encoder/assembly/memory-map.ts";
import { transpose } from "../lanes.ts";
import { MEANS, TURNS_240, TURNS_480 } from "./memory-map.ts";
import { powersOf2 } from "./power.ts";
import { scaleTo } from "./shapes.ts";
import { levels, signal } from "./slot.ts";

/** Binary logarithm of the loudest amplitude. */
const LEVEL_MAX: f32 = 32;
const VECTOR_BYTES: usize = 16;
/** A short block; and half an overlap, which is also half a short block. */
const BLOCK_BYTES: usize = 4 * 120;
const HALF_BYTES: usize = 4 * 60;
/** In SPARE, behind the input of up to 240 vectors. */
const TRANSFORMED: usize = SPARE + VECTOR_BYTES * 240;

/** Call once, at the start. */
export function prepareMeans(): void {
  for (let band = 0; band < BANDS; band++) setFloat(MEANS, band, meanLevel(band));
}

/** Writes the signal of `outputs` channels from `channels` coded ones. */
export function synthesize(channels: i32, outputs: i32, sizeLog: i32, bands: i32, isShort: bool, isSilent: bool): void {
  for (let channel = 0; channel < channels; channel++) writeSpectrum(channel, sizeLog, isSilent ? 0 : bands);
  if (outputs < channels) averageSpectra(sizeLog);
  for (let output = 0; output < outputs; output++) {
    const spectrum = SPECTRUM + usize(min(output, channels - 1)) * CHANNEL_BYTES;
    const audio = signal(output);
    if (isShort) transformShort(spectrum, audio + HALF_BYTES, sizeLog);
    else transformWhole(spectrum, audio + HALF_BYTES, sizeLog);
    const blocks: usize = isShort ? 1 << sizeLog : 1;
    for (let block: usize = 0; block < blocks; block++) overlap(audio + block * BLOCK_BYTES);
  }
}

function writeSpectrum(channel: i32, sizeLog: i32, bands: i32): void {
  const offset = usize(channel) * CHANNEL_BYTES;
  writeAmplitudes(levels(channel));
  for (let band = 0; band < bands; band++) {
    const start = edge(band) << sizeLog;
    const at = offset + (usize(start) << 2);
    scaleTo(SPECTRUM + at, SHAPES + at, (edge(band + 1) << sizeLog) - start, floatAt(AMPLITUDES, band));
  }
  const end = usize(bands > 0 ? edge(bands) << sizeLog : 0) << 2;
  memory.fill(SPECTRUM + offset + end, 0, (BLOCK_BYTES << usize(sizeLog)) - end);
}

/** Writes AMPLITUDES of all bands of a channel. */
function writeAmplitudes(list: usize): void {
  const most = f32x4.splat(LEVEL_MAX);
  for (let at: usize = 0; at < BANDS_BYTES; at += VECTOR_BYTES) {
    const level = f32x4.add(v128.load(list + at), v128.load(MEANS + at));
    v128.store(AMPLITUDES + at, powersOf2(f32x4.min(most, level)));
  }
}

/** Two coded channels become one. */
function averageSpectra(sizeLog: i32): void {
  const half = f32x4.splat(0.5);
  const end = SPECTRUM + (BLOCK_BYTES << usize(sizeLog));
  for (let at: usize = SPECTRUM; at < end; at += VECTOR_BYTES) {
    v128.store(at, f32x4.mul(half, f32x4.add(v128.load(at), v128.load(at + CHANNEL_BYTES))));
  }
}

function transformWhole(spectrum: usize, to: usize, sizeLog: i32): void {
  if (sizeLog === 3) transformLong(spectrum, to, 120, LONG_TURNS, 1, true);
  else if (sizeLog === 2) transformLong(spectrum, to, 60, TURNS_480, 1, true);
  else if (sizeLog === 1) transformFew(spectrum, to, 120, TURNS_240, 1);
  else transformFew(spectrum, to, 60, SHORT_TURNS, 1);
}

/** Blocks are interleaved in the spectrum, and one behind the other in the signal. */
function transformShort(spectrum: usize, to: usize, sizeLog: i32): void {
  if (sizeLog === 1) {
    transformFew(spectrum, to, 60, SHORT_TURNS, 2);
    return;
  }
  const step: usize = 4 << usize(sizeLog);
  for (let part: usize = 0; part < step; part += VECTOR_BYTES) {
    const last = 119 * VECTOR_BYTES;
    transformLanes(spectrum + part + 119 * step, -step, SPARE + last, -VECTOR_BYTES, 60, SHORT_TURNS, 1);
    const blocks = to + (part >> 2) * BLOCK_BYTES;
    for (let at: usize = 0; at < BLOCK_BYTES; at += VECTOR_BYTES) {
      transpose(SPARE + 4 * at, VECTOR_BYTES, blocks + at, BLOCK_BYTES);
    }
  }
}

/** One or two interleaved blocks of `2 * count` samples, in as many lanes; the other lanes are empty. */
function transformFew(spectrum: usize, to: usize, count: usize, turns: usize, blocks: usize): void {
  const zero = f32x4.splat(0);
  for (let index: usize = 0; index < 2 * count; index++) {
    const vector = SPARE + VECTOR_BYTES * index;
    v128.store(vector, zero);
    for (let block: usize = 0; block < blocks; block++) {
      store<f32>(vector + 4 * block, load<f32>(spectrum + 4 * (index * blocks + block)));
    }
  }
  const last = (2 * count - 1) * VECTOR_BYTES;
  transformLanes(SPARE + last, -VECTOR_BYTES, TRANSFORMED + last, -VECTOR_BYTES, count, turns, 1);
  for (let block: usize = 0; block < blocks; block++) {
    for (let index: usize = 0; index < 2 * count; index++) {
      store<f32>(to + 4 * (2 * count * block + index), load<f32>(TRANSFORMED + VECTOR_BYTES * index + 4 * block));
    }
  }
}

/** Joins the end of the block before, in the first 60 samples, with the beginning of this one, in the next 60. */
function overlap(audio: usize): void {
  for (let at: usize = 0; at < HALF_BYTES; at += VECTOR_BYTES) {
    const mirror = BLOCK_BYTES - VECTOR_BYTES - at;
    const before = v128.load(audio + at);
    const after = reversed(v128.load(audio + mirror));
    const rising = v128.load(WINDOW + at);
    const falling = reversed(v128.load(WINDOW + mirror));
    v128.store(audio + at, f32x4.sub(f32x4.mul(falling, before), f32x4.mul(rising, after)));
    v128.store(audio + mirror, reversed(f32x4.add(f32x4.mul(rising, before), f32x4.mul(falling, after))));
  }
}
