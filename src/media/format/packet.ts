// Compressed audio between container and decoder: a stream's set-up, and its packets with their times. Audio thread.

import type { AUDIO_CODECS } from "../../bridge/audio-metrics.ts";

/** The codecs that can be decoded. */
export type AudioCodec = (typeof AUDIO_CODECS)[number];

/** Sample layout of uncompressed audio; interleaved. `float` is IEEE 754; 8-bit integers of WAV are unsigned. */
export interface PcmLayout {
  /** A-law and mu-law (ITU-T G.711) have 8 bits. */
  readonly encoding: "unsigned" | "signed" | "float" | "alaw" | "mulaw";
  /** 8, 16, 24, 32 or 64. */
  readonly bitsPerSample: number;
  readonly isBigEndian: boolean;
}

/** The audio stream chosen from the container. */
export interface AudioStream {
  readonly codec: AudioCodec;
  /** Rate of the timestamps' sample grid and, where known, of the decoded audio. 48000 for Opus. */
  readonly sampleRateHz: number;
  readonly channelCount: number;
  /**
   * Set-up data in each codec's usual form: Opus: the OpusHead packet; Vorbis: the three header packets, Xiph-laced as
   * in Matroska CodecPrivate; AAC: AudioSpecificConfig (undefined: packets carry ADTS headers); FLAC: "fLaC" + metadata
   * blocks; ALAC: the magic cookie; MP3 and PCM: undefined.
   */
  readonly description: Uint8Array | undefined;
  /** Only for codec "pcm". */
  readonly pcm: PcmLayout | undefined;
  /** Loudness of the whole track, played in stereo, in LUFS (EBU R128), from its tags if they declare it. */
  readonly loudnessLufs?: number | undefined;
}

/** One compressed packet (one codec frame; for PCM a block of whole sample frames of about 20 ms). */
export interface Packet {
  /** The packet's bytes; never written again by the demuxer. */
  readonly data: Uint8Array;
  /**
   * Time of the packet's first decoded sample in milliseconds, with fractions. 0 is the first audible sample: encoder
   * delay and pre-skip have negative times, and the pipeline drops samples before 0 (or before a seek target).
   */
  readonly timestampMs: number;
  /** Length of the audio it decodes to, in milliseconds, as far as the container declares it. */
  readonly durationMs: number;
  /** Samples (at the stream's rate) to drop from the end of the decoded packet: end padding. Usually 0. */
  readonly trimEndSamples: number;
}
