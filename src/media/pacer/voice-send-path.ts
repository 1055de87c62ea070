// The way of one voice session's frames to Discord, as its audio worker sees it: opened, started with the session's
// key, then fed with frames some way ahead of the moment they are due. The other end is an Outlet. Belongs to one
// session and outlives its WebSocket across a resume. Audio thread.

import { FrameRingWriter, PAYLOAD_BYTES_MAX } from "./frame-ring.ts";
import type { HandlerGuard } from "./handler-guard.ts";
import type { ExternalAddress } from "./ip-discovery.ts";
import type { PacerCommand, PacerEvent, RtpSenderId, TransportKey } from "./pacer-messages.ts";
import type { RtpStart } from "./rtp-stream.ts";

/** What a path needs of the link to the pacer. */
export interface PathLink {
  /** Added to the worker's clock, it gives the time in which frames are due. Known once the path is discovered. */
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
  /** What the handlers throw is their connection's. */
  readonly guardHandler: HandlerGuard;
  /** The system refused a packet, each time. */
  readonly onUdpError: () => void;
  /** Nothing leaves any more: a new session is due. Once. */
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
    // Who closes the path does not wait any more.
    this.#whenDiscovered.catch(() => undefined);
    const { address, port, ssrc } = options;
    link.post({ type: "open", rtpSenderId, address, port, ssrc, ring: this.#ring.memory });
  }

  /** Our address as the server sees it; undefined: no answer came. Rejects when the socket cannot be connected. */
  get whenDiscovered(): Promise<ExternalAddress | undefined> {
    return this.#whenDiscovered;
  }

  /** Once it is discovered: frames may leave. */
  start(key: TransportKey, rtp: RtpStart): void {
    this.#post({ type: "start", rtpSenderId: this.#rtpSenderId, key, rtp });
  }

  /** Takes a new key; its counter starts afresh. */
  rekey(key: TransportKey): void {
    this.#post({ type: "rekey", rtpSenderId: this.#rtpSenderId, key });
  }

  /** No frame waits to leave. */
  get isDrained(): boolean {
    return this.#ring.isEmpty;
  }

  /** No more can wait: nothing has left for as long as that takes. */
  get isFull(): boolean {
    return this.#ring.isFull;
  }

  /** Lets one payload leave when it is due. */
  send(payload: Uint8Array, dueMs: number): "sent" | "tooLarge" | "full" {
    if (payload.length > PAYLOAD_BYTES_MAX) return "tooLarge";
    if (!this.#ring.put(payload, dueMs + this.#link.offsetMs)) return "full";
    this.#link.onPut(dueMs);
    return "sent";
  }

  /** Takes back what has not left, the newest first, `countMax` at most; returns how many those were. */
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

  /** What the pacer tells of it. */
  onEvent(event: PacerEvent): void {
    if (this.#isClosed || event.type === "lateness") return;
    const { guardHandler, onUdpError, onDead } = this.#options;
    if (event.type === "discovered") this.#settle?.resolve(event.found);
    else if (event.type === "unreachable") this.#settle?.reject(new Error(event.reason));
    else if (event.type === "udpError") guardHandler(onUdpError)();
    else guardHandler(() => onDead(event.reason))();
  }

  /** The pacer is gone, and with it the socket. */
  onPacerLost(): void {
    const { guardHandler, onDead } = this.#options;
    this.#settle?.reject(new Error("the pacer was lost"));
    guardHandler(() => onDead("the pacer was lost"))();
  }

  #post(command: PacerCommand): void {
    if (!this.#isClosed) this.#link.post(command);
  }
}
