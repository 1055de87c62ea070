// Maps each codec to its decoder; nothing else does. Each is loaded when the first track needs it. Audio thread.

import type { AudioStream } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import { type CodecModules, type Loadable, ownCodecModules } from "./codec-modules.ts";
import type { Decoder } from "./decoder.ts";
import { decoderBytes } from "./decoder-bytes.ts";

export interface DecoderParts {
  readonly modules?: CodecModules;
  /** The decoder's memory is reserved from this budget until the decoder is closed. */
  readonly budget?: TrackBudget | undefined;
  /**
   * Also waits for the library that MP3 and Opus need for few packets, so that these are decoded at once too. Default:
   * false, they are answered with a promise until it is loaded.
   */
  readonly isComplete?: boolean | undefined;
}

/**
 * A decoder for the stream. Rejects with NodeError `media-unsupported-codec`, `codec-unavailable` or
 * `memory-exhausted`.
 */
export async function createDecoder(
  stream: AudioStream,
  { modules = ownCodecModules, ...parts }: DecoderParts = {},
): Promise<Decoder> {
  const { budget } = parts;
  if (budget === undefined) return create(stream, { modules, ...parts });
  const { memory } = budget;
  const sizeBytes = decoderBytes(stream);
  memory.take(sizeBytes, `decoding ${stream.codec}`);
  try {
    const decoder = await create(stream, { modules, ...parts });
    return new CountedDecoder(decoder, () => memory.release(sizeBytes));
  } catch (error) {
    memory.release(sizeBytes);
    throw error;
  }
}

async function create(
  stream: AudioStream,
  { modules, budget, isComplete = false }: DecoderParts & { readonly modules: CodecModules },
): Promise<Decoder> {
  switch (stream.codec) {
    case "opus":
      await request(modules.libopus("decode"), { isComplete });
      return (await import("./opus-decoder.ts")).createOpusDecoder(modules.libopus("decode"), stream);
    case "mp3":
      await request(modules.wasm("mp3"), { isComplete });
      return (await import("./mp3-decoder.ts")).createMp3Decoder(modules.wasm("mp3"));
    case "vorbis":
      return (await import("./vorbis-decoder.ts")).createVorbisDecoder(
        await modules.wasm("vorbis").load(),
        stream,
        budget,
      );
    case "flac":
      return (await import("./flac-decoder.ts")).createFlacDecoder(await modules.wasm("flac").load(), stream, budget);
    case "pcm":
      return (await import("./pcm-decoder.ts")).createPcmDecoder(stream);
    case "aac":
      return (await import("./aac-decoder.ts")).createAacDecoder(stream);
    case "alac":
      return (await import("./alac-decoder.ts")).createAlacDecoder(stream, budget);
  }
}

/**
 * Loads a library that few packets need. All others are decoded without it, so nobody waits for it unless `isComplete`;
 * but a packet that needs it may come at any time, and the audio that is ready may be too short to load it only then.
 */
async function request(library: Loadable<unknown>, { isComplete }: { readonly isComplete: boolean }): Promise<void> {
  const loading = library.load();
  if (isComplete) await loading;
  else loading.catch(() => undefined); // it is tried again with the packet that needs it, whose decoder reports it
}

/** Releases its memory when it is closed. */
class CountedDecoder implements Decoder {
  readonly #decoder: Decoder;
  readonly #release: () => void;
  #isClosed = false;

  constructor(decoder: Decoder, release: () => void) {
    this.#decoder = decoder;
    this.#release = release;
  }

  decode(packet: Uint8Array): ReturnType<Decoder["decode"]> {
    return this.#decoder.decode(packet);
  }

  flush(): ReturnType<Decoder["flush"]> {
    return this.#decoder.flush();
  }

  reset(): void {
    this.#decoder.reset();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
    this.#decoder.close();
  }
}
