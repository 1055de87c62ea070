// One stream of Opus packets, mono or stereo: frames that are CELT only, as music mostly is, by our own decoder, which
// takes less time than libopus; streams with anything else by libopus from there on. Audio thread.

import { CeltStream } from "../kernels/celt-kernel.ts";
import type { Libopus } from "../opus/libopus.ts";
import { OPUS_PACKET_BYTES_MAX, type OpusPacket, parseOpusPacket } from "../opus/opus-packet.ts";
import { PastPackets } from "./past-packets.ts";
import { PlanarAudio } from "./planar-audio.ts";

/** Coded bands by bandwidth: narrow, wide, super-wide and full (RFC 6716 section 4.3). */
const BANDS = [13, 17, 19, 21];
const CELT_CONFIG_MIN = 16;
/** Frames with fewer bytes were not transmitted: libopus conceals their loss. */
const FRAME_BYTES_MIN = 2;
/** Of the output gain in OpusHead, for a factor of 10. */
const GAIN_STEPS = 20 * 256;

/** `gainQ8` is the output gain of OpusHead, 1/256 dB. */
export interface OpusStreamOptions {
  readonly channelCount: 1 | 2;
  readonly gainQ8: number;
}

/** Where there are no vector instructions, libopus decodes everything. */
export class OpusStream {
  readonly #options: OpusStreamOptions;
  readonly #gain: number;
  readonly #audio: PlanarAudio;
  readonly #past = new PastPackets();
  #celt: CeltStream | undefined;
  #library: LibopusStream | undefined;

  constructor(options: OpusStreamOptions) {
    this.#options = options;
    this.#gain = 10 ** (options.gainQ8 / GAIN_STEPS);
    this.#audio = new PlanarAudio(options.channelCount);
    this.#celt = CeltStream.start(options.channelCount);
  }

  get channels(): readonly Float32Array[] {
    return this.#audio.channels;
  }

  /**
   * Samples decoded into `channels`; 0 or less when the packet is damaged. Undefined, with nothing changed, when it needs
   * `opus` and that is not given.
   */
  decode(packet: Uint8Array, opus: Libopus | undefined): number | undefined {
    if (this.#library !== undefined) return this.#library.decode(packet);
    const parsed = parseOpusPacket(packet);
    if (parsed === undefined) return 0;
    if (this.#celt === undefined || !isCeltOnly(parsed)) {
      return opus === undefined ? undefined : this.#goOver(opus).decode(packet);
    }
    this.#past.push(packet);
    return this.#decodeCelt(this.#celt, parsed);
  }

  /** The next packets may be CELT only again. */
  reset(): void {
    this.#past.clear();
    if (this.#celt !== undefined) {
      this.#celt.reset();
      return;
    }
    this.#library?.close();
    this.#library = undefined;
    this.#celt = CeltStream.start(this.#options.channelCount);
  }

  close(): void {
    this.#celt?.close();
    this.#library?.close();
  }

  #decodeCelt(celt: CeltStream, { config, isStereo, frameSamples, frames }: OpusPacket): number {
    const format = {
      sizeLog: config & 3,
      bands: BANDS[(config - CELT_CONFIG_MIN) >> 2]!,
      channelCount: isStereo ? 2 : 1,
    } as const;
    this.#audio.reserve(frameSamples * frames.length);
    let lengthSamples = 0;
    for (const frame of frames) {
      if (!celt.decode(frame, format, this.#gain)) return 0;
      this.#audio.write(celt.channels, lengthSamples, frameSamples);
      lengthSamples += frameSamples;
    }
    return lengthSamples;
  }

  /** To libopus, which first decodes the last packets again: its state is then close to ours, and nothing is heard. */
  #goOver(opus: Libopus): LibopusStream {
    const library = new LibopusStream(opus, this.#options, this.#audio);
    this.#library = library;
    for (const packet of this.#past.packets()) library.decode(packet);
    this.#past.clear();
    this.#celt?.close();
    this.#celt = undefined;
    return library;
  }
}

function isCeltOnly({ mode, frames }: OpusPacket): boolean {
  return mode === "celt" && frames.every((frame) => frame.length >= FRAME_BYTES_MIN);
}

/** One decoder of libopus. */
class LibopusStream {
  readonly #opus: Libopus;
  readonly #options: OpusStreamOptions;
  readonly #audio: PlanarAudio;
  #decoder = 0;
  #generation = 0;

  constructor(opus: Libopus, options: OpusStreamOptions, audio: PlanarAudio) {
    this.#opus = opus;
    this.#options = options;
    this.#audio = audio;
    this.#make();
  }

  decode(packet: Uint8Array): number {
    if (packet.length === 0 || packet.length > OPUS_PACKET_BYTES_MAX) return 0;
    // The library was replaced after another player's packet.
    if (this.#generation !== this.#opus.generation) this.#make();
    this.#opus.module.HEAPU8.set(packet, this.#opus.packetPointer);
    const samples = this.#opus.decode(this.#decoder, packet.length);
    if (samples > 0) {
      this.#audio.reserve(samples);
      this.#audio.writeInterleaved(this.#opus.module.HEAPF32, this.#opus.pcmPointer >> 2, samples);
    }
    return samples;
  }

  close(): void {
    const isThere = this.#decoder !== 0 && this.#generation === this.#opus.generation;
    if (isThere) this.#opus.module._oc_destroy_decoder(this.#decoder);
    this.#decoder = 0;
  }

  /** Takes about 15 µs. */
  #make(): void {
    this.#decoder = this.#opus.createDecoder(this.#options.channelCount, this.#options.gainQ8);
    this.#generation = this.#opus.generation;
  }
}
