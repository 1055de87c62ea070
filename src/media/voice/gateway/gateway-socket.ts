// One WebSocket connection to the voice gateway: connects, reads frames, sends heartbeats, detects a dead connection
// (discord-voice.md sections 1.2, 1.4, 1.5), and ends it when the server exceeds limits that no real one reaches. It
// knows nothing of sessions; a resume creates a second one. On the audio thread.

import WebSocket from "ws";
import type { Clock, Timer } from "../../../lib/clock.ts";
import { CLOSE_ABNORMAL } from "../../../lib/close-codes.ts";
import type { Sockets } from "../../../network/sockets.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import type { VoiceClose } from "../voice.ts";
import type { VoiceGuard } from "../voice-guard.ts";
import { limitExceeded, UNREAD_BYTES_MAX, type VoiceLimits } from "../voice-limits.ts";
import { connectGateway } from "./gateway-connector.ts";
import { type GatewayMessage, OPCODE, parseBinaryFrame, parseTextFrame } from "./gateway-messages.ts";
import type { ConnectAttempt } from "./voice-connect-attempts.ts";

/** More often than Discord requires (13.75 s): fresher ping, faster detection of a dead connection. */
const HEARTBEAT_MS_MAX = 5000;
/** No server asks for more than one a second, and none gets more. */
const HEARTBEAT_MS_MIN = 1000;
/** Silence after a heartbeat after which the connection counts as dead, in heartbeat intervals. */
const ACK_INTERVALS_MAX = 2;
/** How long the peer may take to answer our close frame. */
const CLOSE_LINGER_MS = 1000;
/** Unacknowledged heartbeats: two intervals' worth and one to spare. */
const OUTSTANDING_MAX = 4;

export interface GatewaySocketListener {
  onGatewayOpen(): void;
  onGatewayMessage(message: GatewayMessage): void;
  /** The round trip of a heartbeat, at least 1. */
  onGatewayPing(pingMs: number): void;
  /** Once, unless we closed it ourselves. `cause` is set when it could not be opened. */
  onGatewayClosed(close: VoiceClose & { readonly cause: unknown }): void;
}

interface GatewaySocketOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly guard: VoiceGuard;
  readonly sockets: Pick<Sockets, "connectTcp">;
  readonly limits: VoiceLimits;
  readonly guardHandler: HandlerGuard;
  /** Its timers run inside the handler guard. */
  readonly clock: Clock;
  /** Last sequence number of the session so far, -1 for a new one. */
  readonly lastSeq: number;
  readonly listener: GatewaySocketListener;
}

export class GatewaySocket {
  readonly #options: GatewaySocketOptions;
  readonly #clock: Clock;
  readonly #listener: GatewaySocketListener;
  readonly #attempt: ConnectAttempt;
  /** Undefined while it waits for a permit to connect. */
  #socket: WebSocket | undefined;
  readonly #outstanding = new Map<number, number>();
  #lastSeq: number;
  #lastNonce = 0;
  #malformedCount = 0;
  #heartbeatMs = HEARTBEAT_MS_MAX;
  #heartbeatDueMs = 0;
  #timer: Timer;
  #hasOpened = false;
  /** Why we refuse this server; the connection is being ended. */
  #refusal: Error | undefined;
  #isClosed = false;

  /**
   * Connects as soon as a permit is free. Throws NodeError "address-refused" when the URL holds a forbidden address.
   */
  constructor(options: GatewaySocketOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#listener = options.listener;
    this.#lastSeq = options.lastSeq;
    const { host, hostname } = new URL(options.url);
    options.guard.checkHost(hostname);
    this.#timer = this.#clock.after(options.connectTimeoutMs, () => this.#die("no answer to the WebSocket upgrade"));
    this.#attempt = options.limits.connectAttempts.enter({
      remote: host,
      onPermit: options.guardHandler(() => this.#connect()),
      onOusted: options.guardHandler(() =>
        this.#die("no answer to the WebSocket upgrade while many other connections wait"),
      ),
    });
  }

  /** The last sequence number received, -1 for none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Number of frames that could not be parsed so far. */
  get malformedCount(): number {
    return this.#malformedCount;
  }

  sendJson(opcode: number, data: unknown): void {
    this.#send(JSON.stringify({ op: opcode, d: data }));
  }

  sendBinary(opcode: number, payload: Uint8Array): void {
    this.#send(Buffer.concat([Uint8Array.of(opcode), payload]));
  }

  /** Closes from our side; the listener is not called any more. */
  close(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    this.#attempt.end();
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) {
      socket?.terminate();
      return;
    }
    socket.close(code);
    const linger = this.#clock.after(CLOSE_LINGER_MS, () => socket.terminate());
    socket.once("close", () => linger.cancel());
  }

  #send(message: string | Buffer): void {
    const socket = this.#socket;
    if (this.#isClosed || socket?.readyState !== WebSocket.OPEN) return;
    socket.send(message);
    if (socket.bufferedAmount <= UNREAD_BYTES_MAX) return;
    this.#refuse(limitExceeded(`it leaves more than ${UNREAD_BYTES_MAX / 1024} kB of our answers unread`));
  }

  /** Gives the connection up for dead: sends no close frame, and reports a lost connection to the listener. */
  #die(reason: string, cause?: unknown): void {
    this.#socket?.terminate();
    this.#end({ code: CLOSE_ABNORMAL, reason, isByRemote: true }, cause);
  }

  /** The server exceeds a limit. Reported asynchronously, because the caller may be in the middle of something. */
  #refuse(error: Error): void {
    this.#socket?.terminate();
    if (this.#isClosed || this.#refusal !== undefined) return;
    this.#refusal = error;
    this.#clock.after(0, () => this.#onGone(CLOSE_ABNORMAL, ""));
  }

  #onGone(code: number, reason: string, cause?: unknown): void {
    if (this.#refusal === undefined) this.#end({ code, reason, isByRemote: true }, cause);
    else this.#end({ code: CLOSE_ABNORMAL, reason: this.#refusal.message, isByRemote: false }, this.#refusal);
  }

  #end(close: VoiceClose, cause: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    this.#attempt.end();
    this.#listener.onGatewayClosed({ ...close, cause });
  }

  #connect(): void {
    const { url, guard, sockets, guardHandler } = this.#options;
    const socket = connectGateway({ url, guard, sockets, admit: (sizeBytes) => this.#admit(sizeBytes) });
    this.#socket = socket;
    let cause: unknown;
    // The library reports errors of a socket that was closed while connecting, and nobody else listens: never removed.
    socket.on(
      "error",
      guardHandler((error: Error) => {
        cause = error;
        // A frame no WebSocket may send: what follows is not worth the time a polite close would take.
        if (this.#hasOpened && this.#refusal === undefined) this.#die(`the WebSocket broke: ${error.message}`, error);
      }),
    );
    socket.on(
      "close",
      // `ws` reports a close frame without a code as 1005.
      guardHandler((code: number, reason: Buffer) => this.#onGone(code, reason.toString("utf8"), cause)),
    );
    socket.on(
      "open",
      guardHandler(() => this.#onOpen()),
    );
    socket.on(
      "message",
      // `ws` delivers Buffers by default.
      guardHandler((data: WebSocket.RawData, isBinary: boolean) => this.#onMessage(data as Buffer, isBinary)),
    );
    for (const name of ["ping", "pong"] as const) {
      socket.on(
        name,
        guardHandler(() => this.#countMessage()),
      );
    }
  }

  #onOpen(): void {
    if (this.#isClosed) return;
    this.#hasOpened = true;
    this.#timer.cancel();
    this.#attempt.end();
    this.#listener.onGatewayOpen();
  }

  /** Also counts bytes that arrive after our close frame, until the connection is gone. */
  #admit(sizeBytes: number): boolean {
    const excess = this.#options.limits.takeBytes(sizeBytes);
    if (excess !== undefined) this.#refuse(excess);
    return excess === undefined;
  }

  #countMessage(): boolean {
    if (this.#isClosed || this.#refusal !== undefined) return false;
    const excess = this.#options.limits.takeMessage();
    if (excess !== undefined) this.#refuse(excess);
    return excess === undefined;
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (!this.#countMessage()) return;
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

  /** The first heartbeat is sent at once, so that the ping is known soon. */
  #startHeartbeat(intervalMs: number): void {
    this.#heartbeatMs = Math.max(HEARTBEAT_MS_MIN, Math.min(intervalMs, HEARTBEAT_MS_MAX));
    this.#timer.cancel();
    this.#outstanding.clear();
    this.#heartbeatDueMs = this.#clock.now();
    this.#onHeartbeatDue();
  }

  #onHeartbeatDue(): void {
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
    this.#timer = this.#clock.after(this.#heartbeatMs, () => this.#onHeartbeatDue());
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
