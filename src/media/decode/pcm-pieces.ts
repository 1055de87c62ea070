// Splits packets of uncompressed audio. Some containers allow blocks of any length: decoding a whole minute of audio at
// once would block the thread. Audio thread.

import type { Packet } from "../format/packet.ts";

interface PcmPieces {
  readonly first: Packet;
  /** Undefined when `first` is the whole packet. */
  readonly rest: Packet | undefined;
}

/** Cuts off the first `pieceSamples` samples, or everything audible when there are no more. */
export function cutPcm(packet: Packet, { pieceSamples, frameBytes, sampleRateHz }: PieceSize): PcmPieces {
  const audibleSamples = Math.max(0, Math.floor(packet.data.length / frameBytes) - packet.trimEndSamples);
  const middle = Math.min(audibleSamples, pieceSamples) * frameBytes;
  if (audibleSamples <= pieceSamples) {
    return { first: { ...packet, data: packet.data.subarray(0, middle), trimEndSamples: 0 }, rest: undefined };
  }
  const pieceMs = (pieceSamples / sampleRateHz) * 1000;
  return {
    first: { ...packet, data: packet.data.subarray(0, middle), durationMs: pieceMs, trimEndSamples: 0 },
    rest: {
      ...packet,
      data: packet.data.subarray(middle),
      timestampMs: packet.timestampMs + pieceMs,
      durationMs: packet.durationMs - pieceMs,
    },
  };
}

interface PieceSize {
  readonly pieceSamples: number;
  /** Bytes of one sample of all channels. */
  readonly frameBytes: number;
  readonly sampleRateHz: number;
}
