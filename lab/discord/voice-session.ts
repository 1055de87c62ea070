// One set of voice credentials and its session: the handshake after Identify, numbered messages and Resume, op 5, and
// the RTP stream. Outlives WebSockets; ends when it is retired (moved, kicked) or the client leaves.

import { randomBytes } from "node:crypto";
import type { Timer } from "../../src/lib/clock.ts";
import { type Identify, IGNORED_CLIENT_OPS, parseSelect, parseSpeaking, type Resume } from "./client-messages.ts";
import { type FaultAction, FaultScript, type FaultStep, handleWithFault, sendWithFault } from "./faults.ts";
import type { BoundSession, GatewayConnection, GatewayHost } from "./gateway-connection.ts";
import { ReplayBuffer, type SequencedMessage } from "./replay-buffer.ts";
import { type RtpFrame, RtpReceiver } from "./rtp-receiver.ts";
import type { TransportMode } from "./transport-crypto.ts";
import type { UdpPeer, UdpServer } from "./udp-server.ts";
import type { ViolationKind } from "./violations.ts";

/** The values that a bot library would forward to its node after joining a channel. */
export interface IssuedVoice {
  readonly token: string;
  readonly endpoint: string;
  readonly sessionId: string;
  readonly channelId: string;
}

/** What a session needs of the server. */
export interface SessionHost extends GatewayHost {
  readonly modes: readonly TransportMode[];
  readonly firstSeq: number;
  readonly decryptEvery: number;
  readonly resumeWindowMs: number;
  readonly udp: UdpServer;
  nextSsrc(): number;
}

/** What a session needs of the call it belongs to. */
export interface SessionCall {
  readonly channelId: string;
  /** 0: a stage channel, no DAVE. */
  readonly daveVersion: number;
  /** The version announced to a session that begins now: 0 while the call is downgraded. */
  readonly daveVersionNow: number;
  otherUserIds(userId: string): readonly string[];
  onIdentified(session: VoiceSession): void;
  beforeSessionDescription(session: VoiceSession): void;
  afterSessionDescription(session: VoiceSession): void;
  onSpeaking(session: VoiceSession, speaking: number): void;
  /** One of the DAVE opcodes 23, 26, 28 and 31, with its JSON or binary payload. False: malformed. */
  onDaveMessage(session: VoiceSession, op: number, payload: unknown): boolean;
  onFrame(session: VoiceSession, frame: RtpFrame): void;
  onLeft(session: VoiceSession): void;
}

/** A message of the client, heartbeats left out. */
interface ReceivedMessage {
  readonly op: number;
  readonly atMs: number;
  /** `d` of a JSON message, the bytes behind the opcode of a binary one. */
  readonly payload: unknown;
}

interface VoiceSessionOptions {
  readonly guildId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
}

/** Close codes after which these credentials are worth nothing. */
const RETIRING_CODES: ReadonlySet<number> = new Set([4004, 4006, 4011, 4014, 4022]);
/** Close codes after which the client may Identify again, but not Resume. */
const UNRESUMABLE_CODES: ReadonlySet<number> = new Set([1000, 4003, 4005, 4009, 4016, 4017, 4021]);
const RECEIVED_MESSAGES_MAX = 1000;
const DAVE_JSON_OPS: ReadonlyMap<number, FaultStep> = new Map([
  [23, "transitionReady"],
  [31, "invalidCommit"],
]);
const DAVE_BINARY_OPS: ReadonlyMap<number, FaultStep> = new Map([
  [26, "keyPackage"],
  [28, "commit"],
]);

export class VoiceSession implements UdpPeer, BoundSession {
  readonly guildId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  readonly call: SessionCall;
  /** Faults of this session only; they take precedence over those of the server. */
  readonly faults = new FaultScript();
  /** Set to false to make the session's UDP vanish without an error, true to let it through again. */
  isUdpReachable = true;
  /** Everything the client sent but heartbeats, oldest first, the last 1000. */
  readonly received: ReceivedMessage[] = [];
  readonly #host: SessionHost;
  /** One per Identify, the last is the current one. */
  readonly #receivers: RtpReceiver[] = [];
  #replay: ReplayBuffer | undefined;
  #connection: GatewayConnection | undefined;
  #resumeTimer: Timer | undefined;
  #canResume = false;
  #isRetired = false;
  #isInCall = false;
  #daveVersion = 0;
  #identifyCount = 0;
  #resumeCount = 0;
  #heartbeatCount = 0;
  #discoveryCount = 0;
  #keepaliveCount = 0;
  #framesAfterEnd = 0;

  constructor(host: SessionHost, call: SessionCall, options: VoiceSessionOptions) {
    this.#host = host;
    this.call = call;
    this.guildId = options.guildId;
    this.userId = options.userId;
    this.sessionId = options.sessionId;
    this.token = options.token;
  }

  /** The current stream; throws before Identify. */
  get receiver(): RtpReceiver {
    const receiver = this.#receivers.at(-1);
    if (receiver === undefined) throw new Error("fake Discord: no Identify yet on this voice session");
    return receiver;
  }

  get receivers(): readonly RtpReceiver[] {
    return this.#receivers;
  }

  get isIdentified(): boolean {
    return this.#receivers.length > 0;
  }

  /** True while a WebSocket is bound to the session. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** True after a move, a kick or any other end of the credentials. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** True from op 4 on. */
  get isOpen(): boolean {
    return this.#receivers.at(-1)?.isOpen ?? false;
  }

  /** The DAVE version agreed on at Identify: the lower of what the channel has and what the client offered. */
  get daveVersion(): number {
    return this.#daveVersion;
  }

  get identifyCount(): number {
    return this.#identifyCount;
  }

  get resumeCount(): number {
    return this.#resumeCount;
  }

  /** Connections so far, by Identify or Resume. */
  get bindingCount(): number {
    return this.#identifyCount + this.#resumeCount;
  }

  get heartbeatCount(): number {
    return this.#heartbeatCount;
  }

  get discoveryCount(): number {
    return this.#discoveryCount;
  }

  get keepaliveCount(): number {
    return this.#keepaliveCount;
  }

  /** Packets that arrived although the session had ended: ignored, as Discord does. */
  get framesAfterEnd(): number {
    return this.#framesAfterEnd;
  }

  /** Last value of op 5. */
  get speaking(): number {
    return this.#receivers.at(-1)?.stopRules.speaking ?? 0;
  }

  /** Op 5 has announced the end of audio, and its silence frames are still to arrive. */
  get isStopping(): boolean {
    return this.#receivers.at(-1)?.stopRules.isStopping ?? false;
  }

  /** Packets received over all Identifies, silence included. */
  get frameCount(): number {
    return this.#receivers.reduce((sum, receiver) => sum + receiver.frameCount, 0);
  }

  get audioFrameCount(): number {
    return this.#receivers.reduce((sum, receiver) => sum + receiver.audioFrameCount, 0);
  }

  /** How often the client sent this opcode (within the last 1000 messages). */
  countOf(op: number): number {
    return this.received.filter((message) => message.op === op).length;
  }

  takeFault(step: FaultStep): FaultAction | undefined {
    return this.faults.take(step) ?? this.#host.faults.take(step);
  }

  /** Sends a numbered JSON message; without a WebSocket it waits in the Resume buffer. */
  sendJson(step: FaultStep | undefined, op: number, d: unknown): void {
    this.#sendNumbered(step, (seq) => JSON.stringify({ op, d, seq }));
  }

  /** Sends a binary message: number, opcode, payload. */
  sendBinary(step: FaultStep | undefined, op: number, payload: Uint8Array): void {
    this.#sendNumbered(step, (seq) => Buffer.concat([Buffer.from([seq >> 8, seq & 0xff, op]), payload]));
  }

  /** Closes the client's WebSocket; the code decides whether Resume and Identify work afterwards, as with Discord. */
  close(code: number, reason = ""): void {
    if (this.#connection !== undefined) this.#connection.close(code, reason);
    else this.onServerClose(undefined, code);
  }

  /** Drops the TCP connection. */
  terminate(options: { readonly canResume?: boolean } = {}): void {
    this.#connection?.terminate(options.canResume ?? true);
  }

  /** The credentials stop working; an open WebSocket stays in the call until either side closes it. */
  retire(): void {
    this.#isRetired = true;
    this.#canResume = false;
    if (!this.isConnected) this.#leaveCall();
  }

  forbidResume(): void {
    this.#canResume = false;
  }

  refusalOf(identify: Identify): ReturnType<BoundSession["refusalOf"]> {
    if (this.#isRetired) return { closeCode: 4006, reason: "Session no longer valid" };
    if (identify.sessionId !== this.sessionId) {
      return { closeCode: 4006, reason: "Session no longer valid", violation: "session_id of another voice state" };
    }
    if (identify.guildId !== this.guildId) {
      return { closeCode: 4011, reason: "Server not found", violation: "server_id is not the guild of the token" };
    }
    if (identify.userId !== this.userId) {
      return { closeCode: 4004, reason: "Authentication failed", violation: "user_id is not the user of the token" };
    }
    if (identify.daveVersionMax < this.call.daveVersion) return { closeCode: 4017, reason: "E2EE/DAVE required" };
    return undefined;
  }

  onIdentified(connection: GatewayConnection, daveVersionMax: number): void {
    this.#connection?.terminate(false);
    // A bot that identifies again is a new member, also where a Resume of the one before was still possible.
    this.#leaveCall();
    this.#identifyCount++;
    this.#bind(connection);
    this.#daveVersion = Math.min(daveVersionMax, this.call.daveVersion);
    this.#replay = new ReplayBuffer(this.#host.firstSeq);
    this.#receivers.push(this.#createReceiver());
    this.#host.udp.add(this);
    const { ssrc } = this.receiver;
    const { udp, modes } = this.#host;
    const ready = { ssrc, ip: udp.address, port: udp.nextPort(), modes };
    connection.send("ready", { op: 2, d: { ...ready, experiments: [], streams: [] } });
    const others = this.call.otherUserIds(this.userId);
    if (others.length > 0) this.announceUsers(others);
    this.#isInCall = true;
    this.call.onIdentified(this);
  }

  /** Op 11 for present users, and the two messages about them that clients have to ignore. */
  announceUsers(userIds: readonly string[]): void {
    this.sendJson("clientsConnect", 11, { user_ids: userIds });
    for (const userId of userIds) {
      this.sendJson(undefined, 18, { user_id: userId, flags: 2 });
      this.sendJson(undefined, 20, { user_id: userId, platform: 0 });
    }
  }

  missedSince(resume: Resume): readonly SequencedMessage[] | undefined {
    const isOurs = resume.guildId === this.guildId && resume.sessionId === this.sessionId;
    if (!isOurs || !this.#canResume || this.#isRetired) return undefined;
    return this.#replay?.after(resume.seqAck);
  }

  onResumed(connection: GatewayConnection, missed: readonly SequencedMessage[]): void {
    this.#resumeCount++;
    if (this.#connection !== undefined) this.#connection.terminate(true);
    this.#bind(connection);
    connection.send("resumed", { op: 9, d: null });
    this.#replay?.restampReplayed(this.#host.clock.now());
    for (const message of missed) connection.write(message.data);
  }

  onHeartbeat(seqAck: unknown): void {
    this.#heartbeatCount++;
    const problem = this.#replay?.judgeAck(seqAck, this.#host.clock.now());
    if (problem !== undefined) this.report("gateway-seq-ack", problem);
  }

  onJson(op: number, d: unknown): boolean {
    this.#remember(op, d);
    const daveStep = DAVE_JSON_OPS.get(op);
    if (daveStep !== undefined) this.#onDave(daveStep, op, d);
    else if (op === 1) this.#withFault("select", () => this.#onSelect(d));
    else if (op === 5) this.#withFault("speaking", () => this.#onSpeaking(d));
    else if (op === 16) this.#connection?.send(undefined, { op: 16, d: { voice: "0.0.0", rtc_worker: "0.0.0" } });
    else return IGNORED_CLIENT_OPS.has(op);
    return true;
  }

  onBinary(op: number, payload: Buffer): boolean {
    this.#remember(op, payload);
    const step = DAVE_BINARY_OPS.get(op);
    if (step !== undefined) this.#onDave(step, op, payload);
    return step !== undefined;
  }

  onDiscovery(): FaultAction | undefined {
    this.#discoveryCount++;
    this.#host.changed();
    return this.takeFault("discovery");
  }

  onKeepalive(): void {
    this.#keepaliveCount++;
    this.#host.changed();
  }

  onServerClose(connection: GatewayConnection | undefined, code: number): void {
    if (connection !== this.#connection) return;
    if (RETIRING_CODES.has(code)) this.retire();
    else if (UNRESUMABLE_CODES.has(code)) this.#end();
    if (connection !== undefined) this.onConnectionLost(connection);
  }

  /** The client closed with 1000: it has left, though it may Identify again. */
  onClientLeft(connection: GatewayConnection): void {
    if (connection !== this.#connection) return;
    this.#end();
    this.onConnectionLost(connection);
  }

  /** The WebSocket was lost; the session waits for a Resume. */
  onConnectionLost(connection: GatewayConnection): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    const { clock, resumeWindowMs } = this.#host;
    if (this.#canResume) this.#resumeTimer = clock.after(resumeWindowMs, () => this.#end());
    else this.#leaveCall();
  }

  report(kind: ViolationKind, detail: string): void {
    this.#host.violations.add(kind, this.guildId, detail);
  }

  /** Judges the rules that depend on time: silence frames and op 5 after the last audio. */
  settle(): void {
    if (this.#isInCall) this.#receivers.at(-1)?.stopRules.settle(this.#host.clock.now(), this.isConnected);
  }

  #end(): void {
    this.#canResume = false;
    this.#leaveCall();
  }

  #leaveCall(): void {
    this.#resumeTimer?.cancel();
    if (!this.#isInCall) return;
    this.#isInCall = false;
    this.call.onLeft(this);
    this.#host.changed();
  }

  #bind(connection: GatewayConnection): void {
    this.#resumeTimer?.cancel();
    this.#connection = connection;
    this.#canResume = true;
  }

  #createReceiver(): RtpReceiver {
    return new RtpReceiver({
      ssrc: this.#host.nextSsrc(),
      secretKey: randomBytes(32),
      decryptEvery: this.#host.decryptEvery,
      report: (kind, detail) => this.report(kind, detail),
      onFrame: (frame) => this.#onFrame(frame),
    });
  }

  #onFrame(frame: RtpFrame): void {
    if (this.#isInCall) this.call.onFrame(this, frame);
    else this.#framesAfterEnd++;
    this.#host.changed();
  }

  #onSelect(d: unknown): void {
    const { receiver } = this;
    if (receiver.mode !== undefined) {
      this.report("gateway-order", "a second Select Protocol");
      return;
    }
    const mode = parseSelect(d, this.#host.modes);
    if (typeof mode !== "string") {
      this.#connection?.refuse("gateway-select", mode.problem, mode.closeCode);
      return;
    }
    receiver.mode = mode;
    this.call.beforeSessionDescription(this);
    receiver.isOpen = true;
    this.#connection?.send("sessionDescription", {
      op: 4,
      d: {
        audio_codec: "opus",
        video_codec: "H264",
        media_session_id: randomBytes(16).toString("hex"),
        mode,
        secret_key: [...receiver.secretKey],
        dave_protocol_version: Math.min(this.#daveVersion, this.call.daveVersionNow),
      },
    });
    this.call.afterSessionDescription(this);
  }

  #onSpeaking(d: unknown): void {
    const message = parseSpeaking(d);
    if (typeof message === "string") {
      this.#connection?.refuse("gateway-message", message, 4002);
      return;
    }
    if (message.ssrc !== this.receiver.ssrc) {
      this.report("gateway-speaking", `op 5 names SSRC ${message.ssrc} instead of ${this.receiver.ssrc}`);
    }
    this.receiver.stopRules.onSpeaking(message.speaking, this.#host.clock.now());
    this.call.onSpeaking(this, message.speaking);
  }

  #onDave(step: FaultStep, op: number, payload: unknown): void {
    this.#withFault(step, () => {
      if (!this.call.onDaveMessage(this, op, payload)) {
        this.#connection?.refuse("gateway-message", `malformed payload of opcode ${op}`, 4002);
      }
    });
  }

  #withFault(step: FaultStep, handle: () => void): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    handleWithFault(this.takeFault(step), connection, () => {
      handle();
      this.#host.changed();
    });
  }

  #sendNumbered(step: FaultStep | undefined, encode: (seq: number) => string | Buffer): void {
    const replay = this.#replay;
    if (replay === undefined) return;
    const connection = this.#connection;
    if (connection === undefined) {
      replay.add(encode, this.#host.clock.now());
      return;
    }
    sendWithFault(step === undefined ? undefined : this.takeFault(step), connection, (how) => {
      const message = replay.add(encode, this.#host.clock.now());
      if (how === "send") connection.write(message.data);
    });
  }

  #remember(op: number, payload: unknown): void {
    if (this.received.length >= RECEIVED_MESSAGES_MAX) this.received.shift();
    this.received.push({ op, atMs: this.#host.clock.now(), payload });
  }
}
