// What a listener gets of one player while somebody watches: when each packet with sound in it came, and the longest
// time without any. Packets are decoded: silence and damage do not count as sound.

import { loadLibopus } from "../../../src/media/opus/libopus.ts";
import type { Listener } from "../../discord/listener.ts";
import { quantile } from "../../report/statistics.ts";

/** What one honest player's listener heard in a window; plain data. */
export interface ReceivedAudio {
  readonly guildId: string;
  readonly packets: number;
  /** Packets in which nothing, or nothing that can be decoded, is to be heard. */
  readonly silentPackets: number;
  readonly gapMsP50: number;
  readonly gapMsP99: number;
  /** The longest time without sound, up to the ends of the window. */
  readonly gapMsMax: number;
}

const FRAME_MS = 20;
/** Of full scale; the quietest song of an honest player is at 0.06. */
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

  /** Not decoded, whatever is no silence frame counts as sound: for hundreds of players at once. */
  static async start(guildId: string, listener: Listener, isDecoded: boolean): Promise<AudioWatch> {
    const levelOf = isDecoded ? await createLevelMeter() : () => 1;
    const watch = new AudioWatch(guildId, levelOf);
    listener.onFrame = ({ opus, arrivalMs, isSilence }) => watch.#onPacket(opus, arrivalMs, isSilence);
    return watch;
  }

  /** Begins a window. Sound shortly before it counts as heard at its start. */
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

/** A decoder of one stream that tells how loud each packet is, 0 to 1; 0 for what cannot be decoded. */
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
