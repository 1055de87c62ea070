// Decodes AAC-LC (ISO 14496-3 subpart 4), one packet a call. AssemblyScript; the host writes the tables, packets,
// elements and slots (../aac-kernel.ts). Whatever a packet holds, only this memory is read and written.

import {
  CHANNELS_MAX,
  EXTENDED,
  FRAME_SAMPLES,
  OUTPUT_BYTE,
  OUTPUT_SAMPLES,
  PACKET_BYTE,
  STATES_BYTE,
} from "../numbers/aac.ts";
import {
  channelAt,
  clearChannel,
  copyWindows,
  fact,
  RATE,
  readBooks,
  readGains,
  readMask,
  readPulses,
  readWindows,
  spectrumAt,
} from "./aac/channel.ts";
import {
  COUPLING,
  DATA,
  END,
  FILL,
  findElement,
  firstChannel,
  hasExtension,
  PAIR,
  PROGRAM,
  secondChannel,
  skipCouplingGains,
  skipCouplingHead,
  skipData,
  skipFill,
  skipProgram,
  startElements,
} from "./aac/elements.ts";
import { readFilters, shape } from "./aac/shaping.ts";
import { readSpectrum } from "./aac/spectrum.ts";
import { direct, separate } from "./aac/stereo.ts";
import { toSamples } from "./aac/windows.ts";
import { bitFrom, read, startAt } from "./bits.ts";

/** More of these are no music. */
const COUPLINGS_MAX: i32 = 16;

/** Where the packet ends. */
let endBit: i32 = 0;
/** Address of the state of the noise generator. */
let noise: usize = 0;

/**
 * Decodes the packet in memory from byte `fromByte` on; `rate` is the index of the sample rate, `channels` how many the
 * stream has. Returns which channels the packet holds, the lowest bit for the first; 0 for a packet that is damaged,
 * which changes nothing; and `EXTENDED` for one with data of HE-AAC. Missing channels of a stream with three or more fade out.
 */
export function decode(slot: usize, fromByte: i32, sizeBytes: i32, rate: i32, channels: i32): i32 {
  startAt(PACKET_BYTE, 8 * fromByte);
  endBit = 8 * sizeBytes;
  noise = slot;
  for (let channel = 0; channel <= CHANNELS_MAX; channel++) clearChannel(channelAt(channel), rate);
  const found = readElements();
  if (found <= 0) return 0;
  for (let channel = 0; channel < channels; channel++) {
    const isFound = (found & (1 << channel)) !== 0;
    if (!isFound && channels <= 2) continue;
    const at = channelAt(channel);
    const spectrum = spectrumAt(channel);
    if (isFound) shape(at, spectrum);
    else memory.fill(spectrum, 0, 4 * FRAME_SAMPLES);
    const state: usize = load<u32>(STATES_BYTE + 4 * channel);
    toSamples(at, spectrum, state, OUTPUT_BYTE + 4 * OUTPUT_SAMPLES * channel);
  }
  return hasExtension() ? found | EXTENDED : found;
}

/** Reads raw_data_block. Returns the channels, or -1 for a packet that is damaged. */
function readElements(): i32 {
  let found = 0;
  let couplings = 0;
  startElements();
  while (bitFrom(PACKET_BYTE) + 3 <= endBit) {
    const id = read(3);
    if (id === END) break;
    let isValid: bool;
    if (id === DATA) isValid = skipData(endBit);
    else if (id === FILL) isValid = skipFill(endBit);
    else if (id === PROGRAM) isValid = skipProgram(endBit);
    else if (id === COUPLING) isValid = couplings++ < COUPLINGS_MAX && skipCoupling();
    else {
      const element = findElement(id, read(4));
      if (element === 0) return -1;
      const channel = firstChannel(element);
      if (id === PAIR) isValid = readPair(channel, secondChannel(element));
      else isValid = readChannel(channelAt(channel), spectrumAt(channel), false);
      found |= 1 << channel;
      if (id === PAIR) found |= 1 << secondChannel(element);
    }
    if (!isValid || isPastEnd()) return -1;
  }
  return found;
}

function isPastEnd(): bool {
  return bitFrom(PACKET_BYTE) > endBit;
}

/** Reads channel_pair_element behind its tag. False: it is not valid. */
function readPair(first: i32, second: i32): bool {
  const left = channelAt(first);
  const right = channelAt(second);
  const isShared = read(1) !== 0;
  if (isShared) {
    if (!readWindows(left)) return false;
    copyWindows(left, right);
    if (!readMask(left)) return false;
  }
  if (!readChannel(left, spectrumAt(first), isShared) || !readChannel(right, spectrumAt(second), isShared))
    return false;
  if (isShared) separate(left, right, spectrumAt(first), spectrumAt(second));
  direct(left, right, spectrumAt(first), spectrumAt(second));
  return true;
}

/** Reads individual_channel_stream. False: it is not valid. `hasWindows`: they are known. */
function readChannel(channel: usize, spectrum: usize, hasWindows: bool): bool {
  const gain = read(8);
  if (!hasWindows && !readWindows(channel)) return false;
  if (!readBooks(channel) || isPastEnd() || !readGains(channel, gain)) return false;
  if (!readPulses(channel) || !readFilters(channel) || isPastEnd()) return false;
  // Gain control is of another profile.
  if (read(1) !== 0) return false;
  readSpectrum(channel, spectrum, noise);
  return true;
}

/** Channels that are added to others are left out. */
function skipCoupling(): bool {
  const head = skipCouplingHead();
  const channel = channelAt(CHANNELS_MAX);
  clearChannel(channel, fact(channel, RATE));
  return readChannel(channel, spectrumAt(CHANNELS_MAX), false) && skipCouplingGains(channel, head);
}
