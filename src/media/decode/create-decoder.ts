// The one place that knows which decoder plays which codec. Each is loaded when the first track needs it. Audio thread.

import { NodeError } from "../../errors.ts";
import type { AudioStream } from "../demux/demuxer.ts";
import type { Decoder } from "./decoder.ts";

/** A decoder for the stream. Rejects with NodeError `media-unsupported-codec` or `codec-unavailable`. */
export async function createDecoder(stream: AudioStream): Promise<Decoder> {
  switch (stream.codec) {
    case "opus":
      return (await import("./opus-decoder.ts")).createOpusDecoder(stream);
    default:
      throw new NodeError("media-unsupported-codec", `decode ${stream.codec}: not built yet`);
  }
}
