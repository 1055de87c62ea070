// Decodes Opus packets to audio at 48 kHz: mono and stereo as coded, and more channels as several streams in one packet
// (RFC 7845 mapping family 1, and 255 without an order of channels), each with its own decoder. Audio thread.

import { SAMPLE_RATE_HZ } from "../format/audio-format.ts";
import type { AudioStream } from "../format/packet.ts";
import type { Libopus } from "../opus/libopus.ts";
import type { OpusHead } from "../opus/opus-head.ts";
import { buildOpusPacket, OPUS_PACKET_SAMPLES_MAX, parseOpusPacket } from "../opus/opus-packet.ts";
import type { Loadable } from "./codec-modules.ts";
import { DamageLimit, EMPTY_BLOCK } from "./damage-limit.ts";
import type { Decoder, PcmBlock } from "./decoder.ts";
import { OpusStream } from "./opus-stream.ts";
import { opusHeadOf } from "./require-playable.ts";

/**
 * Where the speakers of Vorbis order are among channels without a declared order, by their count: such channels mostly
 * are in the order of WAV files.
 */
const UNDECLARED_ORDERS = new Map<number, readonly number[]>([
  [3, [0, 2, 1]],
  [5, [0, 2, 1, 3, 4]],
  [6, [0, 2, 1, 4, 5, 3]],
  [7, [0, 2, 1, 5, 6, 4, 3]],
  [8, [0, 2, 1, 6, 7, 4, 5, 3]],
]);

/**
 * A decoder for the stream; without OpusHead it counts as stereo. Throws NodeError `media-unsupported-codec`. Packets
 * that need `library` are answered with a promise until it is loaded.
 */
export function createOpusDecoder(library: Loadable<Libopus>, stream: AudioStream): Decoder {
  return new OpusDecoder(library, opusHeadOf(stream));
}

class OpusDecoder implements Decoder {
  readonly #library: Loadable<Libopus>;
  readonly #damage = new DamageLimit("opus");
  readonly #streams: OpusStream[];
  /** For each output channel, the index of its audio among all streams' channels. */
  readonly #mapping: readonly number[];
  #silence: Float32Array | undefined;
  /** Counts the resets. */
  #run = 0;
  #isClosed = false;

  constructor(library: Loadable<Libopus>, head: OpusHead) {
    this.#library = library;
    const order = head.family > 1 ? UNDECLARED_ORDERS.get(head.channelCount) : undefined;
    this.#mapping = order?.map((index) => head.mapping[index]!) ?? head.mapping;
    this.#streams = Array.from({ length: head.streamCount }, (_, index) => {
      return new OpusStream({ channelCount: index < head.coupledCount ? 2 : 1, gainQ8: head.gainQ8 });
    });
  }

  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock> {
    if (this.#isClosed) return EMPTY_BLOCK;
    const [first] = this.#streams;
    const opus = this.#library.loaded;
    const samples =
      this.#streams.length === 1 && first !== undefined
        ? first.decode(packet, opus)
        : this.#decodeStreams(packet, opus);
    if (samples === undefined) return this.#decodeWhenLoaded(packet);
    if (samples <= 0) return this.#damage.damaged();
    this.#damage.clear();
    return { channels: this.#mapOutput(), lengthSamples: samples, sampleRateHz: SAMPLE_RATE_HZ };
  }

  flush(): PcmBlock {
    return EMPTY_BLOCK;
  }

  reset(): void {
    if (this.#isClosed) return;
    this.#run += 1;
    for (const stream of this.#streams) stream.reset();
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.close();
  }

  /** A packet from before a reset is of no use any more, and its bytes may have been overwritten. */
  async #decodeWhenLoaded(packet: Uint8Array): Promise<PcmBlock> {
    const run = this.#run;
    await this.#library.load();
    return run === this.#run ? this.decode(packet) : EMPTY_BLOCK;
  }

  /**
   * All streams' packets lie one behind the other, all but the last self-delimited (RFC 6716 appendix B). Each packet
   * waits for libopus: where a later stream needed it, the earlier ones would be decoded twice.
   */
  #decodeStreams(packet: Uint8Array, opus: Libopus | undefined): number | undefined {
    if (opus === undefined) return undefined;
    let rest = packet;
    let lengthSamples = -1;
    for (const [index, stream] of this.#streams.entries()) {
      const isSelfDelimited = index < this.#streams.length - 1;
      const parsed = parseOpusPacket(rest, { isSelfDelimited });
      if (parsed === undefined) return 0;
      const plain = isSelfDelimited ? buildOpusPacket(parsed.config, parsed.isStereo, parsed.frames) : rest;
      const samples = stream.decode(plain, opus) ?? 0;
      if (samples <= 0 || (lengthSamples >= 0 && samples !== lengthSamples)) return 0;
      lengthSamples = samples;
      rest = rest.subarray(parsed.sizeBytes);
    }
    return lengthSamples;
  }

  #mapOutput(): readonly Float32Array[] {
    const [first] = this.#streams;
    if (this.#streams.length === 1 && first?.channels.length === this.#mapping.length) return first.channels;
    const decoded = this.#streams.flatMap((stream) => stream.channels);
    return this.#mapping.map((index) => decoded[index] ?? this.#silentChannel());
  }

  #silentChannel(): Float32Array {
    this.#silence ??= new Float32Array(OPUS_PACKET_SAMPLES_MAX);
    return this.#silence;
  }
}
