// A human in the voice channel: decrypts the DAVE frames of the bots and keeps, counts or forwards the Opus frames.
// They are not decoded to audio here (lab/listen).

import type { RtpFrame } from "./rtp-receiver.ts";
import { SILENCE_FRAMES_AT_STOP } from "./stop-rules.ts";

/** One Opus frame as a listener got it. */
export interface ReceivedFrame {
  /** User id of the bot that sent it. */
  readonly userId: string;
  readonly ssrc: number;
  readonly sequence: number;
  readonly timestamp: number;
  /** By the fake Discord's clock, when its datagram was read. */
  readonly arrivalMs: number;
  readonly opus: Buffer;
  readonly isSilence: boolean;
  /** True: it arrived DAVE-encrypted and was decrypted. Silence never is. */
  readonly daveDecrypted: boolean;
}

/** Decrypts DAVE frames for a listener. `undefined`: cannot be decrypted, and the reason has been reported. */
export interface FrameOpener {
  open(botUserId: string, payload: Buffer): { readonly opus: Buffer; readonly daveDecrypted: boolean } | undefined;
}

export class Listener {
  readonly userId: string;
  /** All received frames, oldest first; empty with `keepFrames: false`. */
  readonly received: ReceivedFrame[] = [];
  /** Called with each received frame, whether it is kept or not. */
  onFrame: ((frame: ReceivedFrame) => void) | undefined;
  readonly #keepFrames: boolean;
  #receivedCount = 0;
  #daveCount = 0;
  #lostCount = 0;

  constructor(options: { readonly userId: string; readonly keepFrames: boolean }) {
    this.userId = options.userId;
    this.#keepFrames = options.keepFrames;
  }

  /** Number of frames received, silence included. */
  get receivedCount(): number {
    return this.#receivedCount;
  }

  /** Frames among them that were DAVE-encrypted. */
  get daveDecryptedCount(): number {
    return this.#daveCount;
  }

  /**
   * Frames that could not be opened, for whatever reason: not yet in the group, or a mistake (then also a violation).
   */
  get undeliveredCount(): number {
    return this.#lostCount;
  }

  /** The audio frames among `received`, without silence frames. */
  get receivedAudio(): readonly ReceivedFrame[] {
    return this.received.filter((frame) => !frame.isSilence);
  }

  /** True when the last received frame is the silence of a stop; also before the first frame. Needs `keepFrames`. */
  get isAtStop(): boolean {
    return this.received.slice(-SILENCE_FRAMES_AT_STOP).every(({ isSilence }) => isSilence);
  }

  receive(botUserId: string, frame: RtpFrame, opener: FrameOpener): void {
    if (frame.payload === undefined) return;
    const opened = frame.isSilence
      ? { opus: frame.payload, daveDecrypted: false }
      : opener.open(botUserId, frame.payload);
    if (opened === undefined) {
      this.#lostCount++;
      return;
    }
    this.#receivedCount++;
    if (opened.daveDecrypted) this.#daveCount++;
    if (!this.#keepFrames && this.onFrame === undefined) return;
    const { ssrc, sequence, timestamp, arrivalMs, isSilence } = frame;
    const received: ReceivedFrame = { userId: botUserId, ssrc, sequence, timestamp, arrivalMs, isSilence, ...opened };
    if (this.#keepFrames) this.received.push(received);
    this.onFrame?.(received);
  }
}
