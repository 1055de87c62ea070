// Decodes Apple Lossless packets in our own code: the optional package that decodes AAC cannot open ALAC. Up to eight
// channels (in the order of the format: centre first) and 32 bits. Audio thread.

import { NodeError } from "../../errors.ts";
import { BitReader } from "../../lib/bit-reader.ts";
import type { AudioStream } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { type ResidueProgress, readResidue, undoDifferences, undoPrediction } from "./alac-coding.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import { decodeInSlices } from "./decode-in-slices.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { requirePlayableRate } from "./resampler.ts";

interface AlacSettings {
  readonly frameSamples: number;
  readonly bitsPerSample: number;
  readonly pace: number;
  readonly meanStart: number;
  readonly suffixBitsMax: number;
  readonly channelCount: number;
  readonly sampleRateHz: number;
}

const CHANNELS_MAX = 8;
/** The format's default is 4096, and no known encoder writes others; larger frames take too long to decode at once. */
const FRAME_SAMPLES_MAX = 16_384;

/** The elements of a packet, each with a tag of three bits. */
const ELEMENT_MONO = 0;
const ELEMENT_PAIR = 1;
const ELEMENT_LOW_FREQUENCY = 3;
const ELEMENT_DATA = 4;
const ELEMENT_FILL = 6;
const ELEMENT_END = 7;

/** Samples of one channel between two clock checks: a fraction of a millisecond, even before the code is compiled. */
const STEP_SAMPLES = 512;

/**
 * Throws NodeError `media-unsupported-codec` when the magic cookie is invalid. With a budget, packets that take long
 * are decoded in time slices.
 */
export function createAlacDecoder(stream: AudioStream, budget?: TrackBudget): Decoder {
  const settings = stream.description && parseCookie(stream.description);
  if (settings === undefined) {
    throw new NodeError("media-unsupported-codec", "set up an ALAC decoder: the stream's magic cookie is damaged");
  }
  requirePlayableRate(settings.sampleRateHz);
  return new AlacDecoder(settings, budget);
}

class AlacDecoder implements Decoder {
  readonly #settings: AlacSettings;
  readonly #budget: TrackBudget | undefined;
  readonly #damage = new DamageLimit("alac");
  readonly #channels: readonly Float32Array[];
  /** Work space: a pair's samples. */
  readonly #pair: readonly [Int32Array, Int32Array];
  #isClosed = false;

  constructor(settings: AlacSettings, budget: TrackBudget | undefined) {
    this.#settings = settings;
    this.#budget = budget;
    const { frameSamples, channelCount } = settings;
    this.#channels = Array.from({ length: channelCount }, () => new Float32Array(frameSamples));
    this.#pair = [new Int32Array(frameSamples), new Int32Array(frameSamples)];
  }

  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    const steps = this.#decodePacket(new BitReader(packet));
    const result = decodeInSlices(steps, this.#budget, { isClosed: () => this.#isClosed, ifClosed: 0 });
    return typeof result === "number" ? this.#toBlock(result) : result.then((samples) => this.#toBlock(samples));
  }

  #toBlock(lengthSamples: number): PcmBlock {
    if (this.#isClosed) return EMPTY_BLOCK;
    if (lengthSamples === 0) return this.#damage.damaged();
    this.#damage.clear();
    return { channels: this.#channels, lengthSamples, sampleRateHz: this.#settings.sampleRateHz };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    // Packets do not depend on each other.
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Returns the samples decoded, 0 when the packet is damaged or has not all channels. */
  *#decodePacket(bits: BitReader): Steps {
    let channel = 0;
    let lengthSamples = 0;
    while (!bits.isPastEnd) {
      const tag = bits.read(3);
      if (tag === ELEMENT_END) return channel === this.#channels.length ? lengthSamples : 0;
      if (tag === ELEMENT_FILL || tag === ELEMENT_DATA) {
        skipElement(bits, tag);
        continue;
      }
      if (tag !== ELEMENT_MONO && tag !== ELEMENT_PAIR && tag !== ELEMENT_LOW_FREQUENCY) return 0;
      const count = tag === ELEMENT_PAIR ? 2 : 1;
      if (channel + count > this.#channels.length) return 0;
      const samples = yield* this.#decodeElement(bits, channel, count);
      if (samples === 0 || (channel > 0 && samples !== lengthSamples)) return 0;
      lengthSamples = samples;
      channel += count;
    }
    return 0;
  }

  /**
   *     instance(4) unused(12) hasLength(1) lowBytes(2) isPlain(1) [length(32)]
   *
   * then plain samples, or mixing, a predictor per channel, the low bytes, and the residue of each channel.
   */
  *#decodeElement(bits: BitReader, firstChannel: number, count: 1 | 2): Steps {
    const { frameSamples, bitsPerSample } = this.#settings;
    bits.skip(16);
    const hasLength = bits.read(1) === 1;
    const lowBits = bits.read(2) * 8;
    const isPlain = bits.read(1) === 1;
    const length = hasLength ? bits.read(32) : frameSamples;
    if (length === 0 || length > frameSamples || lowBits >= bitsPerSample) return 0;
    if (isPlain) yield* this.#readPlain(bits, count, length);
    else yield* this.#decodeCompressed(bits, { count, length, lowBits });
    if (bits.isPastEnd) return 0;
    for (let index = 0; index < count; index++) {
      toFloats(this.#pair[index]!, this.#channels[firstChannel + index]!, { length, scale: 2 ** (1 - bitsPerSample) });
      yield;
    }
    return length;
  }

  *#readPlain(bits: BitReader, count: number, length: number): Generator<void, void> {
    const { bitsPerSample } = this.#settings;
    for (let sample = 0; sample < length && !bits.isPastEnd; sample++) {
      if (sample % STEP_SAMPLES === 0) yield;
      for (let index = 0; index < count; index++) this.#pair[index]![sample] = bits.readSigned(bitsPerSample);
    }
  }

  *#decodeCompressed(
    bits: BitReader,
    { count, length, lowBits }: { readonly count: 1 | 2; readonly length: number; readonly lowBits: number },
  ): Generator<void, void> {
    const mixBits = bits.read(8);
    const mixWeight = bits.readSigned(8);
    const predictors = Array.from({ length: count }, () => readPredictor(bits));
    const low = bits.fork();
    bits.skip(lowBits * count * length);
    const sampleBits = this.#settings.bitsPerSample - lowBits + count - 1;
    for (const [index, predictor] of predictors.entries()) {
      yield* this.#decodeChannel(bits, this.#pair[index]!, { predictor, length, sampleBits: Math.min(sampleBits, 32) });
    }
    if (count === 2 && mixWeight !== 0) unmix(this.#pair, { length, mixBits, mixWeight });
    if (lowBits > 0) appendLowBits(low, this.#pair, { count, length, lowBits });
  }

  *#decodeChannel(
    bits: BitReader,
    samples: Int32Array,
    {
      predictor,
      length,
      sampleBits,
    }: { readonly predictor: Predictor; readonly length: number; readonly sampleBits: number },
  ): Generator<void, void> {
    const { meanStart, suffixBitsMax } = this.#settings;
    const pace = Math.floor((this.#settings.pace * predictor.paceFactor) / 4);
    const coding = { count: length, valueBits: sampleBits, pace, meanStart, suffixBitsMax };
    const progress: ResidueProgress = { index: 0, mean: meanStart, offset: 0 };
    while (progress.index < length && !bits.isPastEnd) {
      readResidue(bits, samples, { ...coding, progress, end: Math.min(length, progress.index + STEP_SAMPLES) });
      yield;
    }
    if (predictor.mode !== 0) undoDifferences(samples, length, sampleBits);
    const { coefficients, scaleBits } = predictor;
    for (let start = 0; start < length; start += STEP_SAMPLES) {
      const end = Math.min(length, start + STEP_SAMPLES);
      undoPrediction(samples, coefficients, { start, end, sampleBits, scaleBits });
      yield;
    }
  }
}

/** Decoding in steps; yields the number of samples decoded. */
type Steps = Generator<void, number>;

interface Predictor {
  readonly mode: number;
  readonly scaleBits: number;
  readonly paceFactor: number;
  readonly coefficients: Int16Array;
}

/** mode(4) scale(4) pace(3) order(5), then the coefficients, 16 bits each. */
function readPredictor(bits: BitReader): Predictor {
  const mode = bits.read(4);
  const scaleBits = bits.read(4);
  const paceFactor = bits.read(3);
  const order = bits.read(5);
  return { mode, scaleBits, paceFactor, coefficients: Int16Array.from({ length: order }, () => bits.readSigned(16)) };
}

/** A pair is coded as a weighted middle and the difference. */
function unmix(
  [first, second]: readonly [Int32Array, Int32Array],
  { length, mixBits, mixWeight }: { readonly length: number; readonly mixBits: number; readonly mixWeight: number },
): void {
  for (let sample = 0; sample < length; sample++) {
    const difference = second[sample]!;
    const left = first[sample]! + difference - ((mixWeight * difference) >> mixBits);
    first[sample] = left;
    second[sample] = left - difference;
  }
}

/** Appends the low bytes of 24 and 32 bit audio, which are stored uncoded, channel after channel. */
function appendLowBits(
  low: BitReader,
  pair: readonly [Int32Array, Int32Array],
  { count, length, lowBits }: { readonly count: 1 | 2; readonly length: number; readonly lowBits: number },
): void {
  const [first, second] = pair;
  for (let sample = 0; sample < length; sample++) {
    first[sample] = (first[sample]! << lowBits) | low.read(lowBits);
    if (count === 2) second[sample] = (second[sample]! << lowBits) | low.read(lowBits);
  }
}

function toFloats(
  samples: Int32Array,
  channel: Float32Array,
  { length, scale }: { readonly length: number; readonly scale: number },
): void {
  for (let sample = 0; sample < length; sample++) channel[sample] = samples[sample]! * scale;
}

function skipElement(bits: BitReader, tag: number): void {
  if (tag === ELEMENT_FILL) {
    const count = bits.read(4);
    bits.skip(8 * (count === 15 ? 14 + bits.read(8) : count));
    return;
  }
  bits.skip(4);
  const isAligned = bits.read(1) === 1;
  const count = bits.read(8);
  const total = count === 255 ? 255 + bits.read(8) : count;
  if (isAligned) bits.alignToByte();
  bits.skip(8 * total);
}

/**
 * The magic cookie, big-endian: frameLength(4) version(1) bitDepth(1) pb(1) mb(1) kb(1) channels(1) maxRun(2)
 * maxFrameBytes(4) averageBitRate(4) sampleRate(4). Some containers leave it in its "alac" box of 12 bytes more.
 */
function parseCookie(bytes: Uint8Array): AlacSettings | undefined {
  const isBoxed = String.fromCharCode(...bytes.subarray(4, 8)) === "alac";
  const cookie = isBoxed ? bytes.subarray(12) : bytes;
  if (cookie.length < 24) return undefined;
  const view = new DataView(cookie.buffer, cookie.byteOffset, cookie.length);
  const settings: AlacSettings = {
    frameSamples: view.getUint32(0),
    bitsPerSample: view.getUint8(5),
    pace: view.getUint8(6),
    meanStart: view.getUint8(7),
    suffixBitsMax: view.getUint8(8),
    channelCount: view.getUint8(9),
    sampleRateHz: view.getUint32(20),
  };
  const { frameSamples, bitsPerSample, suffixBitsMax, channelCount } = settings;
  const isSane =
    frameSamples > 0 &&
    frameSamples <= FRAME_SAMPLES_MAX &&
    [16, 20, 24, 32].includes(bitsPerSample) &&
    suffixBitsMax > 0 &&
    suffixBitsMax < 32 &&
    channelCount > 0 &&
    channelCount <= CHANNELS_MAX;
  return isSane ? settings : undefined;
}
