// The one place that knows which decoder plays which codec. Each is loaded when the first track needs it. Audio thread.

import type { AudioStream } from "../demux/demuxer.ts";
import type { Decoder } from "./decoder.ts";

/** A decoder for the stream. Rejects with NodeError `media-unsupported-codec` or `codec-unavailable`. */
export async function createDecoder(stream: AudioStream): Promise<Decoder> {
  switch (stream.codec) {
    case "opus":
      return (await import("./opus-decoder.ts")).createOpusDecoder(stream);
    case "mp3":
      return (await import("./mp3-decoder.ts")).createMp3Decoder();
    case "vorbis":
      return (await import("./vorbis-decoder.ts")).createVorbisDecoder(stream);
    case "flac":
      return (await import("./flac-decoder.ts")).createFlacDecoder(stream);
    case "pcm":
      return (await import("./pcm-decoder.ts")).createPcmDecoder(stream);
    case "aac":
      return (await import("./aac-decoder.ts")).createAacDecoder(stream);
    case "alac":
      return (await import("./alac-decoder.ts")).createAlacDecoder(stream);
  }
}
