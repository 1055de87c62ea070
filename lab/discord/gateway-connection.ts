// One WebSocket of a client to the fake voice gateway: Hello, then Identify or Resume bind it to a voice session, which
// from there on handles the messages. Sends in order, held back where a fault says so.

import type { RawData, WebSocket } from "ws";
import type { Clock, Timer } from "../../src/lib/clock.ts";
import {
  type Identify,
  parseEnvelope,
  parseHeartbeat,
  parseIdentify,
  parseResume,
  type Resume,
} from "./client-messages.ts";
import { type FaultAction, type FaultScript, type FaultStep, handleWithFault, sendWithFault } from "./faults.ts";
import type { SequencedMessage } from "./replay-buffer.ts";
import type { ViolationKind, ViolationLog } from "./violations.ts";

/** The voice session that a connection is bound to (voice-session.ts). */
export interface BoundSession {
  readonly guildId: string;
  takeFault(step: FaultStep): FaultAction | undefined;
  /** Why this Identify is not taken, and what of it no client does; undefined: it is. */
  refusalOf(
    identify: Identify,
  ): { readonly closeCode: number; readonly reason: string; readonly violation?: string } | undefined;
  onIdentified(connection: GatewayConnection, daveVersionMax: number): void;
  /** The messages a Resume has to replay, or undefined when it must be refused. */
  missedSince(resume: Resume): readonly SequencedMessage[] | undefined;
  onResumed(connection: GatewayConnection, missed: readonly SequencedMessage[]): void;
  onHeartbeat(seqAck: unknown): void;
  /** False when clients may not send this opcode. */
  onJson(op: number, d: unknown): boolean;
  onBinary(op: number, payload: Buffer): boolean;
  /** The connection was closed by us with `code`. */
  onServerClose(connection: GatewayConnection, code: number): void;
  /** The client closed with 1000. */
  onClientLeft(connection: GatewayConnection): void;
  /** The connection was lost without a close by the client. */
  onConnectionLost(connection: GatewayConnection): void;
  forbidResume(): void;
}

/** What a connection needs of the server. */
export interface GatewayHost {
  readonly clock: Clock;
  readonly heartbeatIntervalMs: number;
  readonly violations: ViolationLog;
  readonly faults: FaultScript;
  findSession(token: string): BoundSession | undefined;
  /** Something changed that a caller may be waiting for. */
  changed(): void;
}

/** One attempt of a client to talk to the gateway, for tests that count attempts. */
export interface ConnectionRecord {
  readonly openedAtMs: number;
  guildId: string | undefined;
  /** How it was bound, undefined while it is not. */
  binding: "identify" | "resume" | undefined;
  closeCode: number | undefined;
  closedBy: "client" | "server" | undefined;
}

/** A heartbeat may be this late, in intervals, plus a fixed tolerance for busy machines. */
const HEARTBEAT_LATE_INTERVALS = 2;
const HEARTBEAT_LATE_MS = 2000;

/** A close frame carries at most 123 bytes of reason. */
const CLOSE_REASON_MAX = 120;

export class GatewayConnection {
  readonly record: ConnectionRecord;
  readonly #host: GatewayHost;
  readonly #socket: WebSocket;
  #session: BoundSession | undefined;
  /** Messages behind a pause; undefined: not paused. */
  #held: (string | Buffer)[] | undefined;
  #heartbeatTimer: Timer | undefined;

  constructor(host: GatewayHost, socket: WebSocket) {
    this.#host = host;
    this.#socket = socket;
    this.record = {
      openedAtMs: host.clock.now(),
      guildId: undefined,
      binding: undefined,
      closeCode: undefined,
      closedBy: undefined,
    };
    socket.on("error", () => undefined); // malformed frames: `ws` closes the socket itself, which is handled
    socket.on("message", (data, isBinary) => this.#onMessage(data, isBinary));
    socket.on("close", (code) => this.#onClose(code));
    this.#sendHello();
  }

  get clock(): Clock {
    return this.#host.clock;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends an unnumbered message, subject to the faults for `step`. */
  send(step: FaultStep | undefined, message: { readonly op: number; readonly d: unknown }): void {
    const action = step === undefined ? undefined : this.#takeFault(step);
    sendWithFault(action, this, (how) => {
      if (how === "send") this.write(JSON.stringify(message));
    });
  }

  /** Writes bytes or text to the socket, behind delayed messages. */
  write(data: string | Buffer): void {
    if (this.#held !== undefined) this.#held.push(data);
    else if (this.isOpen) this.#socket.send(data);
  }

  pause(delayMs: number): void {
    this.#held ??= [];
    this.clock.after(delayMs, () => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const data of held) this.write(data);
    });
  }

  close(code: number, reason = ""): void {
    if (!this.isOpen) return;
    this.#markClosed(code, "server");
    this.#session?.onServerClose(this, code);
    this.#socket.close(code, reason.slice(0, CLOSE_REASON_MAX));
  }

  /** Drops the TCP connection without a close frame. */
  terminate(canResume: boolean): void {
    if (!canResume) this.#session?.forbidResume();
    this.#markClosed(1006, "server");
    this.#session?.onConnectionLost(this);
    this.#socket.terminate();
  }

  #sendHello(): void {
    this.#awaitHeartbeat();
    this.send("hello", { op: 8, d: { v: 8, heartbeat_interval: this.#host.heartbeatIntervalMs } });
  }

  #awaitHeartbeat(): void {
    this.#heartbeatTimer?.cancel();
    const waitMs = this.#host.heartbeatIntervalMs * HEARTBEAT_LATE_INTERVALS + HEARTBEAT_LATE_MS;
    this.#heartbeatTimer = this.clock.after(waitMs, () => this.#onHeartbeatMissing());
  }

  #onHeartbeatMissing(): void {
    if (!this.isOpen) return;
    this.#violation("gateway-heartbeat-missing", "no heartbeat for twice the interval");
    this.close(4009, "Session timeout");
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    if (!this.isOpen) return;
    // `ws` hands over one Buffer per message with its default binaryType.
    const bytes = data as Buffer;
    if (isBinary) this.#onBinary(bytes);
    else this.#onText(bytes.toString("utf8"));
    this.#host.changed();
  }

  #onBinary(bytes: Buffer): void {
    const op = bytes[0];
    if (this.#session === undefined) {
      this.refuse("gateway-order", `binary opcode ${op} before Identify`, 4003);
    } else if (op === undefined || !this.#session.onBinary(op, bytes.subarray(1))) {
      this.refuse("gateway-opcode", `binary opcode ${op}`, 4001);
    }
  }

  #onText(text: string): void {
    const message = parseEnvelope(text);
    if (typeof message === "string") {
      this.refuse("gateway-message", message, 4002);
    } else if (message.op === 3) {
      this.#onHeartbeat(message.d);
    } else if (message.op === 0) {
      handleWithFault(this.#takeFault("identify"), this, () => this.#onIdentify(message.d));
    } else if (message.op === 7) {
      handleWithFault(this.#takeFault("resume"), this, () => this.#onResume(message.d));
    } else if (this.#session === undefined) {
      this.refuse("gateway-order", `opcode ${message.op} before Identify`, 4003);
    } else if (!this.#session.onJson(message.op, message.d)) {
      this.refuse("gateway-opcode", `JSON opcode ${message.op}`, 4001);
    }
  }

  #onHeartbeat(d: unknown): void {
    const heartbeat = parseHeartbeat(d);
    if (typeof heartbeat === "string") {
      this.refuse("gateway-heartbeat", heartbeat, 4002);
      return;
    }
    this.#awaitHeartbeat();
    this.#session?.onHeartbeat(heartbeat.seqAck);
    this.send("heartbeatAck", { op: 6, d: { t: heartbeat.t } });
  }

  #onIdentify(d: unknown): void {
    if (this.#session !== undefined) {
      this.refuse("gateway-order", "a second Identify on one connection", 4005);
      return;
    }
    const identify = parseIdentify(d);
    if (typeof identify === "string") {
      this.refuse("gateway-identify", identify, 4002);
      return;
    }
    const session = this.#host.findSession(identify.token);
    this.record.guildId = identify.guildId;
    if (session === undefined) {
      this.close(4004, "Authentication failed");
      return;
    }
    const refusal = session.refusalOf(identify);
    if (refusal !== undefined) {
      if (refusal.violation !== undefined) this.#violation("gateway-identify", refusal.violation);
      this.close(refusal.closeCode, refusal.reason);
      return;
    }
    this.#session = session;
    this.record.binding = "identify";
    session.onIdentified(this, identify.daveVersionMax);
  }

  #onResume(d: unknown): void {
    const resume = parseResume(d);
    if (typeof resume === "string" || this.#session !== undefined) {
      this.refuse("gateway-resume", typeof resume === "string" ? resume : "Resume on a bound connection", 4002);
      return;
    }
    this.record.guildId = resume.guildId;
    const session = this.#host.findSession(resume.token);
    const missed = session?.missedSince(resume);
    if (session === undefined || missed === undefined) {
      this.close(4006, "Session no longer valid");
      return;
    }
    this.#session = session;
    this.record.binding = "resume";
    session.onResumed(this, missed);
  }

  /** Notes what the client did wrong and closes as Discord would. */
  refuse(kind: ViolationKind, detail: string, closeCode: number): void {
    this.#violation(kind, detail);
    this.close(closeCode, detail);
  }

  #onClose(code: number): void {
    this.#heartbeatTimer?.cancel();
    if (this.record.closedBy === undefined) {
      this.#markClosed(code, "client");
      if (code === 1000) this.#session?.onClientLeft(this);
      else this.#session?.onConnectionLost(this);
    }
    this.#host.changed();
  }

  #markClosed(code: number, closedBy: "client" | "server"): void {
    if (this.record.closedBy !== undefined) return;
    this.record.closeCode = code;
    this.record.closedBy = closedBy;
  }

  #takeFault(step: FaultStep): FaultAction | undefined {
    return this.#session === undefined ? this.#host.faults.take(step) : this.#session.takeFault(step);
  }

  #violation(kind: ViolationKind, detail: string): void {
    this.#host.violations.add(kind, this.#session?.guildId ?? this.record.guildId, detail);
  }
}
