// The send path of one voice session's frames to Discord, as its audio worker sees it: opened, started with the
// session's key, then fed with frames ahead of their deadlines. The other end is an RtpSender. Belongs to one session
// and outlives its WebSocket across a resume. Audio thread.

import { FrameRingWriter, PAYLOAD_BYTES_MAX, RING_FRAMES } from "./frame-ring.ts";
import type { HandlerGuard } from "./handler-guard.ts";
import type { ExternalAddress } from "./ip-discovery.ts";
import type { PacerEnd } from "./pacer-end.ts";
import type { PacerCommand, PacerEvent, RtpSenderId, TransportKey } from "./pacer-messages.ts";
import type { RtpStart } from "./rtp-stream.ts";

/** What a send path needs from the link to the pacer. */
export interface PathLink {
  /** Undefined until there is a pacer, which is so before the path is discovered. */
  readonly end: Pick<PacerEnd, "offsetMs" | "onPut"> | undefined;
  post(command: PacerCommand): void;
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
  /** The frames that have not been sent. */
  readonly ring = new FrameRingWriter();
  readonly #rtpSenderId: RtpSenderId;
  readonly #link: PathLink;
  readonly #options: VoiceSendPathOptions;
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
    link.post({ type: "open", rtpSenderId, address, port, ssrc, ring: this.ring.memory });
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

  /** Sends one payload at its deadline. */
  send(payload: Uint8Array, dueMs: number): "sent" | "tooLarge" | "full" {
    if (payload.length > PAYLOAD_BYTES_MAX) return "tooLarge";
    const { end } = this.#link;
    const outcome = this.ring.put(payload, dueMs + (end?.offsetMs ?? 0));
    if (outcome === "full") return "full";
    // The pacer finds those behind others by itself.
    if (outcome === "first") end?.onPut(dueMs);
    return "sent";
  }

  /** Nothing that has not been sent is: also where the pacer is late, and hears of it later. */
  close(): void {
    if (this.#isClosed) return;
    this.ring.revoke(RING_FRAMES);
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
