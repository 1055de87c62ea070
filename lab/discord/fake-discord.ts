// The fake Discord: voice gateway v8, UDP, DAVE, listeners, scripted faults, for any v4 node. This file is its whole
// public interface; everything runs in the thread that starts it.
//
//     const discord = await FakeDiscord.start();
//     const voice = discord.issueVoice({ guildId: "1", userId: "2", channelId: "3" }); // goes into PATCH player
//     // … the node connects to ws://<voice.endpoint>/?v=8 and plays …
//     await discord.until(() => discord.channel("3").listener.receivedCount >= 50, "50 frames");
//     discord.assertClean(); // throws with everything a real Discord would have refused
//     await discord.close();

import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { ArrivalStatistics, type ArrivalSummary } from "./arrival-statistics.ts";
import type { DavePolicy } from "./dave-policy.ts";
import { type DiscordNetwork, systemNetwork } from "./discord-network.ts";
import { FaultScript } from "./faults.ts";
import type { ConnectionRecord } from "./gateway-connection.ts";
import { GatewayServer } from "./gateway-server.ts";
import type { RtpReceiver } from "./rtp-receiver.ts";
import { OVERTAKE_MS } from "./stop-rules.ts";
import type { BegunStream, StreamOverlap } from "./stream-overlaps.ts";
import { TRANSPORT_MODES, type TransportMode } from "./transport-crypto.ts";
import { UdpServer } from "./udp-server.ts";
import { type Violation, type ViolationKind, ViolationLog } from "./violations.ts";
import { VoiceChannel } from "./voice-channel.ts";
import { type IssuedVoice, type SessionHost, VoiceSession } from "./voice-session.ts";
import { Waiters } from "./waiters.ts";

export interface FakeDiscordOptions {
  /** IPv4 address to listen on, default 127.0.0.1. */
  readonly address?: string;
  /** The clock of all its times, arrivals included. Default: the system's. */
  readonly clock?: Clock;
  /** Its network. Default: free ports at `address`. */
  readonly network?: DiscordNetwork;
  /** Milliseconds, default 13750 as in production. */
  readonly heartbeatIntervalMs?: number;
  /** Encryption modes in Ready; default both, AES first. */
  readonly modes?: readonly TransportMode[];
  /** Number of the first numbered gateway message of each session, 0 to 65535, default 1. */
  readonly firstSeq?: number;
  /** First SSRC, default 1111; each Identify gets the next. */
  readonly firstSsrc?: number;
  /** UDP sockets to spread the players over, default 1. */
  readonly udpSocketCount?: number;
  /** How long a session waits for a Resume, default 60 000 ms. */
  readonly resumeWindowMs?: number;
  /** False: listeners count frames and call `onFrame`, but store none. Default true. */
  readonly keepFrames?: boolean;
  /** Decrypt each n-th packet of a stream only; the headers of the others are checked and timed. Default 1. */
  readonly decryptEvery?: number;
  /** Initial policy of each channel's DAVE gateway, where it differs from the default. */
  readonly davePolicy?: Partial<DavePolicy>;
}

export interface ChannelOptions {
  /** Version the channel demands: 1, or 0 for a stage channel. Default 1. */
  readonly daveVersion?: number;
  /** User ids of the listeners in it, default one: `DEFAULT_LISTENER_ID`. */
  readonly listenerIds?: readonly string[];
}

export interface IssueVoiceOptions extends ChannelOptions {
  readonly guildId: string;
  readonly userId: string;
  /** An unknown channel is created, with the `ChannelOptions` given here. */
  readonly channelId: string;
}

interface MoveVoiceOptions extends ChannelOptions {
  readonly guildId: string;
  /** Another channel (channel move), or omitted: the same (voice server change). */
  readonly channelId?: string;
  /** When the old WebSocket is closed. Default `now`, before the new credentials are handed out. */
  readonly closeOld?: "now" | "afterIdentify" | "never";
  /** Close code, default 4014. */
  readonly closeCode?: 4014 | 4022;
}

/** Counters of one stream; plain data. */
interface StreamStats extends ArrivalSummary {
  readonly guildId: string;
  readonly ssrc: number;
  readonly frames: number;
  readonly audioFrames: number;
  readonly lostPackets: number;
  readonly skippedFrames: number;
}

export interface FakeDiscordStats {
  readonly streams: readonly StreamStats[];
  /** All streams together. */
  readonly total: Omit<StreamStats, "guildId" | "ssrc">;
  readonly violationCount: number;
}

export const DEFAULT_LISTENER_ID = "800000000000000001";
const UNTIL_TIMEOUT_MS = 30_000;

export class FakeDiscord {
  /** Faults of every connection; those of one session are at `session(…).faults`. */
  readonly faults = new FaultScript();
  readonly #violations: ViolationLog;
  readonly #clock: Clock;
  readonly #waiters: Waiters;
  readonly #options: FakeDiscordOptions;
  readonly #udp: UdpServer;
  #gateway: GatewayServer | undefined;
  readonly #channels = new Map<string, VoiceChannel>();
  readonly #sessionsByToken = new Map<string, VoiceSession>();
  /** The newest session of each guild. */
  readonly #sessionsByGuild = new Map<string, VoiceSession>();
  #nextSsrc: number;
  #nextVoice = 1;

  private constructor(options: FakeDiscordOptions, udp: UdpServer, violations: ViolationLog) {
    const { clock = systemClock } = options;
    this.#clock = clock;
    this.#waiters = new Waiters(clock);
    this.#options = options;
    this.#udp = udp;
    this.#violations = violations;
    this.#nextSsrc = options.firstSsrc ?? 1111;
  }

  /** Starts the voice gateway (TCP) and UDP on free ports. */
  static async start(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
    const { udpSocketCount: socketCount = 1, clock = systemClock } = options;
    const violations = new ViolationLog(clock);
    const network = options.network ?? systemNetwork(options.address ?? "127.0.0.1");
    const udp = await UdpServer.open({ network, socketCount, clock, violations });
    const discord = new FakeDiscord(options, udp, violations);
    discord.#gateway = await GatewayServer.open(discord.#createHost(), network);
    return discord;
  }

  /** `127.0.0.1:PORT` of the voice gateway. */
  get endpoint(): string {
    return this.#openGateway.endpoint;
  }

  /** Every WebSocket so far, with its binding and its end. */
  get connections(): readonly ConnectionRecord[] {
    return this.#openGateway.connections;
  }

  /** HTTP upgrades requested, refused and hanging ones included. */
  get upgradeCount(): number {
    return this.#openGateway.upgradeCount;
  }

  /** Count of TLS handshakes received instead of HTTP: a client that insists on `wss://`. */
  get tlsAttemptCount(): number {
    return this.#openGateway.tlsAttemptCount;
  }

  /** Every stream so far, as it is received. */
  get receivers(): readonly RtpReceiver[] {
    return [...this.#sessionsByToken.values()].flatMap((session) => session.receivers);
  }

  /** Streams that went on beside a newer one of the same bot in the same guild: it was sent from two places at once. */
  get overlaps(): readonly StreamOverlap[] {
    return this.#udp.overlaps.list;
  }

  /** Where the streams so far were sent from, in the order of their first packets. */
  get begunStreams(): readonly BegunStream[] {
    return this.#udp.overlaps.begun;
  }

  get violations(): readonly Violation[] {
    return this.#violations.list;
  }

  /** Credentials for a bot that joins a channel, as the main gateway would hand them out. */
  issueVoice(options: IssueVoiceOptions): IssuedVoice {
    const channel = this.#channels.get(options.channelId) ?? this.createChannel(options);
    const number = this.#nextVoice++;
    const session = new VoiceSession(this.#createHost(), channel.call, {
      guildId: options.guildId,
      userId: options.userId,
      sessionId: `session-${number}`,
      token: `token-${number}`,
    });
    this.#sessionsByToken.set(session.token, session);
    this.#sessionsByGuild.set(session.guildId, session);
    return {
      token: session.token,
      endpoint: this.endpoint,
      sessionId: session.sessionId,
      channelId: channel.channelId,
    };
  }

  /** New credentials for a bot that was moved or whose voice server changed; the old ones stop working. */
  moveVoice(options: MoveVoiceOptions): IssuedVoice {
    const old = this.session(options.guildId);
    const code = options.closeCode ?? 4014;
    const closeOld = options.closeOld ?? "now";
    if (closeOld === "now") old.close(code, "Disconnected.");
    old.retire();
    const channelId = options.channelId ?? old.call.channelId;
    if (channelId === old.call.channelId) this.channel(channelId).changeServer();
    const voice = this.issueVoice({ ...options, userId: old.userId, channelId });
    if (closeOld === "afterIdentify") {
      const moved = this.session(voice);
      this.#waiters
        .until(() => moved.isIdentified, "Identify after a move", 2 ** 31 - 1)
        .then(
          () => old.close(code, "Disconnected."),
          () => undefined, // closed before the bot connected: nothing left to close
        );
    }
    return voice;
  }

  /** Makes a channel ahead of `issueVoice`. */
  createChannel(options: ChannelOptions & { readonly guildId: string; readonly channelId: string }): VoiceChannel {
    const channel = new VoiceChannel({
      guildId: options.guildId,
      channelId: options.channelId,
      daveVersion: options.daveVersion ?? 1,
      keepFrames: this.#options.keepFrames ?? true,
      clock: this.#clock,
      waiters: this.#waiters,
      report: (kind, detail) => this.#violations.add(kind, options.guildId, detail),
    });
    Object.assign(channel.policy, this.#options.davePolicy);
    this.#channels.set(options.channelId, channel);
    for (const userId of options.listenerIds ?? [DEFAULT_LISTENER_ID]) channel.enter(userId);
    return channel;
  }

  channel(channelId: string): VoiceChannel {
    const channel = this.#channels.get(channelId);
    if (channel === undefined) throw new Error(`fake Discord: no channel ${channelId}`);
    return channel;
  }

  /** The session of these credentials, or the newest of a guild. */
  session(voice: IssuedVoice | string): VoiceSession {
    const session =
      typeof voice === "string" ? this.#sessionsByGuild.get(voice) : this.#sessionsByToken.get(voice.token);
    if (session === undefined) throw new Error("fake Discord: no voice was issued for that");
    return session;
  }

  /** Resolves once `condition` holds (checked after every message, frame and transition); rejects naming `what`. */
  until(condition: () => boolean, what: string, timeoutMs = UNTIL_TIMEOUT_MS): Promise<void> {
    return this.#waiters.until(condition, what, timeoutMs);
  }

  /**
   * Resolves when all audio of a channel has been received: the event of a track's end may be faster than its last
   * packets. Needs `keepFrames`.
   */
  untilSilent(channelId: string): Promise<void> {
    const { listener } = this.channel(channelId);
    return this.until(() => listener.isAtStop, `silence in channel ${channelId}`);
  }

  /**
   * Resolves when the audio sent before an already received WebSocket message has arrived as well, or had time enough.
   */
  async arrived(): Promise<void> {
    const hasArrived = () => [...this.#sessionsByToken.values()].every((session) => !session.isStopping);
    await this.#waiters.settled(hasArrived, OVERTAKE_MS);
  }

  /** Throws listing everything a real Discord would have refused so far, except the kinds named. */
  assertClean(options: { readonly except?: readonly ViolationKind[] } = {}): void {
    for (const session of this.#sessionsByToken.values()) session.settle();
    this.#violations.assertNone(options.except ?? []);
  }

  clearViolations(): void {
    this.#violations.clear();
  }

  clearOverlaps(): void {
    this.#udp.overlaps.clear();
  }

  /** Counters and lateness of every stream so far; plain data. */
  stats(): FakeDiscordStats {
    const arrivals = new ArrivalStatistics();
    const streams: StreamStats[] = [];
    for (const session of this.#sessionsByToken.values()) {
      for (const receiver of session.receivers) {
        arrivals.merge(receiver.arrivals);
        streams.push({ guildId: session.guildId, ...receiver.counters(), ...receiver.arrivals.summary() });
      }
    }
    const sum = (pick: (stream: StreamStats) => number) => streams.reduce((total, stream) => total + pick(stream), 0);
    const total = {
      frames: sum((stream) => stream.frames),
      audioFrames: sum((stream) => stream.audioFrames),
      lostPackets: sum((stream) => stream.lostPackets),
      skippedFrames: sum((stream) => stream.skippedFrames),
      ...arrivals.summary(),
    };
    return { streams, total, violationCount: this.#violations.count };
  }

  /** Clears the lateness measured so far, for measuring after a warm-up. */
  clearArrivals(): void {
    for (const { arrivals } of this.receivers) arrivals.clear();
  }

  /** The lateness of all streams since the last take or clear. */
  takeArrivals(): ArrivalStatistics {
    const arrivals = new ArrivalStatistics();
    for (const receiver of this.receivers) arrivals.merge(receiver.arrivals);
    this.clearArrivals();
    return arrivals;
  }

  /** A fault: the UDP ports close, and datagrams sent there are answered with ICMP "port unreachable". */
  closeUdp(): void {
    this.#udp.close();
  }

  async close(): Promise<void> {
    this.#waiters.close();
    this.#udp.close();
    await this.#gateway?.close();
  }

  get #openGateway(): GatewayServer {
    if (this.#gateway === undefined) throw new Error("fake Discord: not started");
    return this.#gateway;
  }

  #createHost(): SessionHost {
    const options = this.#options;
    return {
      clock: this.#clock,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 13_750,
      modes: options.modes ?? TRANSPORT_MODES,
      firstSeq: options.firstSeq ?? 1,
      decryptEvery: options.decryptEvery ?? 1,
      resumeWindowMs: options.resumeWindowMs ?? 60_000,
      violations: this.#violations,
      faults: this.faults,
      udp: this.#udp,
      findSession: (token) => this.#sessionsByToken.get(token),
      changed: () => this.#waiters.changed(),
      nextSsrc: () => this.#nextSsrc++,
    };
  }
}
