// Decodes one FLAC frame (RFC 9639 section 9) in our own code: the bit depths that the library outputs as silence, and
// frames whose predictions leave 32 bits, which the library gives up on. All numbers are doubles: a prediction of 32
// coefficients of 15 bits over samples of 33 bits needs 52 bits. Audio thread.

import { BitReader } from "../../lib/bit-reader.ts";
import { type FlacFrameHeader, flacCrc16 } from "../demux/flac-frame-header.ts";

/** A frame whose header was read. */
interface FlacFrame {
  /** The whole frame, with its CRC-16; damaged bytes of frames behind it may follow. */
  readonly packet: Uint8Array;
  readonly header: FlacFrameHeader;
  /** 4 to 32; of the header, else of STREAMINFO. */
  readonly bitsPerSample: number;
}

/** Decoding in steps of some tens of microseconds; false when the frame is damaged. */
type Steps = Generator<void, boolean>;

/** Prediction steps (samples times order) between two yields. */
const STEP_PRODUCTS = 16 * 1024;
/** Residues read between two yields. */
const STEP_SAMPLES = 1024;

/** Bytes of the checksum between two yields. */
const STEP_BYTES = 16 * 1024;

/** The predictors with fixed coefficients, by their order (RFC 9639 section 9.2.5). */
const FIXED_COEFFICIENTS: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/** Decodes into `channels`, ±1, as long as the frame at least. They hold parts of the audio when it returns false. */
export function* decodeFlacFrame(frame: FlacFrame, channels: readonly Float32Array[]): Steps {
  const { packet, header, bitsPerSample } = frame;
  const length = header.blockSamples;
  const bits = new BitReader(packet);
  bits.skip(header.sizeBytes * 8);
  const sideIndex = header.channelCode === 9 ? 0 : header.channelCode > 7 ? 1 : -1;
  const values: Float64Array[] = [];
  for (let index = 0; index < header.channelCount; index++) {
    const samples = new Float64Array(length);
    const isWhole = yield* readSubframe(bits, samples, bitsPerSample + (index === sideIndex ? 1 : 0));
    if (!isWhole || bits.isPastEnd) return false;
    values.push(samples);
  }
  if (!(yield* isSumRight(packet, bits.positionBytes))) return false;
  const [first, second] = values;
  if (sideIndex >= 0 && first !== undefined && second !== undefined) joinPair(header.channelCode, first, second);
  const scale = 2 ** (1 - bitsPerSample);
  for (const [index, samples] of values.entries()) {
    yield;
    const channel = channels[index]!;
    for (let at = 0; at < length; at++) channel[at] = samples[at]! * scale;
  }
  return true;
}

/** True when the CRC-16 of the bytes before `end` is there. */
function* isSumRight(packet: Uint8Array, end: number): Steps {
  if (end + 2 > packet.length) return false;
  let crc = 0;
  for (let start = 0; start < end; start += STEP_BYTES) {
    yield;
    crc = flacCrc16(packet, { start, end: Math.min(end, start + STEP_BYTES), crc });
  }
  return crc === ((packet[end]! << 8) | packet[end + 1]!);
}

/** Type of 6 bits between a zero and the flag of wasted bits, then the samples (RFC 9639 section 9.2). */
function* readSubframe(bits: BitReader, samples: Float64Array, subframeBits: number): Steps {
  if (bits.read(1) !== 0) return false;
  const type = bits.read(6);
  const wastedBits = bits.read(1) === 1 ? readUnary(bits) + 1 : 0;
  const sampleBits = subframeBits - wastedBits;
  if (sampleBits < 1) return false;
  if (type === 0) samples.fill(readSample(bits, sampleBits));
  else if (type === 1) yield* readVerbatim(bits, samples, sampleBits);
  else if (!(yield* readPredicted(bits, samples, { type, sampleBits }))) return false;
  if (wastedBits > 0) {
    const factor = 2 ** wastedBits;
    for (let at = 0; at < samples.length; at++) samples[at]! *= factor;
  }
  return true;
}

function* readVerbatim(bits: BitReader, samples: Float64Array, sampleBits: number): Generator<void, void> {
  for (let at = 0; at < samples.length; at++) {
    if (at % STEP_SAMPLES === 0) yield;
    samples[at] = readSample(bits, sampleBits);
  }
}

interface Predicted {
  readonly type: number;
  readonly sampleBits: number;
}

/** Types 8 to 12 have fixed coefficients, 32 to 63 their own. */
function* readPredicted(bits: BitReader, samples: Float64Array, { type, sampleBits }: Predicted): Steps {
  const order = type < 32 ? type - 8 : type - 31;
  if (order < 0 || (type < 32 && order > 4) || order > samples.length) return false;
  for (let at = 0; at < order; at++) samples[at] = readSample(bits, sampleBits);
  let coefficients = FIXED_COEFFICIENTS[order] ?? [];
  let shift = 0;
  if (type >= 32) {
    const precision = bits.read(4) + 1;
    shift = bits.readSigned(5);
    if (precision === 16 || shift < 0) return false;
    coefficients = Array.from({ length: order }, () => bits.readSigned(precision));
  }
  if (!(yield* readResidues(bits, samples, order))) return false;
  return yield* addPredictions(samples, Float64Array.from(coefficients), { divisor: 2 ** shift, sampleBits });
}

/** Partitions of Rice codes, each with its own parameter (RFC 9639 section 9.2.7). */
function* readResidues(bits: BitReader, samples: Float64Array, order: number): Steps {
  const method = bits.read(2);
  if (method > 1) return false;
  const parameterBits = method === 0 ? 4 : 5;
  const partitionOrder = bits.read(4);
  const partitionSamples = samples.length / 2 ** partitionOrder;
  if (!Number.isInteger(partitionSamples) || partitionSamples < order) return false;
  for (let start = 0; start < samples.length; start += partitionSamples) {
    const parameter = bits.read(parameterBits);
    const isPlain = parameter === 2 ** parameterBits - 1;
    const plainBits = isPlain ? bits.read(5) : 0;
    for (let at = Math.max(start, order); at < start + partitionSamples; at++) {
      if (at % STEP_SAMPLES === 0) {
        if (bits.isPastEnd) return false;
        yield;
      }
      if (!isPlain) samples[at] = readRice(bits, parameter);
      else samples[at] = plainBits === 0 ? 0 : bits.readSigned(plainBits);
    }
  }
  return true;
}

interface Prediction {
  readonly divisor: number;
  readonly sampleBits: number;
}

/** Adds to each residue what the samples before it predict; false when a sample leaves its range. */
function* addPredictions(
  samples: Float64Array,
  coefficients: Float64Array,
  { divisor, sampleBits }: Prediction,
): Steps {
  const order = coefficients.length;
  const limit = 2 ** (sampleBits - 1);
  const stepSamples = Math.floor(STEP_PRODUCTS / Math.max(4, order));
  for (let at = order; at < samples.length; at++) {
    if (at % stepSamples === 0) yield;
    let sum = 0;
    for (let index = 0; index < order; index++) sum += coefficients[index]! * samples[at - 1 - index]!;
    const value = samples[at]! + Math.floor(sum / divisor);
    if (value < -limit || value >= limit) return false;
    samples[at] = value;
  }
  return true;
}

/** Left and right from one of them, or their middle, and their difference. */
function joinPair(channelCode: number, first: Float64Array, second: Float64Array): void {
  for (let at = 0; at < first.length; at++) {
    const [one, other] = [first[at]!, second[at]!];
    if (channelCode === 8) second[at] = one - other;
    else if (channelCode === 9) first[at] = one + other;
    else {
      const middle = 2 * one + Math.abs(other % 2);
      first[at] = (middle + other) / 2;
      second[at] = (middle - other) / 2;
    }
  }
}

/** A two's complement number of 1 to 33 bits. */
function readSample(bits: BitReader, count: number): number {
  return count <= 32 ? bits.readSigned(count) : bits.readSigned(32) * 2 + bits.read(1);
}

/** Zeros up to a one, which is read as well; ends at the end of the data. */
function readUnary(bits: BitReader): number {
  let count = 0;
  for (;;) {
    const zeros = Math.clz32(bits.peek32());
    if (zeros < 32) {
      bits.skip(zeros + 1);
      return count + zeros;
    }
    bits.skip(32);
    count += 32;
    if (bits.isPastEnd) return count;
  }
}

/** The lowest bit is the sign. */
function readRice(bits: BitReader, parameter: number): number {
  const high = readUnary(bits);
  const folded = parameter === 0 ? high : high * 2 ** parameter + bits.read(parameter);
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
}
