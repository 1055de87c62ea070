// Decides which packets can be sent to Discord unchanged. Called by packet-store.ts for every packet. Audio thread.

import type { AudioStream, Packet } from "../format/packet.ts";
import { isPassthroughHead, parseOpusHead } from "../opus/opus-head.ts";
import { isPassthroughPacket } from "../opus/opus-packet.ts";

export class PassablePackets {
  #stream: AudioStream | undefined;
  #isStreamPassable = false;

  /** True for 20 ms of Opus whose header asks for nothing a listener would miss. */
  has({ data }: Packet, stream: AudioStream): boolean {
    if (stream !== this.#stream) {
      this.#stream = stream;
      this.#isStreamPassable = isPassableStream(stream);
    }
    return this.#isStreamPassable && isPassthroughPacket(data);
  }
}

/** Mono or stereo in one Opus stream, without an output gain to apply (RFC 7845 section 5.1). */
function isPassableStream(stream: AudioStream): boolean {
  if (stream.codec !== "opus" || stream.channelCount > 2) return false;
  const head = stream.description === undefined ? undefined : parseOpusHead(stream.description);
  return head === undefined || isPassthroughHead(head);
}
