// Decoder and encoder of one track, requested when it can no longer be passed through: they are ready a moment later,
// and wait as a transcoder that has not begun until a frame needs it. Part of pipeline.ts. Audio thread.

import type { AudioStream } from "../format/packet.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { CodecSupply } from "./codecs.ts";
import type { Transcoder, TranscoderOptions } from "./transcoder.ts";

interface TranscoderSupplyOptions {
  readonly codecs: CodecSupply;
  readonly budget: TrackBudget;
  readonly create: (parts: Pick<TranscoderOptions, "stream" | "decoder" | "encoder">) => Transcoder;
  /** The requested transcoder is ready. */
  readonly onReady: () => void;
  /** There is no decoder for that stream, or one could not be closed. */
  readonly onFailure: (error: unknown) => void;
}

/** `isComplete`: its decoder answers every packet at once, as is needed behind packets that were passed through. */
interface TranscoderNeeds {
  readonly isComplete: boolean;
}

/** A transcoder that is ready and has not begun. */
interface ReadyTranscoder extends TranscoderNeeds {
  readonly transcoder: Transcoder;
  /** The stream its decoder was created for. */
  readonly stream: AudioStream;
}

export class TranscoderSupply {
  readonly #options: TranscoderSupplyOptions;
  #isPending = false;
  #ready: ReadyTranscoder | undefined;
  #isClosed = false;

  constructor(options: TranscoderSupplyOptions) {
    this.#options = options;
  }

  /** True while a transcoder is requested and not ready. */
  get isPending(): boolean {
    return this.#isPending;
  }

  get ready(): ReadyTranscoder | undefined {
    return this.#ready;
  }

  /**
   * The transcoder that is ready, owned by the caller from now on. If there is none, requests one and returns
   * undefined.
   */
  take(stream: AudioStream, { isComplete }: TranscoderNeeds): ReadyTranscoder | undefined {
    // Requested for the start of a run, which has begun without it.
    if (isComplete && this.#ready?.isComplete === false) this.drop();
    const ready = this.#ready;
    this.#ready = undefined;
    if (ready === undefined && !this.#isPending && !this.#isClosed) this.#ask(stream, isComplete);
    return ready;
  }

  /** Closes a transcoder that was taken, and releases its encoder. */
  release(transcoder: Transcoder): void {
    try {
      transcoder.close();
    } catch (error) {
      this.#options.onFailure(error);
    }
    this.#options.codecs.releaseEncoder(transcoder.encoder);
  }

  /** The one that is ready is not needed. */
  drop(): void {
    const ready = this.#ready;
    this.#ready = undefined;
    if (ready !== undefined) this.release(ready.transcoder);
  }

  /** A transcoder that becomes ready later is released at once. */
  close(): void {
    this.#isClosed = true;
    this.drop();
  }

  #ask(stream: AudioStream, isComplete: boolean): void {
    this.#isPending = true;
    const { codecs, budget, create, onReady, onFailure } = this.#options;
    // Hundreds of players may need one at once: each is made in a time slice, so that no frame is late.
    const whenSlice = budget.nextSlice();
    const whenDecoder = whenSlice.then(() => codecs.createDecoder(stream, { budget, isComplete }));
    const whenEncoder = whenSlice.then(() => codecs.acquireEncoder());
    let areTaken = false;
    Promise.all([whenDecoder, whenEncoder])
      .then(([decoder, encoder]) => {
        this.#isPending = false;
        areTaken = true;
        if (this.#isClosed) {
          codecs.releaseEncoder(encoder);
          decoder.close();
          return;
        }
        this.#ready = { transcoder: create({ stream, decoder, encoder }), stream, isComplete };
        onReady();
      })
      .catch((error: unknown) => {
        this.#isPending = false;
        if (!areTaken) {
          whenDecoder.then((decoder) => decoder.close()).catch(() => undefined); // reported below
          whenEncoder.then((encoder) => codecs.releaseEncoder(encoder)).catch(() => undefined); // reported below
        }
        onFailure(error);
      });
  }
}
