// Measures the audio that a listener gets of one player: when each packet with audio arrived, and the longest time
// without any. Packets are decoded: silence and damage do not count as audio.

import { loadLibopus } from "../../../src/media/opus/libopus.ts";
import type { Listener } from "../../discord/listener.ts";
import { quantile } from "../../report/statistics.ts";

/** The audio that the listener of one control player received in a window; plain data. */
export interface ReceivedAudio {
  readonly guildId: string;
  readonly packets: number;
  /** Packets that contain no audible audio, or nothing that can be decoded. */
  readonly silentPackets: number;
  readonly gapMsP50: number;
  readonly gapMsP99: number;
  /** The longest time without audio, up to the ends of the window. */
  readonly gapMsMax: number;
}

const FRAME_MS = 20;
/** Fraction of full scale; the quietest song of a control player is at 0.06. */
const AUDIBLE_LEVEL = 0.003;

type Decode = (opus: Uint8Array) => number;

export class AudioWatch {
  readonly #guildId: string;
  readonly #decode: Decode;
  #gapsMs: number[] = [];
  #packets = 0;
  #silentPackets = 0;
  #lastAudioMs = 0;

  private constructor(guildId: string, decode: Decode) {
    this.#guildId = guildId;
    this.#decode = decode;
  }

  /** Without decoding, every packet other than a silence frame counts as audio: for hundreds of players at once. */
  static async start(guildId: string, listener: Listener, isDecoded: boolean): Promise<AudioWatch> {
    const levelOf = isDecoded ? await createLevelMeter() : () => 1;
    const watch = new AudioWatch(guildId, levelOf);
    listener.onFrame = ({ opus, arrivalMs, isSilence }) => watch.#onPacket(opus, arrivalMs, isSilence);
    return watch;
  }

  /** Begins a window. Audio shortly before it counts as received at its start. */
  open(nowMs: number): void {
    this.#gapsMs = [];
    this.#packets = 0;
    this.#silentPackets = 0;
    this.#lastAudioMs = Math.max(this.#lastAudioMs, nowMs - FRAME_MS);
  }

  close(nowMs: number): ReceivedAudio {
    const gapsMs = [...this.#gapsMs, nowMs - this.#lastAudioMs];
    return {
      guildId: this.#guildId,
      packets: this.#packets,
      silentPackets: this.#silentPackets,
      gapMsP50: quantile(gapsMs, 0.5),
      gapMsP99: quantile(gapsMs, 0.99),
      gapMsMax: quantile(gapsMs, 1),
    };
  }

  #onPacket(opus: Uint8Array, arrivalMs: number, isSilence: boolean): void {
    this.#packets += 1;
    if (isSilence || this.#decode(opus) < AUDIBLE_LEVEL) {
      this.#silentPackets += 1;
      return;
    }
    this.#gapsMs.push(arrivalMs - this.#lastAudioMs);
    this.#lastAudioMs = arrivalMs;
  }
}

/** A decoder of one stream that returns the level of each packet, 0 to 1; 0 for a packet that cannot be decoded. */
async function createLevelMeter(): Promise<Decode> {
  const opus = await loadLibopus();
  const { module, packetPointer, pcmPointer } = opus;
  const decoder = opus.createDecoder(2, 0);
  return (packet) => {
    module.HEAPU8.set(packet, packetPointer);
    const samples = opus.decode(decoder, packet.length);
    let peak = 0;
    for (let at = pcmPointer >> 2, end = at + 2 * samples; at < end; at++) {
      peak = Math.max(peak, Math.abs(module.HEAPF32[at]!));
    }
    return peak;
  };
}
