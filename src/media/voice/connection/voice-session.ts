// One voice session with Discord: from Identify through IP discovery and Session Description to flowing audio, across
// any number of resumes (discord-voice.md sections 1.3, 1.5). Each new Identify is a new VoiceSession. Below the voice
// connection, which decides about reconnecting and moves; frames go through session-sink.ts. Audio thread.

import { isIPv4 } from "node:net";
import { DAVE_PROTOCOL_VERSION } from "@snazzah/davey";
import type { DaveReport } from "../../../bridge/audio-report.ts";
import type { VoiceCredentials } from "../../../bridge/voice-credentials.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import { CLOSE_ABNORMAL, CLOSE_NORMAL } from "../../../lib/close-codes.ts";
import type { Random } from "../../../lib/random.ts";
import type { Logger } from "../../../log/log.ts";
import type { Sockets } from "../../../network/sockets.ts";
import { RING_FRAMES } from "../../pacer/frame-ring.ts";
import type { HandlerGuard } from "../../pacer/handler-guard.ts";
import type { PacerLink } from "../../pacer/pacer-link.ts";
import { randomRtpStart } from "../../pacer/rtp-stream.ts";
import { chooseEncryptionMode, isEncryptionMode, XCHACHA_MODE } from "../../pacer/transport-encryption.ts";
import type { VoiceSendPath } from "../../pacer/voice-send-path.ts";
import { DaveSession } from "../dave/dave-session.ts";
import {
  type GatewayMessage,
  OPCODE,
  type SessionDescriptionMessage,
  type VoiceReadyMessage,
} from "../gateway/gateway-messages.ts";
import { GatewaySocket } from "../gateway/gateway-socket.ts";
import type { VoiceClose } from "../voice.ts";
import type { VoiceCounters } from "../voice-counters.ts";
import type { VoiceGuard } from "../voice-guard.ts";
import type { VoiceLimits } from "../voice-limits.ts";
import { CLOSE_UNKNOWN_MODE } from "./close-policy.ts";
import { type Media, SessionSink } from "./session-sink.ts";

/** Longest wait for each answer of the handshake. */
const STEP_MS_MAX = 10_000;
const UDP_REFUSED =
  "the voice server's UDP address is refused: not public; to allow it, add its block to " + "tonearm.network.allow";

export interface SessionLoss extends VoiceClose {
  /** The error that prevented opening the gateway, if there was one. */
  readonly cause: unknown;
  /** True when `resume()` makes sense; audio still goes out meanwhile. Otherwise the session is over. */
  readonly isResumable: boolean;
  /** True when trying again cannot help. */
  readonly isFinal: boolean;
}

type LossDetails = Partial<Pick<SessionLoss, "cause" | "code" | "isFinal">>;

/** What a session needs from its connection. */
interface VoiceSessionParent {
  /** The gateway's WebSocket is open, for the first time or again. */
  onSessionOpen(session: VoiceSession): void;
  /** Op 4 or Resumed: the session works. */
  onSessionWorking(session: VoiceSession): void;
  /** One of `gate`, `isOpen`, `isReady`, `pingMs` may have changed. */
  onSessionChanged(session: VoiceSession): void;
  onSessionLost(session: VoiceSession, loss: SessionLoss): void;
  /** No DAVE group was formed; a new session might help. */
  onSessionStuck(session: VoiceSession): void;
  /**
   * Unsent frames are encrypted with other keys than the following ones, or their send path ends: they can be revoked.
   */
  onSessionSendPathChanging(session: VoiceSession): void;
  /** These frames were not revoked before their send path ended: they are never sent. */
  onSessionFramesLost(count: number): void;
  /** An exception while a frame was sent. */
  onSessionThrown(error: unknown): void;
}

interface VoiceSessionOptions {
  readonly url: string;
  readonly credentials: VoiceCredentials;
  readonly guildId: string;
  readonly userId: string;
  readonly connectTimeoutMs: number;
  readonly isPlainFallbackAllowed: boolean;
  /** Select the mode that every server supports, whatever it offers. */
  readonly isXchachaForced: boolean;
  readonly guard: VoiceGuard;
  readonly sockets: Sockets;
  readonly pacer: PacerLink;
  readonly limits: VoiceLimits;
  readonly guardHandler: HandlerGuard;
  /** Its timers run inside the handler guard. */
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly counters: VoiceCounters;
  readonly parent: VoiceSessionParent;
}

type State =
  /** The WebSocket is being opened; with `media` it is to resume. */
  | { readonly kind: "opening"; readonly gateway: GatewaySocket; readonly media: Media | undefined }
  | { readonly kind: "identifying"; readonly gateway: GatewaySocket }
  | {
      readonly kind: "discovering";
      readonly gateway: GatewaySocket;
      readonly path: VoiceSendPath;
      readonly ssrc: number;
    }
  | { readonly kind: "selecting"; readonly gateway: GatewaySocket; readonly path: VoiceSendPath; readonly ssrc: number }
  | { readonly kind: "resuming"; readonly gateway: GatewaySocket; readonly media: Media }
  | { readonly kind: "live"; readonly gateway: GatewaySocket; readonly media: Media }
  /** Without a WebSocket, waiting for `resume()`; audio continues. */
  | { readonly kind: "detached"; readonly media: Media }
  | { readonly kind: "closed" };

export class VoiceSession {
  /** Where frames go while this session sends. */
  readonly sink: SessionSink;
  readonly #options: VoiceSessionOptions;
  readonly #clock: Clock;
  readonly #parent: VoiceSessionParent;
  #dave: DaveSession;
  #state: State;
  #stepTimer: Timer | undefined;
  #handshake = new AbortController();
  #lastSeq = -1;
  #pingMs = 0;
  /** Connects at once. Throws NodeError "address-refused" for a literal address that must not be connected to. */
  constructor(options: VoiceSessionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#parent = options.parent;
    this.#dave = this.#createDave();
    this.sink = new SessionSink(this.#dave, {
      counters: options.counters,
      sendSpeaking: (speaking, ssrc) => this.#sendJson(OPCODE.speaking, { speaking, delay: 0, ssrc }),
      onThrown: (error) => options.parent.onSessionThrown(error),
    });
    this.#state = { kind: "opening", gateway: this.#openGateway(), media: undefined };
  }

  get stateName(): State["kind"] {
    return this.#state.kind;
  }

  describeDave(): DaveReport {
    return this.#dave.describe();
  }

  /** The gateway's WebSocket is open. */
  get isOpen(): boolean {
    const { kind } = this.#state;
    return kind !== "opening" && kind !== "detached" && kind !== "closed";
  }

  /** Frames can be sent, or the channel is empty. */
  get isReady(): boolean {
    return this.sink.gate !== "hold";
  }

  /** Milliseconds of the last heartbeat's round trip; 0 before the first. */
  get pingMs(): number {
    return this.#pingMs;
  }

  /** After a resumable loss: opens a new WebSocket and resumes the session. */
  resume(): void {
    if (this.#state.kind !== "detached") return;
    const { media } = this.#state;
    this.#enter({ kind: "opening", gateway: this.#openGateway(), media });
  }

  /** Ends the session from our side, without a report. */
  close(): void {
    this.#enter({ kind: "closed" });
  }

  // The gateway.

  #openGateway(): GatewaySocket {
    const { url, connectTimeoutMs, guard, sockets, limits, guardHandler, clock } = this.#options;
    const listener = {
      onGatewayOpen: () => this.#onGatewayOpen(),
      onGatewayMessage: (message: GatewayMessage) => this.#onMessage(message),
      onGatewayPing: (pingMs: number) => this.#onPing(pingMs),
      onGatewayClosed: (close: VoiceClose & { readonly cause: unknown }) => this.#lose(close),
    };
    const lastSeq = this.#lastSeq;
    return new GatewaySocket({ url, connectTimeoutMs, guard, sockets, limits, guardHandler, clock, lastSeq, listener });
  }

  #sendJson(opcode: number, data: unknown): void {
    if ("gateway" in this.#state) this.#state.gateway.sendJson(opcode, data);
  }

  #onGatewayOpen(): void {
    if (this.#state.kind !== "opening") return;
    const { gateway, media } = this.#state;
    const { guildId, userId, credentials } = this.#options;
    const identity = { server_id: guildId, session_id: credentials.sessionId, token: credentials.token };
    if (media === undefined) {
      const version = { max_dave_protocol_version: DAVE_PROTOCOL_VERSION };
      gateway.sendJson(OPCODE.identify, { ...identity, user_id: userId, ...version });
      this.#enter({ kind: "identifying", gateway });
    } else {
      gateway.sendJson(OPCODE.resume, { ...identity, seq_ack: gateway.lastSeq });
      this.#enter({ kind: "resuming", gateway, media });
    }
    this.#parent.onSessionOpen(this);
    this.#parent.onSessionChanged(this);
  }

  #onMessage(message: GatewayMessage): void {
    switch (message.kind) {
      case "ready":
        this.#onReady(message);
        break;
      case "sessionDescription":
        this.#onSessionDescription(message);
        break;
      case "resumed":
        this.#onResumed();
        break;
      case "hello":
      case "heartbeatRequest":
      case "heartbeatAck":
      case "ignored":
        return;
      default:
        this.#dave.handle(message);
    }
  }

  #onPing(pingMs: number): void {
    if (pingMs === this.#pingMs) return;
    this.#pingMs = pingMs;
    this.#parent.onSessionChanged(this);
  }

  // The handshake.

  /** Normally the answer to Identify; after a Resume it means that the server chose a new session. */
  #onReady(message: VoiceReadyMessage): void {
    if (this.#state.kind === "resuming") this.#startOver();
    if (this.#state.kind !== "identifying") return;
    const { gateway } = this.#state;
    if (!isIPv4(message.address)) {
      this.#fail("the voice server named no IPv4 address");
      return;
    }
    try {
      this.#options.guard.check(message.address);
    } catch (cause) {
      this.#fail(UDP_REFUSED, { cause, isFinal: true });
      return;
    }
    const path = this.#openPath(message);
    this.#enter({ kind: "discovering", gateway, path, ssrc: message.ssrc });
    gateway.sendJson(OPCODE.mediaSinkWants, { any: 0 });
    const { signal } = this.#handshake;
    const onFailed = (error: unknown) => {
      if (!signal.aborted) this.#fail("no UDP connection to the voice server", { cause: error });
    };
    void this.#discover(message, path, signal).catch(this.#options.guardHandler(onFailed));
  }

  #startOver(): void {
    if (this.#state.kind !== "resuming") return;
    const { gateway } = this.#state;
    this.#dave.close();
    this.#dave = this.#createDave();
    this.sink.startOver(this.#dave);
    this.#enter({ kind: "identifying", gateway });
    this.#parent.onSessionChanged(this);
  }

  #openPath({ address, port, ssrc }: VoiceReadyMessage): VoiceSendPath {
    const { pacer, guardHandler, counters, logger } = this.#options;
    return pacer.open({
      address,
      port,
      ssrc,
      guardHandler,
      onUdpError: () => {
        counters.udpErrors++;
      },
      onDead: (reason) => {
        logger.warn("UDP to the voice server failed: reconnecting", { reason });
        this.#fail("nothing reaches the voice server over UDP");
      },
    });
  }

  async #discover({ modes }: VoiceReadyMessage, path: VoiceSendPath, signal: AbortSignal): Promise<void> {
    const found = await path.whenDiscovered;
    if (signal.aborted || this.#state.kind !== "discovering") return;
    const mode = this.#options.isXchachaForced ? XCHACHA_MODE : chooseEncryptionMode(modes);
    if (mode === undefined) {
      this.#fail("no common encryption mode", { code: CLOSE_UNKNOWN_MODE });
      return;
    }
    // The external address matters only for receiving: without a response audio may still be sent.
    if (found === undefined)
      this.#options.logger.warn("no response to IP discovery, continuing without an external address");
    const { address, port } = found ?? { address: "0.0.0.0", port: 0 };
    const { gateway, ssrc } = this.#state;
    this.#enter({ kind: "selecting", gateway, path, ssrc });
    gateway.sendJson(OPCODE.selectProtocol, { protocol: "udp", data: { address, port, mode } });
  }

  #onSessionDescription({ mode, secretKey, daveVersion }: SessionDescriptionMessage): void {
    if (this.#state.kind === "live") {
      this.#onNewKey(mode, secretKey);
      return;
    }
    if (this.#state.kind !== "selecting") return;
    if (!isEncryptionMode(mode)) {
      this.#fail("an unknown encryption mode", { code: CLOSE_UNKNOWN_MODE });
      return;
    }
    const { gateway, path, ssrc } = this.#state;
    path.start({ mode, secretKey }, randomRtpStart(ssrc, this.#options.random));
    this.#enter({ kind: "live", gateway, media: { ssrc, secretKey, path } });
    this.#parent.onSessionWorking(this);
    this.#dave.start(daveVersion);
    this.sink.announce();
    this.#parent.onSessionChanged(this);
  }

  /** A second op 4 replaces the key; a repeated one must not restart its counter. */
  #onNewKey(mode: string, secretKey: Uint8Array): void {
    if (this.#state.kind !== "live" || !isEncryptionMode(mode)) return;
    const { gateway, media } = this.#state;
    if (Buffer.compare(media.secretKey, secretKey) === 0) return;
    media.path.rekey({ mode, secretKey });
    this.#enter({ kind: "live", gateway, media: { ...media, secretKey } });
  }

  #onResumed(): void {
    if (this.#state.kind !== "resuming") return;
    const { gateway, media } = this.#state;
    this.#enter({ kind: "live", gateway, media });
    this.#options.counters.resumes++;
    this.sink.repeatSpeaking();
    this.#dave.onResumed();
    this.#parent.onSessionWorking(this);
    this.#parent.onSessionChanged(this);
  }

  // End-to-end encryption.

  #createDave(): DaveSession {
    const { credentials } = this.#options;
    const parent = {
      sendDaveJson: (opcode: number, data: unknown) => this.#sendJson(opcode, data),
      sendDaveBinary: (opcode: number, payload: Uint8Array) => {
        if ("gateway" in this.#state) this.#state.gateway.sendBinary(opcode, payload);
      },
      onDaveGateChanged: () => this.#parent.onSessionChanged(this),
      onDaveStuck: () => this.#parent.onSessionStuck(this),
      onDaveRekeyed: () => this.#parent.onSessionSendPathChanging(this),
      onDaveFlooded: (cause: Error) => this.#fail(cause.message, { cause }),
    };
    return new DaveSession({ ...this.#options, channelId: credentials.channelId, parent });
  }

  // Endings.

  /** We give the session up: it cannot be resumed. */
  #fail(reason: string, { cause, code = CLOSE_ABNORMAL, isFinal = false }: LossDetails = {}): void {
    if (this.#state.kind === "closed") return;
    this.#enter({ kind: "closed" });
    this.#parent.onSessionLost(this, { code, reason, isByRemote: false, cause, isResumable: false, isFinal });
  }

  /** The WebSocket is lost. A session that can be resumed stays alive without it. */
  #lose(close: VoiceClose & { readonly cause: unknown }): void {
    const media = mediaOf(this.#state);
    this.#enter(media === undefined ? { kind: "closed" } : { kind: "detached", media });
    this.#parent.onSessionLost(this, { ...close, isResumable: media !== undefined, isFinal: false });
  }

  /**
   * The only place that changes the state: releases what the next one does not hold and limits the time of each step.
   */
  #enter(next: State): void {
    const before = this.#state;
    if (before.kind === "closed") return;
    const path = pathOf(before);
    const isSendPathEnding = path !== undefined && path !== pathOf(next);
    if (isSendPathEnding) this.#emptySendPath();
    this.#state = next;
    this.#stepTimer?.cancel();
    if ("gateway" in before) this.#leaveGateway(before.gateway, next);
    this.sink.update(mediaOf(next), { isLive: next.kind === "live" });
    if (isSendPathEnding) path.close();
    if (next.kind === "closed") this.#dave.close();
    if (next.kind === "closed" || next.kind === "identifying") {
      this.#handshake.abort();
      this.#handshake = new AbortController();
    }
    const isStep =
      next.kind !== "opening" && next.kind !== "live" && next.kind !== "detached" && next.kind !== "closed";
    if (isStep) this.#stepTimer = this.#clock.after(STEP_MS_MAX, () => this.#onStepTimeout(next.kind));
  }

  /** Revoked frames are sent over another path; the rest is lost. */
  #emptySendPath(): void {
    this.#parent.onSessionSendPathChanging(this);
    const count = this.sink.revoke(RING_FRAMES);
    this.#options.counters.framesRefused += count;
    if (count > 0) this.#parent.onSessionFramesLost(count);
  }

  #leaveGateway(gateway: GatewaySocket, next: State): void {
    if ("gateway" in next && next.gateway === gateway) return;
    this.#lastSeq = gateway.lastSeq;
    this.#options.counters.malformedMessages += gateway.malformedCount;
    gateway.close(CLOSE_NORMAL);
  }

  #onStepTimeout(step: State["kind"]): void {
    const reason = `no answer while ${step}`;
    if (step !== "resuming") {
      this.#fail(reason);
      return;
    }
    this.#lose({ code: CLOSE_ABNORMAL, reason, isByRemote: false, cause: undefined });
  }
}

function pathOf(state: State): VoiceSendPath | undefined {
  if ("path" in state) return state.path;
  return mediaOf(state)?.path;
}

function mediaOf(state: State): Media | undefined {
  return "media" in state ? state.media : undefined;
}
