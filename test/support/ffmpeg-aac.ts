// FFmpeg's AAC decoder, as a reference for ours: of the development package @napi-rs/webcodecs, which has no build for some
// platforms.

import type { PcmBlock } from "../../src/media/decode/decoder.ts";
import { aacRateIndex, parseAacConfig } from "../../src/media/demux/aac-config.ts";
import type { AudioStream } from "../../src/media/format/packet.ts";
import { BitWriter } from "./aac-packets.ts";

const webCodecs = await import("@napi-rs/webcodecs").catch(() => undefined);

export const hasFfmpegAac = webCodecs !== undefined;

/** What each packet decodes to. */
export async function decodeByFfmpeg(
  stream: AudioStream,
  packets: readonly Uint8Array[],
): Promise<readonly PcmBlock[]> {
  if (webCodecs === undefined) throw new Error("the package @napi-rs/webcodecs has no build for this machine");
  const blocks: PcmBlock[] = [];
  let failure: Error | undefined;
  const decoder = new webCodecs.AudioDecoder({
    output: (data) => {
      const { numberOfFrames, numberOfChannels, sampleRate } = data;
      const channels = Array.from({ length: numberOfChannels }, (_, planeIndex) => {
        const channel = new Float32Array(numberOfFrames);
        data.copyTo(channel, { planeIndex, format: "f32-planar" });
        return channel;
      });
      blocks.push({ channels, lengthSamples: numberOfFrames, sampleRateHz: sampleRate });
      data.close();
    },
    error: (error) => {
      failure = error;
    },
  });
  const { sampleRateHz: sampleRate, channelCount: numberOfChannels, description } = stream;
  decoder.configure({ codec: "mp4a.40.2", sampleRate, numberOfChannels, ...(description && { description }) });
  for (const [timestamp, packet] of packets.entries()) {
    const data = timestamp === 0 ? withProgram(packet, stream) : packet;
    decoder.decode(new webCodecs.EncodedAudioChunk({ type: "key", timestamp, data }));
  }
  await decoder.flush();
  decoder.close();
  if (failure !== undefined) throw failure;
  return blocks;
}

/** The package does not tell FFmpeg which channels a stream has: the first packet gets a header that does. */
function withProgram(packet: Uint8Array, stream: AudioStream): Uint8Array {
  const config = stream.description && parseAacConfig(stream.description);
  if (config?.program === undefined) return packet;
  const element = new BitWriter().write(0b101, 3);
  for (const bit of config.program.bits) element.write(Number(bit), 1);
  element.write(0, (8 - (element.bitCount % 8)) % 8).write(0, 8);
  const sizeBytes = 7 + element.bitCount / 8 + packet.length;
  const frame = new BitWriter().write(0xfff1, 16).write(1, 2).write(aacRateIndex(config.sampleRateHz)!, 4);
  frame.write(0, 8).write(sizeBytes, 13).write(0x1ffc, 13).append(element);
  return Uint8Array.of(...frame.toBytes(), ...packet);
}
