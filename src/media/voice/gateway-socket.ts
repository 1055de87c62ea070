// One life of one WebSocket to the voice gateway: dial, read frames, heartbeat, notice death (discord-voice.md sections
// 1.2, 1.4, 1.5). It knows nothing of sessions; a resume is a second one of these. On the audio thread.

import WebSocket from "ws";
import type { Clock, Timer } from "../../lib/clock.ts";
import { CLOSE_ABNORMAL, type GatewayClose } from "./close-policy.ts";
import { type GatewayMessage, OPCODE, parseBinaryFrame, parseTextFrame } from "./gateway-messages.ts";
import type { VoiceGuard } from "./voice-guard.ts";

/** A Welcome into a full channel is tens of kB. */
const MESSAGE_BYTES_MAX = 1 << 20;
/** More often than Discord asks for (13.75 s): fresher ping, faster notice of a dead connection. */
const HEARTBEAT_MS_MAX = 5000;
/** Silence after a heartbeat that counts as death, in heartbeat intervals. */
const ACK_INTERVALS_MAX = 2;
/** How long the peer may take to answer our close frame. */
const CLOSE_LINGER_MS = 1000;
/** Heartbeats whose answer is awaited: two intervals' worth and one to spare. */
const OUTSTANDING_MAX = 4;

export interface GatewaySocketListener {
  onGatewayOpen(): void;
  onGatewayMessage(message: GatewayMessage): void;
  /** The round trip of a heartbeat, at least 1. */
  onGatewayPing(pingMs: number): void;
  /** Once, unless we closed it ourselves. `cause` is set when it could not be opened. */
  onGatewayClosed(close: GatewayClose & { readonly cause: unknown }): void;
}

export interface GatewaySocketOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly guard: VoiceGuard;
  readonly clock: Clock;
  /** Last sequence number of the session so far, -1 for a new one. */
  readonly lastSeq: number;
  readonly listener: GatewaySocketListener;
}

export class GatewaySocket {
  readonly #clock: Clock;
  readonly #listener: GatewaySocketListener;
  readonly #socket: WebSocket;
  readonly #outstanding = new Map<number, number>();
  #lastSeq: number;
  #lastNonce = 0;
  #malformedCount = 0;
  #heartbeatMs = HEARTBEAT_MS_MAX;
  #heartbeatDueMs = 0;
  #timer: Timer;
  #isClosed = false;
  #cause: unknown;

  /** Dials at once. Throws NodeError "address-refused" when the URL holds an address that may not be dialled. */
  constructor(options: GatewaySocketOptions) {
    this.#clock = options.clock;
    this.#listener = options.listener;
    this.#lastSeq = options.lastSeq;
    options.guard.checkHost(new URL(options.url).hostname);
    this.#socket = new WebSocket(options.url, {
      lookup: options.guard.lookup,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#timer = this.#clock.after(options.connectTimeoutMs, () => this.#die("no answer to the WebSocket upgrade"));
    this.#listen();
  }

  /** The last sequence number received, -1 for none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Frames that could not be read so far. */
  get malformedCount(): number {
    return this.#malformedCount;
  }

  sendJson(opcode: number, data: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op: opcode, d: data }));
  }

  sendBinary(opcode: number, payload: Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(Buffer.concat([Uint8Array.of(opcode), payload]));
  }

  /** Closes from our side; the listener hears nothing more. */
  close(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    if (this.#socket.readyState === WebSocket.CONNECTING) {
      this.#socket.terminate();
      return;
    }
    this.#socket.close(code);
    const linger = this.#clock.after(CLOSE_LINGER_MS, () => this.#socket.terminate());
    this.#socket.once("close", () => linger.cancel());
  }

  /** Gives the connection up for dead: no close frame, the listener hears of it as a lost connection. */
  #die(reason: string): void {
    this.#end({ code: CLOSE_ABNORMAL, reason, isByRemote: true });
    this.#socket.terminate();
  }

  #end(close: GatewayClose): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    this.#listener.onGatewayClosed({ ...close, cause: this.#cause });
  }

  #listen(): void {
    // Stays for good: `ws` reports errors of a socket that was closed while dialling, and nobody else listens.
    this.#socket.on("error", (error) => {
      this.#cause = error;
    });
    this.#socket.on("close", (code, reason) => {
      // 1005 is how `ws` tells a close frame without a code.
      this.#end({ code, reason: reason.toString("utf8"), isByRemote: true });
    });
    this.#socket.on("open", () => {
      this.#timer.cancel();
      if (!this.#isClosed) this.#listener.onGatewayOpen();
    });
    this.#socket.on("message", (data, isBinary) => {
      // `ws` hands out Buffers unless told otherwise.
      if (!this.#isClosed) this.#receive(data as Buffer, isBinary);
    });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const frame = isBinary ? parseBinaryFrame(data) : parseTextFrame(data.toString("utf8"));
    if (frame?.seq !== undefined) this.#lastSeq = frame.seq;
    const message = frame?.message;
    if (message === undefined) {
      this.#malformedCount++;
      return;
    }
    if (message.kind === "hello") this.#startHeartbeat(message.heartbeatIntervalMs);
    else if (message.kind === "heartbeatRequest") this.#sendHeartbeat();
    else if (message.kind === "heartbeatAck") this.#onAck(message.nonce);
    else this.#listener.onGatewayMessage(message);
  }

  /** The first heartbeat goes out at once, so that there is a ping soon. */
  #startHeartbeat(intervalMs: number): void {
    this.#heartbeatMs = Math.min(intervalMs, HEARTBEAT_MS_MAX);
    this.#timer.cancel();
    this.#outstanding.clear();
    this.#heartbeatDueMs = this.#clock.now();
    this.#beat();
  }

  #beat(): void {
    const nowMs = this.#clock.now();
    // Our own lateness does not count against the server: its answer may be waiting to be read.
    const latenessMs = Math.max(0, nowMs - this.#heartbeatDueMs);
    const oldestMs = this.#outstanding.values().next().value;
    if (oldestMs !== undefined && nowMs - oldestMs - latenessMs >= ACK_INTERVALS_MAX * this.#heartbeatMs) {
      this.#die("no answer to heartbeats");
      return;
    }
    this.#sendHeartbeat();
    this.#heartbeatDueMs = nowMs + this.#heartbeatMs;
    this.#timer = this.#clock.after(this.#heartbeatMs, () => this.#beat());
  }

  #sendHeartbeat(): void {
    this.#lastNonce = Math.max(this.#lastNonce + 1, Math.floor(this.#clock.epochMs()));
    if (this.#outstanding.size < OUTSTANDING_MAX) this.#outstanding.set(this.#lastNonce, this.#clock.now());
    this.sendJson(OPCODE.heartbeat, { t: this.#lastNonce, seq_ack: this.#lastSeq });
  }

  /** An answer proves the connection alive up to the heartbeat it belongs to. */
  #onAck(nonce: number): void {
    const sentMs = this.#outstanding.get(nonce);
    if (sentMs === undefined) return;
    for (const older of this.#outstanding.keys()) if (older <= nonce) this.#outstanding.delete(older);
    this.#listener.onGatewayPing(Math.max(1, Math.round(this.#clock.now() - sentMs)));
  }
}
