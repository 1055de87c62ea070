// What the AAC decoder must be told in the stream itself: the package passes no AudioSpecificConfig on to it, so the
// first packet gets an ADTS header with the object type, and the description of its channels. Audio thread.

import { BitReader } from "../../lib/bit-reader.ts";
import { type AacConfig, aacRateIndex, parseAacConfig } from "../demux/aac-config.ts";
import { type AacProgram, readAacProgram } from "../format/aac-program.ts";
import type { AudioStream } from "../format/packet.ts";
import type { Speaker } from "../format/speakers.ts";

/** The identifier of a program_config_element (ISO 14496-3 table 4.85). */
const PROGRAM_ID = 0b101;
const LOW_COMPLEXITY = 2;
const HEADER_BYTES = 7;
/** The size has 13 bits. */
const FRAME_BYTES_MAX = 8191;

export class AacHead {
  /** Undefined where the packets have headers, or the decoder's own guess is right. */
  readonly #config: AacConfig | undefined;
  readonly #hasHeaders: boolean;
  #program: AacProgram | undefined;

  constructor({ description }: AudioStream) {
    const config = description && parseAacConfig(description);
    this.#hasHeaders = description === undefined;
    this.#program = config?.program;
    // Without a header the decoder assumes LC, and as many channels as it is told.
    if (config?.program !== undefined || (config !== undefined && config.objectType !== LOW_COMPLEXITY)) {
      this.#config = config;
    }
  }

  /** The decoder's output order where it is not the usual one for the number of channels. */
  speakersFor(channelCount: number): readonly Speaker[] | undefined {
    return this.#program?.speakers.length === channelCount ? this.#program.speakers : undefined;
  }

  /** The packet as the decoder needs it when it is the first one after a start or a jump. */
  first(packet: Uint8Array): Uint8Array {
    if (this.#config === undefined) return packet;
    const { objectType, channelCount, program } = this.#config;
    const element = program === undefined ? new Uint8Array(0) : programBytes(program);
    const sizeBytes = HEADER_BYTES + element.length + packet.length;
    const rateIndex = aacRateIndex(this.#config.sampleRateHz);
    if (sizeBytes > FRAME_BYTES_MAX || rateIndex === undefined) return packet;
    const channels = program !== undefined ? 0 : channelCount === 8 ? 7 : channelCount;
    const frame = new Uint8Array(sizeBytes);
    const digits = (value: number, count: number) => value.toString(2).padStart(count, "0");
    const header = `111111111111${"0001"}${digits(objectType - 1, 2)}${digits(rateIndex, 4)}0${digits(channels, 3)}0000`;
    frame.set(toBytes(`${header}${digits(sizeBytes, 13)}1111111111100`));
    frame.set(element, HEADER_BYTES);
    frame.set(packet, HEADER_BYTES + element.length);
    return frame;
  }

  /** Takes note of the channels that a packet with a header describes. */
  inspect(packet: Uint8Array): void {
    const hasProgram = this.#hasHeaders && ((packet[2] ?? 0) & 1) === 0 && (packet[3] ?? 0) >> 6 === 0;
    if (!hasProgram) return;
    const isProtected = ((packet[1] ?? 1) & 1) === 0;
    const bits = new BitReader(packet.subarray(HEADER_BYTES + (isProtected ? 2 : 0)));
    if (bits.read(3) !== PROGRAM_ID) return;
    const program = readAacProgram(bits);
    // Compared by content, so that the order keeps its identity.
    if (program !== undefined && program.bits !== this.#program?.bits) this.#program = program;
  }
}

/** The element with its identifier, aligned, with an empty comment. */
function programBytes({ bits }: AacProgram): Uint8Array {
  const text = `${PROGRAM_ID.toString(2)}${bits}`;
  return toBytes(`${text.padEnd(Math.ceil(text.length / 8) * 8, "0")}00000000`);
}

function toBytes(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 8 }, (_, at) => Number.parseInt(text.slice(8 * at, 8 * at + 8), 2));
}
