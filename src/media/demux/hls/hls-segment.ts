// A segment of an HLS stream, as its loader needs it: where its bytes are, and how to read them. Audio thread.

export interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** AES-128 in CBC mode over whole segments, the only encryption known here. */
export interface HlsKey {
  readonly url: URL;
  /** 16 bytes; undefined: made from the segment's number. */
  readonly iv: Uint8Array | undefined;
}

export interface HlsPart {
  readonly url: URL;
  readonly range: ByteRange | undefined;
  readonly key: HlsKey | undefined;
}

export interface HlsSegment extends HlsPart {
  readonly sequence: number;
  readonly durationMs: number;
  /** Sum of the durations before it in this playlist. */
  readonly startMs: number;
  /** Grows by one at every EXT-X-DISCONTINUITY: timestamps and formats continue only within one. */
  readonly discontinuity: number;
  /** Initialisation section that goes before it (fragmented MP4). */
  readonly map: HlsPart | undefined;
}
