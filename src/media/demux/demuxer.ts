// What every container reader looks like to the pipeline: compressed packets of one audio stream in order, with times.
// Audio thread.

export type AudioCodec = "opus" | "vorbis" | "mp3" | "aac" | "flac" | "alac" | "pcm";

/** Sample layout of uncompressed audio; interleaved. `float` is IEEE 754; 8-bit integers of WAV are unsigned. */
export interface PcmLayout {
  readonly encoding: "unsigned" | "signed" | "float" | "alaw" | "mulaw";
  /** 8, 16, 24, 32 or 64. */
  readonly bitsPerSample: number;
  readonly isBigEndian: boolean;
}

/** The audio stream chosen from the container. */
export interface AudioStream {
  readonly codec: AudioCodec;
  /** Rate of the timestamps' sample grid and, where known, of the decoded sound. 48000 for Opus. */
  readonly sampleRateHz: number;
  readonly channelCount: number;
  /**
   * Set-up data in each codec's usual form: Opus: the OpusHead packet; Vorbis: the three header packets, Xiph-laced as in
   * Matroska CodecPrivate; AAC: AudioSpecificConfig (undefined: packets carry ADTS headers); FLAC: "fLaC" + metadata
   * blocks; ALAC: the magic cookie; MP3 and PCM: undefined.
   */
  readonly description: Uint8Array | undefined;
  /** Only for codec "pcm". */
  readonly pcm: PcmLayout | undefined;
  /** Loudness of the whole song, heard in stereo, in LUFS (EBU R128), where its tags tell. */
  readonly loudnessLufs?: number | undefined;
}

/** One compressed packet (one codec frame; for PCM a block of whole sample frames of about 20 ms). */
export interface Packet {
  /** The packet's bytes; never written again by the demuxer. */
  readonly data: Uint8Array;
  /**
   * Time of the packet's first decoded sample in milliseconds, with fractions. 0 is the first sample meant to be heard:
   * encoder delay and pre-skip have negative times, and the pipeline drops what lies before 0 (or before a seek target).
   */
  readonly timestampMs: number;
  /** Length of the sound it decodes to, in milliseconds, as far as the container tells. */
  readonly durationMs: number;
  /** Samples (at the stream's rate) to drop from the end of the decoded packet: end padding. Usually 0. */
  readonly trimEndSamples: number;
}

/** Tags and facts of the container, read when it was opened. */
export interface ContainerInfo {
  /** Lavalink's name for the container (protocol-v4.md section 5.4): "mp3", "matroska/webm", "ogg", "adts" … */
  readonly probeName: string;
  readonly title: string | undefined;
  readonly author: string | undefined;
  readonly isrc: string | undefined;
  /** Only when the file names one by URL; embedded pictures are not served. */
  readonly artworkUrl: string | undefined;
  /** Whole length in milliseconds; undefined when unknown or endless. */
  readonly lengthMs: number | undefined;
}

export interface Demuxer {
  readonly info: ContainerInfo;
  /** May be replaced during playback (chained Ogg, HLS discontinuity): compare after each packet by identity. */
  readonly stream: AudioStream;
  /** True when `seek` works: container knows times and the source is random access (or the target is buffered). */
  readonly isSeekable: boolean;
  /** The next packet, or undefined at the end. Damaged packets are skipped. Rejects with a NodeError from the source. */
  next(): Promise<Packet | undefined>;
  /**
   * Goes to the last point from which decoding yields correct sound at `positionMs` (including the codec's pre-roll: 80 ms
   * for Opus, one packet or more for others). The following packets start at or before the target; the pipeline drops
   * the samples before it. A target behind the end makes `next` return undefined.
   */
  seek(positionMs: number): Promise<void>;
  /** Closes the byte source as well. */
  close(): void;
}
