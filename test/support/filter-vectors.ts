// The recordings of upstream's filters in test/fixtures/filters, the signals they were made with, and functions to
// measure ours the same way. Signals are 48 kHz, stereo, 16 bit as floats: q(x) = floor(x * 32768 + 0.5) / 32768.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { StereoFifo } from "../../src/lib/stereo-fifo.ts";
import { EffectChain } from "../../src/media/effects/effect-chain.ts";
import { filterSettings } from "./filter-settings.ts";

/** The result of JSON.parse. */
export type Parsed = ReturnType<JSON["parse"]>;

export interface Stereo {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

const vectors: ReadonlyMap<string, Parsed> = new Map(
  gunzipSync(readFileSync(new URL("../fixtures/filters/vectors.jsonl.gz", import.meta.url)))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .map((vector) => [vector.file, vector]),
);

export const vectorNames: readonly string[] = [...vectors.keys()];

export function readVector(name: string): Parsed {
  const vector = vectors.get(name);
  if (vector === undefined) throw new Error(`no vector named ${name}`);
  return vector;
}

/** "same as L_to_L" and the like refer to a sibling. */
export function resolved(siblings: Parsed, name: string): Parsed {
  const value = siblings[name];
  return typeof value === "string" && value.startsWith("same as ") ? resolved(siblings, value.slice(8)) : value;
}

const quantized = (value: number) => Math.min(Math.max(Math.floor(value * 32_768 + 0.5), -32_768), 32_767) / 32_768;

function signal(lengthSamples: number, at: (sample: number) => readonly [number, number]): Stereo {
  const left = new Float32Array(lengthSamples);
  const right = new Float32Array(lengthSamples);
  for (let sample = 0; sample < lengthSamples; sample++) {
    const [l, r] = at(sample);
    left[sample] = quantized(l);
    right[sample] = quantized(r);
  }
  return { left, right };
}

function sweepPhase(sample: number): number {
  const growth = Math.log(1000);
  return ((2 * Math.PI * 20 * 4) / growth) * (Math.exp((growth * sample) / 48_000 / 4) - 1);
}

function noise(): Stereo {
  let state = 12_345;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 0.2 * (state / 2 ** 31 - 1);
  };
  return signal(96_000, () => [next(), next()]);
}

const sine = (amplitude: number, frequencyHz: number, sample: number) =>
  amplitude * Math.sin((2 * Math.PI * frequencyHz * sample) / 48_000);

export const signals = {
  sweep: signal(192_000, (at) => [0.5 * Math.sin(sweepPhase(at)), 0.5 * Math.sin(sweepPhase(at) + Math.PI / 2)]),
  tone: signal(96_000, (at) => [sine(0.25, 440, at), sine(0.25, 1000, at)]),
  noise: noise(),
  loud: signal(24_000, (at) => [sine(0.95, 100, at), sine(0.95, 100, at)]),
  clicks: signal(96_000, (at) => ([4800, 24_000, 48_000, 72_000].includes(at) ? [0.5, 0.5] : [0, 0])),
} as const;

export type SignalName = keyof typeof signals;

/** A chain that has these filters, as a client would send them, from its first sample on. */
export function chainWith(filters: Parsed, playerVolume = 100): EffectChain {
  const chain = new EffectChain();
  chain.setFilters(filterSettings(filters));
  chain.setVolume(playerVolume);
  chain.begin();
  return chain;
}

/** All audio through a chain, 20 ms at a time, for filters that keep its length. */
export function filtered(chain: EffectChain, input: Stereo, blockSamples = 960): Stereo {
  const lengthSamples = input.left.length;
  const output = { left: new Float32Array(lengthSamples), right: new Float32Array(lengthSamples) };
  const fifo = new StereoFifo();
  for (let start = 0; start < lengthSamples; start += blockSamples) {
    const end = Math.min(start + blockSamples, lengthSamples);
    fifo.append(input.left, input.right, start, end - start);
    chain.prepare(fifo, end - start);
    const [left, right] = [output.left.subarray(start, end), output.right.subarray(start, end)];
    chain.render(fifo, left, right, end - start);
    chain.level(left, right, end - start);
  }
  return output;
}

/** The response to an impulse of 1 at the first sample, on one side. */
export function impulseResponse(filters: Parsed, side: "left" | "right"): Stereo {
  const silence = () => new Float32Array(66_016);
  const input = { left: silence(), right: silence() };
  input[side][480] = 512 / 32_768;
  const { left, right } = filtered(chainWith(filters), input);
  const scaled = (audio: Float32Array) => audio.subarray(480).map((value) => value * 64);
  return { left: scaled(left), right: scaled(right) };
}

/** Magnitude and phase at one frequency. */
export function responseAt(response: Float32Array, frequencyHz: number): { magnitude: number; degrees: number } {
  const step = (-2 * Math.PI * frequencyHz) / 48_000;
  const stepCos = Math.cos(step);
  const stepSin = Math.sin(step);
  let re = 0;
  let im = 0;
  // Turned on by one step a sample: a second of them is off by 1e-11 at most, at a fraction of the time.
  let cos = 1;
  let sin = 0;
  let end = response.length;
  while (end > 0 && response[end - 1] === 0) end--;
  for (let sample = 0; sample < end; sample++) {
    const value = response[sample]!;
    re += value * cos;
    im += value * sin;
    const next = cos * stepCos - sin * stepSin;
    sin = sin * stepCos + cos * stepSin;
    cos = next;
  }
  return { magnitude: Math.hypot(re, im), degrees: (Math.atan2(im, re) * 180) / Math.PI };
}

export function rms(audio: Float32Array, from = 0, to = audio.length): number {
  let sum = 0;
  for (let sample = from; sample < to; sample++) sum += audio[sample]! ** 2;
  return Math.sqrt(sum / (to - from));
}

export function peak(audio: Float32Array): number {
  let largest = 0;
  for (const value of audio) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** RMS of each 10 ms. */
export function rms10(audio: Float32Array): number[] {
  return Array.from({ length: Math.floor(audio.length / 480) }, (_, index) =>
    rms(audio, index * 480, index * 480 + 480),
  );
}

/** The frequency near a carrier in each 10 ms: the phase of its second half against the first. */
export function instantFrequency10(audio: Float32Array, carrierHz: number): number[] {
  const phase = (start: number) => {
    let re = 0;
    let im = 0;
    for (let index = 0; index < 240; index++) {
      const weight = 0.5 - 0.5 * Math.cos((2 * Math.PI * (index + 0.5)) / 240);
      const angle = (-2 * Math.PI * carrierHz * (start + index)) / 48_000;
      re += weight * audio[start + index]! * Math.cos(angle);
      im += weight * audio[start + index]! * Math.sin(angle);
    }
    return Math.atan2(im, re);
  };
  return Array.from({ length: Math.floor(audio.length / 480) }, (_, index) => {
    const turned = phase(index * 480 + 240) - phase(index * 480);
    const wrapped = turned - 2 * Math.PI * Math.round(turned / (2 * Math.PI));
    return carrierHz + wrapped / (2 * Math.PI * 0.005);
  });
}

/** A float as upstream converts it. */
export function toSixteenBit(value: number): number {
  return Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value * 32_768), -32_768), 32_767);
}
