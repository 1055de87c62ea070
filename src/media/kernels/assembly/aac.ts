// Decodes AAC-LC and HE-AAC (ISO 14496-3 subpart 4), one packet a call. AssemblyScript; the host writes the tables,
// packets, elements and slots (../aac-kernel.ts). Whatever a packet holds, only this memory is read and written.

import {
  CHANNELS_MAX,
  FRAME_SAMPLES,
  OUTPUT_BYTE,
  OUTPUT_SAMPLES,
  PACKET_BYTE,
  REPLICAS_BYTE,
  SLOT_STEREO,
  SLOT_STREAM,
  STATE_REPLICATED,
  STATES_BYTE,
  STREAM_NOISE,
  STREAM_REPLICATED,
  STREAM_STEREO,
} from "../numbers/aac.ts";
import {
  channelAt,
  clearChannel,
  copyWindows,
  fact,
  PARTNER,
  RATE,
  readBooks,
  readGains,
  readMask,
  readPulses,
  readWindows,
  setFact,
  spectrumAt,
} from "./aac/channel.ts";
import {
  COUPLING,
  DATA,
  END,
  FILL,
  findElement,
  firstChannel,
  LOW_FREQUENCIES,
  PAIR,
  PROGRAM,
  readFillBytes,
  secondChannel,
  skipCouplingGains,
  skipCouplingHead,
  skipData,
  skipProgram,
  startElements,
} from "./aac/elements.ts";
import { clearStereo } from "./aac/ps/facts.ts";
import { clearReplica } from "./aac/sbr/facts.ts";
import { readPayload } from "./aac/sbr/payload.ts";
import { replicate } from "./aac/sbr/replicate.ts";
import { readFilters, shape } from "./aac/shaping.ts";
import { readSpectrum } from "./aac/spectrum.ts";
import { direct, separate } from "./aac/stereo.ts";
import { toSamples } from "./aac/windows.ts";
import { bitFrom, read, startAt } from "./bits.ts";

/** More of these are no music. */
const COUPLINGS_MAX: i32 = 16;
const NO_CHANNEL: i32 = -1;
/** Kinds of fill elements: spectral band replication, without and with checksum (table 4.121). */
const REPLICATION: i32 = 13;
const CHECKED_REPLICATION: i32 = 14;

/** Where the packet ends. */
let endBit: i32 = 0;
/** Address of what the stream as a whole retains. */
let stream: usize = 0;
/** The stream may have a single channel, which parametric stereo makes two of. */
let isMono: bool = false;

/**
 * Decodes the packet in memory from byte `fromByte` on; `rate` is the index of the sample rate, `channels` how many the
 * stream has. Returns which channels the packet holds, the lowest bit for the first; 0 for a packet that is damaged. The
 * audio has twice the rate where `STREAM_REPLICATED` is not 0. Missing channels of a stream with three or more fade out.
 */
export function decode(streamAt: usize, fromByte: i32, sizeBytes: i32, rate: i32, channels: i32): i32 {
  startAt(PACKET_BYTE, 8 * fromByte);
  endBit = 8 * sizeBytes;
  stream = streamAt;
  isMono = channels <= 2;
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
    toSamples(at, spectrum, stateOf(channel), outputOf(channel));
  }
  if (load<i32>(stream + STREAM_REPLICATED) !== 0) replicateAll(found, channels);
  return found === 1 && load<i32>(stream + STREAM_STEREO) !== 0 ? 3 : found;
}

function replicateAll(found: i32, channels: i32): void {
  for (let channel = 0; channel < channels; channel++) {
    if ((found & (1 << channel)) === 0 && channels <= 2) continue;
    const partner = fact(channelAt(channel), PARTNER);
    if (partner < 0) continue;
    if (found === 1 && load<i32>(stream + STREAM_STEREO) !== 0) {
      replicate(replicaOf(0), replicaOf(1), stereoAt(), outputOf(0), outputOf(1));
    } else {
      const right: usize = partner === 0 ? 0 : replicaOf(partner);
      replicate(replicaOf(channel), right, 0, outputOf(channel), outputOf(partner));
    }
  }
}

/** What a stream retains for parametric stereo. */
function stereoAt(): usize {
  return stream - SLOT_STREAM + SLOT_STEREO;
}

function stateOf(channel: i32): usize {
  return load<u32>(STATES_BYTE + 4 * channel);
}

function outputOf(channel: i32): usize {
  return OUTPUT_BYTE + 4 * OUTPUT_SAMPLES * channel;
}

/** What a channel retains for replication, which is empty at first. */
function replicaOf(channel: i32): usize {
  const replica: usize = load<u32>(REPLICAS_BYTE + 4 * channel);
  const state = stateOf(channel);
  if (load<i32>(state + STATE_REPLICATED) === 0) {
    clearReplica(replica);
    store<i32>(state + STATE_REPLICATED, 1);
  }
  return replica;
}

/** Reads raw_data_block. Returns the channels, or -1 for a packet that is damaged. */
function readElements(): i32 {
  let found = 0;
  let couplings = 0;
  /** Of the last element, which replication is for. */
  let last = NO_CHANNEL;
  startElements();
  while (bitFrom(PACKET_BYTE) + 3 <= endBit) {
    const id = read(3);
    if (id === END) break;
    let isValid: bool;
    if (id === DATA) isValid = skipData(endBit);
    else if (id === FILL) isValid = readFill(last);
    else if (id === PROGRAM) isValid = skipProgram(endBit);
    else if (id === COUPLING) {
      isValid = couplings++ < COUPLINGS_MAX && skipCoupling();
      last = NO_CHANNEL;
    } else {
      const element = findElement(id, read(4));
      if (element === 0) return -1;
      const channel = firstChannel(element);
      if (id === PAIR) isValid = readPair(channel, secondChannel(element));
      else isValid = readChannel(channelAt(channel), spectrumAt(channel), false);
      found |= 1 << channel;
      if (id === PAIR) found |= 1 << secondChannel(element);
      last = id === LOW_FREQUENCIES ? NO_CHANNEL : channel;
    }
    if (!isValid || isPastEnd()) return -1;
  }
  return found;
}

/** Reads fill_element, behind the channel `last`. False: it is longer than the packet. */
function readFill(last: i32): bool {
  const bits = 8 * readFillBytes();
  const end = bitFrom(PACKET_BYTE) + bits;
  if (bits === 0) return true;
  if (end > endBit) return false;
  const kind = read(4);
  if ((kind === REPLICATION || kind === CHECKED_REPLICATION) && last !== NO_CHANNEL) {
    if (load<i32>(stream + STREAM_REPLICATED) === 0) clearStereo(stereoAt());
    store<i32>(stream + STREAM_REPLICATED, 1);
    const channel = channelAt(last);
    const partner = fact(channel, PARTNER);
    const right: usize = partner === 0 ? 0 : replicaOf(partner);
    const stereo: usize = isMono && right === 0 ? stereoAt() : 0;
    const hasStereo = readPayload(
      replicaOf(last),
      right,
      stereo,
      kind === CHECKED_REPLICATION,
      end,
      fact(channel, RATE),
    );
    if (hasStereo) store<i32>(stream + STREAM_STEREO, 1);
  }
  startAt(PACKET_BYTE, end);
  return true;
}

function isPastEnd(): bool {
  return bitFrom(PACKET_BYTE) > endBit;
}

/** Reads channel_pair_element behind its tag. False: it is not valid. */
function readPair(first: i32, second: i32): bool {
  const left = channelAt(first);
  const right = channelAt(second);
  setFact(left, PARTNER, second);
  setFact(right, PARTNER, -1);
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
  readSpectrum(channel, spectrum, stream + STREAM_NOISE);
  return true;
}

/** Channels that are added to others are left out. */
function skipCoupling(): bool {
  const head = skipCouplingHead();
  const channel = channelAt(CHANNELS_MAX);
  clearChannel(channel, fact(channel, RATE));
  return readChannel(channel, spectrumAt(CHANNELS_MAX), false) && skipCouplingGains(channel, head);
}
