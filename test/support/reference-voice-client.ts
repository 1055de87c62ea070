// A correct, minimal Discord voice client for testing the fake Discord: handshake, heartbeat, Resume, RTP and DAVE,
// with every part open to a test that makes a mistake on purpose. It differs from the node: no pacing, no recovery of
// the connection, no limits.

import { createCipheriv } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { DAVESession } from "@snazzah/davey";
import sodium from "libsodium-wrappers";
import { WebSocket } from "ws";
import type { IssuedVoice } from "../../lab/discord/voice-session.ts";

type Fields = Record<string, unknown>;

export interface ReferenceClientOptions {
  readonly guildId: string;
  readonly userId: string;
  readonly voice: IssuedVoice;
  /** Default: the first mode of Ready. */
  readonly mode?: string;
  /** Default 1. */
  readonly daveVersionMax?: number;
  /** Replaces fields of Identify. */
  readonly identify?: Fields;
}

/** One packet; missing members continue the stream. */
interface PacketOverrides {
  readonly sequence?: number;
  readonly timestamp?: number;
  readonly ssrc?: number;
  readonly nonce?: number;
  readonly firstByte?: number;
}

export const SILENCE = Buffer.from([0xf8, 0xff, 0xfe]);

export class ReferenceVoiceClient {
  readonly options: ReferenceClientOptions;
  /** Everything received, JSON as `{ op, d, seq }`, binary as `{ op, payload, seq }`. */
  readonly messages: { readonly op: number; readonly d: unknown; readonly payload?: Buffer; readonly seq?: number }[] =
    [];
  closeCode: number | undefined;
  seqAck = -1;
  ssrc = 0;
  mode = "";
  secretKey = Buffer.alloc(32);
  sequence = 0xfffe;
  timestamp = 0xffff_fc40;
  nonce = 0;
  /** Set to stop answering heartbeats in time, op 23 and so on. */
  readonly mute = new Set<number>();
  /** Process commits when they arrive (davey then sends with the new key at once) instead of at op 22. */
  isEagerAtCommit = false;
  dave: DAVESession | undefined;
  /** The DAVE version that audio is sent with: changes at op 22. */
  activeVersion = 0;
  /** True while frames may be sent DAVE-encrypted: a group, and its transition executed. */
  isEncrypting = false;
  #socket: WebSocket | undefined;
  #udp: Socket | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #waiters: { readonly condition: () => boolean; readonly resolve: () => void }[] = [];
  #daveVersion = 0;
  #externalSender: Buffer | undefined;
  readonly #knownUsers = new Set<string>();
  readonly #pending = new Map<number, { readonly version: number; readonly commit: Buffer | undefined }>();

  constructor(options: ReferenceClientOptions) {
    this.options = options;
  }

  /** The whole handshake, up to the Session Description. */
  static async connect(options: ReferenceClientOptions): Promise<ReferenceVoiceClient> {
    const client = new ReferenceVoiceClient(options);
    await client.open();
    client.identify();
    await client.ready();
    await client.discover();
    client.select();
    await client.until(() => client.has(4));
    return client;
  }

  async open(query = "?v=8"): Promise<void> {
    await sodium.ready;
    const socket = new WebSocket(`ws://${this.options.voice.endpoint}/${query}`);
    this.#socket = socket;
    this.closeCode = undefined;
    socket.on("message", (data, isBinary) => this.#onMessage(data as Buffer, isBinary));
    socket.on("close", (code) => {
      clearInterval(this.#heartbeat);
      this.closeCode = code;
      this.#changed();
    });
    await once(socket, "open");
  }

  identify(): void {
    const { guildId, userId, voice, daveVersionMax = 1, identify } = this.options;
    this.send(0, {
      server_id: guildId,
      user_id: userId,
      session_id: voice.sessionId,
      token: voice.token,
      max_dave_protocol_version: daveVersionMax,
      ...identify,
    });
  }

  async resume(overrides: Fields = {}): Promise<void> {
    await this.open();
    const { guildId, voice } = this.options;
    const fields = { server_id: guildId, session_id: voice.sessionId, token: voice.token, seq_ack: this.seqAck };
    this.send(7, { ...fields, ...overrides });
  }

  async ready(): Promise<void> {
    await this.until(() => this.has(2));
    const ready = this.last(2) as { ssrc: number; modes: string[] };
    this.ssrc = ready.ssrc;
    this.mode = this.options.mode ?? ready.modes[0] ?? "";
  }

  /** IP discovery; resolves with the answer. */
  async discover(request = this.discoveryRequest()): Promise<Buffer> {
    const udp = await this.udp();
    udp.send(request);
    const [answer] = await once(udp, "message");
    return answer as Buffer;
  }

  discoveryRequest(): Buffer {
    const request = Buffer.alloc(74);
    request.writeUInt16BE(1, 0);
    request.writeUInt16BE(70, 2);
    request.writeUInt32BE(this.ssrc, 4);
    return request;
  }

  /** The socket, connected to the address of Ready. */
  async udp(): Promise<Socket> {
    if (this.#udp !== undefined) return this.#udp;
    const { ip, port } = this.last(2) as { ip: string; port: number };
    const udp = createSocket("udp4");
    udp.on("error", () => undefined);
    udp.connect(port, ip);
    await once(udp, "connect");
    this.#udp = udp;
    return udp;
  }

  select(overrides: Fields = {}): void {
    this.send(1, { protocol: "udp", data: { address: "127.0.0.1", port: 50_000, mode: this.mode, ...overrides } });
  }

  speaking(speaking: number): void {
    this.send(5, { speaking, delay: 0, ssrc: this.ssrc });
  }

  /** One Opus frame through DAVE (when encrypting; silence never is) and transport encryption. */
  sendOpus(opus: Buffer): void {
    const isPlain = !this.isEncrypting || opus.equals(SILENCE);
    this.sendPacket(isPlain || this.dave === undefined ? opus : this.dave.encryptOpus(opus));
  }

  /** Five silence frames and op 5 zero. */
  stop(): void {
    for (let frame = 0; frame < 5; frame++) this.sendOpus(SILENCE);
    this.speaking(0);
  }

  sendPacket(payload: Buffer, overrides: PacketOverrides = {}): void {
    this.sequence = overrides.sequence ?? (this.sequence + 1) & 0xffff;
    this.timestamp = overrides.timestamp ?? (this.timestamp + 960) >>> 0;
    this.nonce = overrides.nonce ?? this.nonce + 1;
    const header = Buffer.alloc(12);
    header[0] = overrides.firstByte ?? 0x80;
    header[1] = 0x78;
    header.writeUInt16BE(this.sequence, 2);
    header.writeUInt32BE(this.timestamp, 4);
    header.writeUInt32BE(overrides.ssrc ?? this.ssrc, 8);
    this.#udp?.send(this.#seal(header, payload));
  }

  sendUdp(packet: Buffer): void {
    this.#udp?.send(packet);
  }

  send(op: number, d: unknown): void {
    this.#socket?.send(JSON.stringify({ op, d }));
  }

  sendText(text: string): void {
    this.#socket?.send(text);
  }

  sendBinary(op: number, payload: Uint8Array): void {
    this.#socket?.send(Buffer.concat([Buffer.from([op]), payload]));
  }

  has(op: number): boolean {
    return this.count(op) > 0;
  }

  count(op: number): number {
    return this.messages.filter((message) => message.op === op).length;
  }

  /** Payload of the newest message with this opcode. */
  last(op: number): unknown {
    return this.messages.findLast((message) => message.op === op)?.d;
  }

  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ condition, resolve }));
  }

  /** Drops TCP without a close frame. */
  drop(): void {
    this.#socket?.terminate();
  }

  close(): void {
    clearInterval(this.#heartbeat);
    this.#socket?.close(1000);
    this.#udp?.close();
    this.#udp = undefined;
  }

  #seal(header: Buffer, payload: Buffer): Buffer {
    const suffix = Buffer.alloc(4);
    suffix.writeUInt32BE(this.nonce);
    if (this.mode === "aead_aes256_gcm_rtpsize") {
      const cipher = createCipheriv("aes-256-gcm", this.secretKey, Buffer.concat([suffix, Buffer.alloc(8)]));
      cipher.setAAD(header);
      return Buffer.concat([header, cipher.update(payload), cipher.final(), cipher.getAuthTag(), suffix]);
    }
    const nonce = Buffer.concat([suffix, Buffer.alloc(20)]);
    const { crypto_aead_xchacha20poly1305_ietf_encrypt: encrypt } = sodium;
    return Buffer.concat([header, encrypt(payload, header, null, nonce, this.secretKey), suffix]);
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.seqAck = data.readUInt16BE(0);
      const payload = Buffer.from(data.subarray(3));
      this.messages.push({ op: data[2] ?? -1, d: undefined, payload, seq: this.seqAck });
      this.#onBinary(data[2] ?? -1, payload);
    } else {
      const message = JSON.parse(data.toString()) as { op: number; d: Fields; seq?: number };
      if (message.seq !== undefined) this.seqAck = message.seq;
      this.messages.push(message);
      this.#onJson(message.op, message.d);
    }
    this.#changed();
  }

  #onJson(op: number, d: Fields): void {
    if (op === 8) this.#startHeartbeat(Number(d.heartbeat_interval));
    else if (op === 4) this.#onSessionDescription(d);
    else if (op === 9) this.#onResumed();
    else if (op === 11) for (const userId of d.user_ids as string[]) this.#knownUsers.add(userId);
    else if (op === 13) this.#knownUsers.delete(String(d.user_id));
    else if (op === 21)
      this.#prepare(Number(d.transition_id), { version: Number(d.protocol_version), commit: undefined });
    else if (op === 22) this.#execute(Number(d.transition_id));
    else if (op === 24 && d.epoch === 1) this.#startDave(Number(d.protocol_version));
  }

  #startHeartbeat(intervalMs: number): void {
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => {
      if (!this.mute.has(3)) this.send(3, { t: Date.now(), seq_ack: this.seqAck });
    }, intervalMs).unref();
  }

  /** The key package may have been lost with the connection: without a group yet, send another. */
  #onResumed(): void {
    const isWaiting = this.dave !== undefined && !this.dave.ready && this.#daveVersion > 0;
    if (isWaiting && this.dave !== undefined) this.sendBinary(26, this.dave.getSerializedKeyPackage());
  }

  #onSessionDescription(d: Fields): void {
    this.secretKey = Buffer.from(d.secret_key as number[]);
    const version = Number(d.dave_protocol_version);
    if (version > 0) this.#startDave(version);
  }

  #startDave(version: number): void {
    const { userId, voice } = this.options;
    this.#daveVersion = version;
    this.isEncrypting = false;
    if (this.dave === undefined) {
      this.dave = new DAVESession(version, userId, voice.channelId);
      if (this.#externalSender !== undefined) this.dave.setExternalSender(this.#externalSender);
    } else {
      this.dave.reinit(version, userId, voice.channelId);
    }
    if (!this.mute.has(26)) this.sendBinary(26, this.dave.getSerializedKeyPackage());
  }

  #onBinary(op: number, payload: Buffer): void {
    if (op === 25) {
      this.#externalSender = payload;
      if (this.dave !== undefined && this.dave.status < 2) this.dave.setExternalSender(payload);
    } else if (op === 27) {
      this.#onProposals(payload);
    } else if (op === 29) {
      this.#onCommit(payload.readUInt16BE(0), payload.subarray(2));
    } else if (op === 30) {
      this.#onWelcome(payload.readUInt16BE(0), payload.subarray(2));
    }
  }

  #onProposals(payload: Buffer): void {
    this.#mergeHeldCommit();
    try {
      const result = this.dave?.processProposals(payload[0] ?? 0, payload.subarray(1), [...this.#knownUsers]);
      if (result?.commit === undefined || this.mute.has(28)) return;
      this.sendBinary(28, Buffer.concat([result.commit, result.welcome ?? Buffer.alloc(0)]));
    } catch {
      // Proposals for an epoch we are not in: ignored (discord-voice.md section 3.9).
    }
  }

  #onCommit(id: number, commit: Buffer): void {
    const isRunning = this.isEncrypting && this.dave?.ready === true;
    // A commit for an epoch behind ours is a duplicate.
    if (isRunning && commit.readBigUInt64BE(13) < (this.dave?.epoch ?? 0n)) return;
    const isHeld = isRunning && id !== 0 && !this.isEagerAtCommit;
    if (!isHeld && !this.#process(id, () => this.dave?.processCommit(commit))) return;
    this.#prepare(id, { version: this.#daveVersion, commit: isHeld ? commit : undefined });
  }

  #onWelcome(id: number, welcome: Buffer): void {
    if (this.dave?.status === 3) return; // a duplicate
    if (!this.#process(id, () => this.dave?.processWelcome(welcome))) return;
    this.#prepare(id, { version: this.#daveVersion, commit: undefined });
  }

  /** Op 31 and a new key package when a commit or Welcome cannot be processed. */
  #process(id: number, work: () => void): boolean {
    try {
      work();
      return true;
    } catch {
      if (!this.mute.has(31)) this.send(31, { transition_id: id });
      this.#startDave(this.#daveVersion);
      return false;
    }
  }

  #prepare(id: number, transition: { readonly version: number; readonly commit: Buffer | undefined }): void {
    this.#pending.set(id, transition);
    if (id === 0) this.#execute(0);
    else if (!this.mute.has(23)) this.send(23, { transition_id: id });
  }

  #execute(id: number): void {
    const transition = this.#pending.get(id);
    if (transition === undefined) return;
    this.#pending.delete(id);
    const { commit, version } = transition;
    if (commit !== undefined && !this.#process(id, () => this.dave?.processCommit(commit))) return;
    this.activeVersion = version;
    this.isEncrypting = version > 0 && this.dave?.ready === true;
  }

  /** The next proposals are for the epoch of a commit we still hold back. */
  #mergeHeldCommit(): void {
    for (const [id, transition] of this.#pending) {
      const { commit } = transition;
      if (commit === undefined) continue;
      this.#pending.set(id, { ...transition, commit: undefined });
      this.#process(id, () => this.dave?.processCommit(commit));
    }
  }

  #changed(): void {
    const met = this.#waiters.filter((waiter) => waiter.condition());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const waiter of met) waiter.resolve();
  }
}
