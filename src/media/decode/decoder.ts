// The interface of every audio decoder to the pipeline: one packet in, planar 32-bit float audio out. Audio thread.

import type { Speaker } from "../format/speakers.ts";

/** Decoded audio, planar, full scale ±1. The next call may reuse the arrays: copy what must last. */
export interface PcmBlock {
  /** The speaker of each channel where the stream declares other ones than its codec's usual order. */
  readonly speakers?: readonly Speaker[] | undefined;
  readonly channels: readonly Float32Array[];
  /** Valid samples in each channel; the arrays may be longer. */
  readonly lengthSamples: number;
  /** May differ from the stream's, and change: HE-AAC has twice the container's rate. */
  readonly sampleRateHz: number;
  /** The decoder put silence in the place of audio that it could not decode. */
  readonly isConcealed?: boolean;
}

/**
 * A decoder for one stream. Synchronous decoders return the block itself, others a promise; one call at a time. A
 * damaged packet yields a block of length 0 (counted), never a throw; a codec that cannot continue throws NodeError.
 */
export interface Decoder {
  /** The next packet of the stream, whole (PCM: any number of whole sample frames). */
  decode(packet: Uint8Array): PcmBlock | Promise<PcmBlock>;
  /** The audio still inside the decoder at the end of the stream; length 0 when there is none. */
  flush(): PcmBlock | Promise<PcmBlock>;
  /** Clears all state, for a jump in the stream. */
  reset(): void;
  /** Frees native or WASM memory. May be called at any time, more than once. */
  close(): void;
}
