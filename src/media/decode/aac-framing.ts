// How the packets of an AAC stream are to be read: by the stream's AudioSpecificConfig, or by the header of each packet
// (ADTS). Audio thread.

import { NodeError } from "../../errors.ts";
import { BitReader } from "../../lib/bit-reader.ts";
import { type AacConfig, aacRateIndex, parseAacConfig } from "../demux/aac-config.ts";
import { ADTS_HEADER_BYTES, parseAdtsHeader } from "../demux/adts/adts-header.ts";
import { type AacElement, type AacProgram, readAacProgram } from "../format/aac-program.ts";
import type { AudioStream } from "../format/packet.ts";
import type { Speaker } from "../format/speakers.ts";
import type { AacLayout, AacPacket } from "../kernels/aac-kernel.ts";

export interface AacFrame extends AacPacket {
  /** As in ISO 14496-3 table 1.17; 2 is LC, which HE-AAC extends. */
  readonly objectType: number;
  readonly sampleRateHz: number;
  /** Where they are not the usual ones for the number of channels. */
  readonly speakers: readonly Speaker[] | undefined;
}

/** The identifier of a program_config_element (ISO 14496-3 table 4.85). */
const PROGRAM_ID = 0b101;
const CHANNELS_MAX = 8;

const single = (channel: number): AacElement => ({ id: 0, tag: undefined, channels: [channel] });
const pair = (left: number): AacElement => ({ id: 1, tag: undefined, channels: [left, left + 1] });
const low = (channel: number): AacElement => ({ id: 3, tag: undefined, channels: [channel] });

/** Packets of mono and stereo have what they have: one channel, a pair, or two channels. */
const STEREO: AacLayout = { elements: [single(0), pair(0), single(1)], channelCount: 2 };
/**
 * By the number of channels, from 3 on (ISO 14496-3 table 1.19), in the output order of decode/down-mix.ts. Some encoders
 * write low frequencies as a single channel.
 */
const SURROUND: readonly (readonly AacElement[])[] = [
  [single(2), pair(0)],
  [single(2), pair(0), single(3)],
  [single(2), pair(0), pair(3)],
  [single(2), pair(0), pair(4), low(3), single(3)],
  [single(2), pair(0), pair(4), single(6), low(3)],
  [single(2), pair(0), pair(6), pair(4), low(3), single(3)],
];

/** Lowest rate that uses the tables of each of the twelve highest rates (ISO 14496-3 table 4.82). */
const RATES_FROM_HZ = [92_017, 75_132, 55_426, 46_009, 37_566, 27_713, 23_004, 18_783, 13_856, 11_502, 9391, 0];

export class AacFraming {
  /** The same for all packets; undefined where they have headers. */
  readonly #frame: AacFrame | undefined;
  /** As far as is known before the first packet. */
  readonly channelCount: number;
  /** What a packet with a header has described last. */
  #program: AacProgram | undefined;

  /** @throws NodeError "media-unsupported-codec" for set-up data that is damaged */
  constructor({ description, channelCount }: AudioStream) {
    const config = description && parseAacConfig(description);
    if (description !== undefined && config === undefined) {
      throw new NodeError("media-unsupported-codec", "set up the AAC decoder: its set-up data is invalid");
    }
    this.#frame = config && frameOf(config);
    this.channelCount = this.#frame?.layout.channelCount ?? Math.min(channelCount, CHANNELS_MAX);
  }

  /** Undefined for a packet without a header that needs one, or whose channels are not known. */
  read(packet: Uint8Array): AacFrame | undefined {
    return this.#frame ?? this.#readHeader(packet);
  }

  #readHeader(packet: Uint8Array): AacFrame | undefined {
    const header = parseAdtsHeader(packet);
    if (header === undefined) return undefined;
    const { sampleRateHz, channelCount } = header;
    const isProtected = (packet[1]! & 1) === 0;
    const fromByte = ADTS_HEADER_BYTES + (isProtected ? 2 : 0);
    const hasProgram = (packet[2]! & 1) === 0 && packet[3]! >> 6 === 0;
    if (hasProgram) this.#readProgram(packet.subarray(fromByte));
    const program = hasProgram ? this.#program : undefined;
    if (hasProgram && program === undefined) return undefined;
    const objectType = (packet[2]! >> 6) + 1;
    return { ...frameOf({ objectType, sampleRateHz, channelCount, program }), fromByte };
  }

  #readProgram(data: Uint8Array): void {
    const bits = new BitReader(data);
    if (bits.read(3) !== PROGRAM_ID) return;
    const program = readAacProgram(bits);
    if (program === undefined || program.speakers.length > CHANNELS_MAX) return;
    // Compared by content, so that the order of the speakers keeps its identity.
    if (program.bits !== this.#program?.bits) this.#program = program;
  }
}

type Coding = Pick<AacConfig, "objectType" | "sampleRateHz" | "channelCount" | "program">;

function frameOf({ objectType, sampleRateHz, channelCount, program }: Coding): AacFrame {
  return {
    objectType,
    sampleRateHz,
    fromByte: 0,
    rateIndex: aacRateIndex(sampleRateHz) ?? RATES_FROM_HZ.findIndex((lowest) => sampleRateHz >= lowest),
    layout: program === undefined ? usualLayout(channelCount) : layoutOf(program),
    speakers: program?.speakers,
  };
}

function usualLayout(channelCount: number): AacLayout {
  const elements = SURROUND[channelCount - 3];
  return elements === undefined ? STEREO : { elements, channelCount };
}

function layoutOf({ elements, speakers }: AacProgram): AacLayout {
  return { elements, channelCount: speakers.length };
}
