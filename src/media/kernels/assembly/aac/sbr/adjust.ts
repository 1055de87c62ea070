// Applies the gains to the generated subbands, smoothed over time, and adds noise and sines; then joins the core's subbands
// and the generated ones. AssemblyScript, part of the AAC decoder; ISO 14496-3 sections 4.6.18.7.5 and 4.6.18.7.6.

import {
  BAND_BYTES,
  BANDS,
  HIGH_BYTE,
  LOW_BYTE,
  MIXED_BYTES,
  PART_BYTES,
  RANDOM_BYTE,
  REPLICA_GAINS,
  REPLICA_HIGH,
  SLOTS_OF_TIME,
  TIMES_BYTE,
  TIMES_BYTES,
} from "../../../numbers/aac.ts";
import {
  BORDER,
  COUNT,
  ENVELOPES,
  FIRST,
  fact,
  IS_RESET,
  IS_SHARP,
  OLD_COUNT,
  OLD_END,
  OLD_FIRST,
  OLD_TRANSIENT,
  RANDOM_INDEX,
  SINE_INDEX,
  setFact,
  TRANSIENT,
} from "./facts.ts";
import { GAIN, mapAt, NOISE_GAIN, SINE_GAIN } from "./gains.ts";

const OFFSET: i32 = 2;
/** Slots of the past that smoothing takes into account, and its weights from now on back. */
const SMOOTHED: i32 = 4;
const WEIGHT_0: f32 = 0.33333333333333;
const WEIGHT_1: f32 = 0.30150283239582;
const WEIGHT_2: f32 = 0.21816949906249;
const WEIGHT_3: f32 = 0.11516383427084;
const WEIGHT_4: f32 = 0.03183050093751;
const GAINS: usize = TIMES_BYTE;
const NOISES: usize = TIMES_BYTE + TIMES_BYTES;
const RANDOM_NUMBERS: i32 = 512;
/** Slots behind the packet's. */
const REST: i32 = 6;
const HIGH_PART: usize = 32;

/** In `HIGH_BYTE`. */
export function adjust(header: usize, replica: usize): void {
  const count = fact(header, COUNT);
  const envelopes = fact(replica, ENVELOPES);
  const start = 2 * fact(replica, BORDER);
  const stop = 2 * fact(replica, BORDER + envelopes);
  const isReset = fact(header, IS_RESET) !== 0;
  const isSmooth = fact(header, IS_SHARP) === 0;
  for (let band = 0; band < count; band++) {
    const kept = replica + REPLICA_GAINS + 32 * band;
    for (let past = 0; past < SMOOTHED; past++) {
      const at: usize = 4 * (start + past);
      store<f32>(GAINS + at, isReset ? load<f32>(mapAt(GAIN, 0) + 4 * band) : load<f32>(kept + 4 * past));
      store<f32>(NOISES + at, isReset ? load<f32>(mapAt(NOISE_GAIN, 0) + 4 * band) : load<f32>(kept + 16 + 4 * past));
    }
    for (let envelope = 0; envelope < envelopes; envelope++) adjustBand(header, replica, band, envelope, isSmooth);
    v128.store(kept, v128.load(GAINS + 4 * stop));
    v128.store(kept + 16, v128.load(NOISES + 4 * stop));
  }
  const slots = stop - start;
  setFact(replica, RANDOM_INDEX, (fact(replica, RANDOM_INDEX) + count * slots) & (RANDOM_NUMBERS - 1));
  setFact(replica, SINE_INDEX, (fact(replica, SINE_INDEX) + slots) & 3);
}

function adjustBand(header: usize, replica: usize, band: i32, envelope: i32, isSmooth: bool): void {
  const start = 2 * fact(replica, BORDER + envelope);
  const stop = 2 * fact(replica, BORDER + envelope + 1);
  const gain = load<f32>(mapAt(GAIN, envelope) + 4 * band);
  const noise = load<f32>(mapAt(NOISE_GAIN, envelope) + 4 * band);
  for (let slot = start; slot < stop; slot++) {
    store<f32>(GAINS + 4 * (slot + SMOOTHED), gain);
    store<f32>(NOISES + 4 * (slot + SMOOTHED), noise);
  }
  const isTransient = envelope === fact(replica, TRANSIENT) || envelope === fact(replica, OLD_TRANSIENT);
  const sine = load<f32>(mapAt(SINE_GAIN, envelope) + 4 * band);
  const hasNoise = !isTransient && sine === 0;
  const subband = fact(header, FIRST) + band;
  const sign: f32 = (subband & 1) !== 0 ? -sine : sine;
  const first = 2 * fact(replica, BORDER);
  const count = fact(header, COUNT);
  let random = fact(replica, RANDOM_INDEX) + band + 1 + count * (start - first);
  let phase = fact(replica, SINE_INDEX) + start - first;
  let at: usize = HIGH_BYTE + BAND_BYTES * subband + 4 * (start + OFFSET);
  for (let slot = start; slot < stop; slot++) {
    const factor = isSmooth && !isTransient ? smoothed(GAINS + 4 * slot) : gain;
    let re = load<f32>(at) * factor;
    let im = load<f32>(at + PART_BYTES) * factor;
    if (hasNoise) {
      const level = isSmooth ? smoothed(NOISES + 4 * slot) : noise;
      const numbers: usize = RANDOM_BYTE + 8 * (random & (RANDOM_NUMBERS - 1));
      re += level * load<f32>(numbers);
      im += level * load<f32>(numbers + 4);
    } else if ((phase & 1) === 0) re += (phase & 2) === 0 ? sine : -sine;
    else im += (phase & 2) === 0 ? sign : -sign;
    store<f32>(at, re);
    store<f32>(at + PART_BYTES, im);
    random += count;
    phase++;
    at += 4;
  }
}

/** Of five values in a row, the last being the one of now. */
function smoothed(at: usize): f32 {
  return (
    WEIGHT_0 * load<f32>(at + 16) +
    WEIGHT_1 * load<f32>(at + 12) +
    WEIGHT_2 * load<f32>(at + 8) +
    WEIGHT_3 * load<f32>(at + 4) +
    WEIGHT_4 * load<f32>(at)
  );
}

/** Core and generated subbands to those of the output; the first slots may still be of the packet before. */
export function mix(header: usize, replica: usize, output: usize): void {
  memory.fill(output, 0, MIXED_BYTES);
  const first = fact(header, FIRST);
  const end = first + fact(header, COUNT);
  const oldFirst = fact(header, OLD_FIRST);
  const oldEnd = oldFirst + fact(header, OLD_COUNT);
  const oldBytes: usize = 4 * min(max(2 * fact(replica, OLD_END) - SLOTS_OF_TIME, 0), REST);
  const lowBytes: usize = 4 * (SLOTS_OF_TIME + REST) - oldBytes;
  const highBytes: usize = 4 * SLOTS_OF_TIME - oldBytes;
  for (let band = 0; band < BANDS; band++) {
    for (let part = 0; part < 2; part++) {
      const to = output + BAND_BYTES * band + PART_BYTES * part;
      const low: usize = LOW_BYTE + BAND_BYTES * band + PART_BYTES * part + 4 * OFFSET;
      const high: usize = HIGH_BYTE + BAND_BYTES * band + PART_BYTES * part + 4 * OFFSET;
      const kept = replica + REPLICA_HIGH + 2 * HIGH_PART * band + HIGH_PART * part;
      if (band < oldFirst) memory.copy(to, low, oldBytes);
      else if (band < oldEnd) memory.copy(to, kept, oldBytes);
      if (band < first) memory.copy(to + oldBytes, low + oldBytes, lowBytes);
      else if (band < end) {
        memory.copy(to + oldBytes, high + oldBytes, highBytes);
        memory.copy(kept, high + 4 * SLOTS_OF_TIME, 4 * REST);
      }
    }
  }
}
