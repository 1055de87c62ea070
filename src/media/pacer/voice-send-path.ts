// The send path of one voice session's frames to Discord, as its audio worker sees it: opened, started with the
// session's key, then fed with frames ahead of their deadlines. The other end is an RtpSender. Belongs to one session
// and outlives its WebSocket across a resume. Audio thread.

import { FrameRingWriter, PAYLOAD_BYTES_MAX } from "./frame-ring.ts";
import type { HandlerGuard } from "./handler-guard.ts";
import type { ExternalAddress } from "./ip-discovery.ts";
import type { PacerCommand, PacerEvent, RtpSenderId, TransportKey } from "./pacer-messages.ts";
import type { RtpStart } from "./rtp-stream.ts";

/** What a send path needs from the link to the pacer. */
export interface PathLink {
  /** Added to the worker's clock, gives the clock of the deadlines. Known once the path is discovered. */
  readonly offsetMs: number;
  post(command: PacerCommand): void;
  /** A frame has been put into a ring, due at `dueMs` of the worker's clock. */
  onPut(dueMs: number): void;
  forget(rtpSenderId: RtpSenderId): void;
}

export interface VoiceSendPathOptions {
  /** The voice server's, checked by the outbound guard. */
  readonly address: string;
  readonly port: number;
  readonly ssrc: number;
  /** An exception in a handler ends its connection. */
  readonly guardHandler: HandlerGuard;
  /** The system refused a packet, each time. */
  readonly onUdpError: () => void;
  /** Nothing can be sent any more: a new session is needed. Called once. */
  readonly onDead: (reason: string) => void;
}

/** From `PacerLink.open` until `close`. Frames that are sent before `start` wait for it. */
export class VoiceSendPath {
  readonly #rtpSenderId: RtpSenderId;
  readonly #link: PathLink;
  readonly #options: VoiceSendPathOptions;
  readonly #ring = new FrameRingWriter();
  readonly #whenDiscovered: Promise<ExternalAddress | undefined>;
  #settle: { resolve: (found: ExternalAddress | undefined) => void; reject: (error: Error) => void } | undefined;
  #isClosed = false;

  constructor(rtpSenderId: RtpSenderId, link: PathLink, options: VoiceSendPathOptions) {
    this.#rtpSenderId = rtpSenderId;
    this.#link = link;
    this.#options = options;
    this.#whenDiscovered = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // The caller that closed the path no longer waits for the result.
    this.#whenDiscovered.catch(() => undefined);
    const { address, port, ssrc } = options;
    link.post({ type: "open", rtpSenderId, address, port, ssrc, ring: this.#ring.memory });
  }

  /** Our address as the server sees it; undefined: no response came. Rejects when the socket cannot be connected. */
  get whenDiscovered(): Promise<ExternalAddress | undefined> {
    return this.#whenDiscovered;
  }

  /** After discovery: frames may be sent. */
  start(key: TransportKey, rtp: RtpStart): void {
    this.#post({ type: "start", rtpSenderId: this.#rtpSenderId, key, rtp });
  }

  /** Sets a new key; its counter starts at zero. */
  rekey(key: TransportKey): void {
    this.#post({ type: "rekey", rtpSenderId: this.#rtpSenderId, key });
  }

  /** No frame is unsent. */
  get isDrained(): boolean {
    return this.#ring.isEmpty;
  }

  /** The ring is full, because nothing has been sent for as long as it holds. */
  get isFull(): boolean {
    return this.#ring.isFull;
  }

  /** Sends one payload at its deadline. */
  send(payload: Uint8Array, dueMs: number): "sent" | "tooLarge" | "full" {
    if (payload.length > PAYLOAD_BYTES_MAX) return "tooLarge";
    if (!this.#ring.put(payload, dueMs + this.#link.offsetMs)) return "full";
    this.#link.onPut(dueMs);
    return "sent";
  }

  /** Revokes at most `countMax` frames that have not been sent, newest first. Returns how many were revoked. */
  revoke(countMax: number): number {
    return this.#ring.revoke(countMax);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#post({ type: "close", rtpSenderId: this.#rtpSenderId });
    this.#isClosed = true;
    this.#link.forget(this.#rtpSenderId);
    this.#settle?.reject(new Error("closed"));
  }

  /** Handles an event from the pacer. */
  onEvent(event: PacerEvent): void {
    if (this.#isClosed || event.type === "lateness") return;
    const { guardHandler, onUdpError, onDead } = this.#options;
    if (event.type === "discovered") this.#settle?.resolve(event.found);
    else if (event.type === "unreachable") this.#settle?.reject(new Error(event.reason));
    else if (event.type === "udpError") guardHandler(onUdpError)();
    else guardHandler(() => onDead(event.reason))();
  }

  /** The pacer is gone, and its socket with it. */
  onPacerLost(): void {
    const { guardHandler, onDead } = this.#options;
    this.#settle?.reject(new Error("the pacer was lost"));
    guardHandler(() => onDead("the pacer was lost"))();
  }

  #post(command: PacerCommand): void {
    if (!this.#isClosed) this.#link.post(command);
  }
}
