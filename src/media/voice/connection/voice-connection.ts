// One player's connection to Discord voice over its whole life: connects with the client's credentials, reconnects
// within limits, moves to another server without a gap, and says where the player's frames go: to the sink of one of
// its sessions. The player's only entry to media/voice. Audio thread.

import type { VoiceReport } from "../../../bridge/audio-report.ts";
import { VOICE_PATIENCE_MS_MAX } from "../../../bridge/commands.ts";
import { areSameCredentials, type VoiceCredentials } from "../../../bridge/voice-credentials.ts";
import type { WorkerSettings } from "../../../bridge/worker-settings.ts";
import { NodeError, rootCause } from "../../../errors.ts";
import { type Clock, type Timer, wrapTimers } from "../../../lib/clock.ts";
import { CLOSE_ABNORMAL, CLOSE_NORMAL } from "../../../lib/close-codes.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { Random } from "../../../lib/random.ts";
import type { Logger } from "../../../log/log.ts";
import type { Sockets } from "../../../network/sockets.ts";
import { createHandlerGuard, type HandlerGuard } from "../../pacer/handler-guard.ts";
import type { PacerLink } from "../../pacer/pacer-link.ts";
import { type FrameSink, HOLDING_SINK, NO_SINK } from "../frame-sink.ts";
import type { Voice, VoiceClose, VoiceConnectOptions, VoiceStatus } from "../voice.ts";
import { createVoiceCounters, type VoiceCounters } from "../voice-counters.ts";
import type { VoiceGuard } from "../voice-guard.ts";
import { VoiceLimits, type VoiceThreadLimits } from "../voice-limits.ts";
import { type Attempt, explainClose, isOurMistake, ReconnectPlan, reactionsTo } from "./close-policy.ts";
import { gatewayUrl, parseVoiceEndpoint } from "./voice-endpoint.ts";
import { type SessionLoss, VoiceSession } from "./voice-session.ts";

/** Waits between the attempts to open the gateway for the first time. */
const CONNECT_BACKOFF_MS: readonly number[] = [250, 750];
/** The same for a patient connection; then the last one again and again. */
const PATIENT_BACKOFF_MS: readonly number[] = [...CONNECT_BACKOFF_MS, 2000, 5000];
const PATIENT_BACKOFF_MS_MAX = 12_000;
/** In a move the old session keeps sending for at most this long. */
const MOVE_OVERLAP_MS_MAX = 10_000;

/** The player implements it. */
export interface VoiceListener {
  /** On every change. */
  onVoiceStatus(state: VoiceStatus): void;
  /**
   * Given up (Discord's code), or replaced or closed by us (1000, "", false). A close that is retried is not reported.
   */
  onVoiceClosed(close: VoiceClose): void;
  /** Unsent frames were made for a send path or keys that are about to end: they can be revoked, and made again. */
  onSendPathChanging(): void;
  /** Number of unsent frames that were not revoked when their send path ended. */
  onFramesLost(count: number): void;
}

export interface VoiceConnectionOptions {
  readonly guildId: string;
  readonly userId: string;
  readonly settings: WorkerSettings["voice"];
  readonly guard: VoiceGuard;
  readonly sockets: Sockets;
  readonly pacer: PacerLink;
  /** One for all voice connections of the thread. */
  readonly threadLimits: VoiceThreadLimits;
  /** Runs the work of a socket or timer in the player's name (media/scheduler/error-boundary.ts). */
  readonly work: (handler: () => void) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly listener: VoiceListener;
}

/** One set of credentials and its progress so far. */
interface Target {
  readonly credentials: VoiceCredentials;
  readonly url: string;
  readonly plan: ReconnectPlan;
  /** The gateway was open once: from then on the client relies on this connection, and its end is reported. */
  hasOpened: boolean;
  /** Failures that may pass are not given up for a while. */
  readonly isPatient: boolean;
  connectFailures: number;
  isXchachaForced: boolean;
  /** A new session because no DAVE group was formed is tried once. */
  hasBeenRebuiltForDave: boolean;
}

type State =
  | { readonly kind: "down" }
  | {
      readonly kind: "active";
      readonly target: Target;
      /** Undefined between two sessions. */
      readonly session: VoiceSession | undefined;
      /** The session of the previous credentials, which sends until `session` can. */
      readonly previous: VoiceSession | undefined;
      /** The next attempt, when one is due later. */
      readonly retry: { readonly timer: Timer; readonly run: () => void } | undefined;
    }
  | { readonly kind: "closed" };

type ActiveState = Extract<State, { kind: "active" }>;

/** Waits for the target of the state: one that is replaced takes its waiters with it. */
interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

const DISCONNECTED: VoiceStatus = { isConnected: false, isReady: false, pingMs: -1 };
const CLOSED_BY_US: VoiceClose = { code: CLOSE_NORMAL, reason: "", isByRemote: false };

export class VoiceConnection implements Voice {
  readonly counters: Readonly<VoiceCounters>;
  readonly #counters: VoiceCounters;
  readonly #options: VoiceConnectionOptions;
  readonly #logger: Logger;
  readonly #limits: VoiceLimits;
  readonly #guardHandler: HandlerGuard;
  /** Its timers run inside the handler guard. */
  readonly #clock: Clock;
  #state: State = { kind: "down" };
  /** The session that frames go to: during a move the old one. */
  #sendingSession: VoiceSession | undefined;
  #sink = NO_SINK;
  #overlapTimer: Timer | undefined;
  #waiters: Waiter[] = [];
  #shown: VoiceStatus = DISCONNECTED;

  constructor(options: VoiceConnectionOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ guildId: options.guildId });
    this.#counters = createVoiceCounters();
    this.counters = this.#counters;
    this.#limits = new VoiceLimits(options.clock, options.threadLimits);
    this.#guardHandler = createHandlerGuard({
      work: options.work,
      onThrown: (error) => this.#onThrown(error),
    });
    this.#clock = wrapTimers(options.clock, this.#guardHandler);
  }

  get sink(): FrameSink {
    return this.#sink;
  }

  /**
   * Resolves when the gateway's WebSocket is open. The same values on an open connection change nothing; other values
   * move it, and the old session keeps sending until the new one can. Rejects with NodeError "voice-connect-failed"
   * when it could not be opened within `settings.connectTimeoutMs`, or VOICE_PATIENCE_MS_MAX for a patient call; no
   * further attempt follows. A pending call whose values are replaced by other values rejects with the same error, at
   * once.
   */
  connect(credentials: VoiceCredentials, { isPatient = false }: VoiceConnectOptions = {}): Promise<void> {
    if (this.#state.kind === "closed") return Promise.reject(connectFailed("the player is closed"));
    if (this.#state.kind === "active" && areSameCredentials(this.#state.target.credentials, credentials)) {
      if (this.#state.session?.isOpen) return Promise.resolve();
      this.#hurry(this.#state);
      return this.#waitForOpen(this.#state.target);
    }
    const endpoint = parseVoiceEndpoint(credentials.endpoint);
    if (endpoint === undefined) return Promise.reject(connectFailed("the endpoint is not a host name with a port"));
    const target: Target = {
      credentials,
      url: gatewayUrl(endpoint, this.#options.settings.gatewayScheme),
      plan: new ReconnectPlan(this.#options.random),
      hasOpened: false,
      isPatient,
      connectFailures: 0,
      isXchachaForced: false,
      hasBeenRebuiltForDave: false,
    };
    this.#rejectWaiters(connectFailed("newer voice data replaced it before it was open"));
    const opened = this.#waitForOpen(target);
    this.#moveTo(target);
    return opened;
  }

  /** See `Voice`. Also resets the reconnect plan; how often it may be called is limited by the caller. */
  rejoin(): boolean {
    const state = this.#state;
    if (state.kind !== "active" || !state.target.hasOpened) return false;
    this.#counters.reconnects++;
    const plan = new ReconnectPlan(this.#options.random);
    const target: Target = { ...state.target, plan, connectFailures: 0, hasBeenRebuiltForDave: false };
    this.#enter({ kind: "active", target, session: undefined, previous: undefined, retry: undefined });
    this.#publish();
    this.#openSession(target);
    return true;
  }

  describe(): VoiceReport {
    const state = this.#state;
    const session = this.#sendingSession ?? (state.kind === "active" ? state.session : undefined);
    const { gate } = this.#sink;
    if (session === undefined) {
      const dave = { version: 0, epoch: undefined, state: "waiting", readyMs: 0 } as const;
      return { state: state.kind === "active" ? "between" : "down", gate, pingMs: -1, dave };
    }
    const pingMs = session.isOpen ? session.pingMs : -1;
    return { state: session.stateName, gate, pingMs, dave: session.describeDave() };
  }

  /** Closes for good. Reports 1000 when it was connected. */
  close(): void {
    if (this.#state.kind === "closed") return;
    const wasOpened = this.#state.kind === "active" && this.#state.target.hasOpened;
    this.#enter({ kind: "closed" });
    this.#rejectWaiters(connectFailed("the player was closed"));
    if (wasOpened) this.#report(CLOSED_BY_US);
    this.#publish();
  }

  // Opening.

  #moveTo(target: Target): void {
    const before = this.#state;
    const previous = before.kind === "active" ? this.#pickSendingSession(before) : undefined;
    const wasOpened = before.kind === "active" && before.target.hasOpened;
    this.#enter({ kind: "active", target, session: undefined, previous, retry: undefined });
    if (wasOpened) this.#report(CLOSED_BY_US);
    this.#publish();
    // A session that is kept since an earlier move has its timer already.
    if (previous !== undefined && (before.kind !== "active" || previous !== before.previous)) {
      this.#overlapTimer?.cancel();
      this.#overlapTimer = this.#clock.after(MOVE_OVERLAP_MS_MAX, () => this.#dropPrevious());
    }
    this.#openSession(target);
  }

  /** The session that keeps sending while the next one is set up. */
  #pickSendingSession({ session, previous }: ActiveState): VoiceSession | undefined {
    if (session !== undefined && session.sink.gate !== "hold") return session;
    return previous;
  }

  #openSession(target: Target): void {
    const state = this.#state;
    if (state.kind !== "active" || state.target !== target) return;
    const { guildId, userId, settings, guard, sockets, pacer, random } = this.#options;
    try {
      const session = new VoiceSession({
        url: target.url,
        credentials: target.credentials,
        guildId,
        userId,
        connectTimeoutMs: settings.connectTimeoutMs,
        isPlainFallbackAllowed: settings.isPlainFallbackAllowed,
        isXchachaForced: target.isXchachaForced,
        guard,
        sockets,
        pacer,
        limits: this.#limits,
        guardHandler: this.#guardHandler,
        clock: this.#clock,
        random,
        logger: this.#logger,
        counters: this.#counters,
        parent: {
          onSessionOpen: (opened) => this.#onSessionOpen(opened),
          onSessionWorking: (working) => this.#onSessionWorking(working),
          onSessionChanged: (changed) => this.#onSessionChanged(changed),
          onSessionLost: (lost, loss) => this.#onSessionLost(lost, loss),
          onSessionStuck: (stuck) => this.#onSessionStuck(stuck),
          onSessionThrown: (error) => this.#onThrown(error),
          onSessionFramesLost: (count) => this.#notify(() => this.#options.listener.onFramesLost(count)),
          onSessionSendPathChanging: (changing) => {
            if (changing === this.#sendingSession) this.#notify(() => this.#options.listener.onSendPathChanging());
          },
        },
      });
      this.#enter({ ...state, session, retry: undefined });
    } catch (error) {
      // The guard refused the address.
      this.#giveUp({ code: CLOSE_ABNORMAL, reason: "", isByRemote: false }, error);
    }
  }

  #onSessionOpen(session: VoiceSession): void {
    if (this.#state.kind !== "active" || session !== this.#state.session) return;
    this.#state.target.hasOpened = true;
    for (const { resolve } of this.#takeWaiters()) resolve();
  }

  #onSessionWorking(session: VoiceSession): void {
    if (this.#state.kind === "active" && session === this.#state.session) {
      this.#state.target.plan.markWorking(this.#options.clock.now());
    }
  }

  #onSessionChanged(session: VoiceSession): void {
    if (this.#state.kind !== "active" || session !== this.#state.session) return;
    if (session.isReady) this.#dropPrevious();
    this.#publish();
  }

  #dropPrevious(): void {
    if (this.#state.kind === "active") this.#enter({ ...this.#state, previous: undefined });
  }

  // Losing.

  #onSessionLost(session: VoiceSession, loss: SessionLoss): void {
    const state = this.#state;
    if (state.kind !== "active") return;
    if (session === state.previous) {
      this.#onPreviousLost(loss);
      return;
    }
    if (session !== state.session) return;
    const { code, reason, isByRemote, isResumable } = loss;
    const level = isOurMistake(code) ? "error" : "info";
    this.#logger[level]("voice connection lost", { code, reason, isByRemote, meaning: explainClose(code) });
    if (!state.target.hasOpened) {
      this.#onConnectFailed(state, loss);
      return;
    }
    const nowMs = this.#options.clock.now();
    const attempt = loss.isFinal ? undefined : state.target.plan.next({ code, nowMs, isResumable });
    if (attempt === undefined) this.#giveUp({ code, reason, isByRemote }, loss.cause);
    else this.#retryLater(state, attempt);
    this.#publish();
  }

  /** A lost network does not stop packets that another path may carry; a server that closed will not accept them. */
  #onPreviousLost({ code, isResumable }: SessionLoss): void {
    if (!isResumable || reactionsTo(code)[0] !== "resume") this.#dropPrevious();
  }

  #onConnectFailed(state: ActiveState, { code, reason, isByRemote, cause }: SessionLoss): void {
    const { isPatient, connectFailures } = state.target;
    state.target.connectFailures++;
    const backoffMs = isPatient
      ? (PATIENT_BACKOFF_MS[connectFailures] ?? PATIENT_BACKOFF_MS_MAX)
      : CONNECT_BACKOFF_MS[connectFailures];
    if (backoffMs === undefined || !isTransient(cause, state.target)) {
      this.#giveUp({ code, reason, isByRemote }, cause);
      return;
    }
    this.#retryLater(state, { reaction: "identify", delayMs: backoffMs * (0.75 + this.#options.random.unit() / 2) });
  }

  #retryLater(state: ActiveState, { reaction, delayMs }: Attempt): void {
    const { target, session } = state;
    const run = () => {
      if (reaction === "resume") {
        if (this.#state.kind === "active") this.#enter({ ...this.#state, retry: undefined });
        session?.resume();
      } else {
        if (target.hasOpened) this.#counters.reconnects++;
        this.#openSession(target);
      }
    };
    if (reaction === "identifyWithXchacha") target.isXchachaForced = true;
    const timer = this.#clock.after(delayMs, run);
    this.#enter({ ...state, session: reaction === "resume" ? session : undefined, retry: { timer, run } });
  }

  /** The client sent the same values again: do not make it wait for the back-off. */
  #hurry({ retry }: ActiveState): void {
    if (retry === undefined) return;
    retry.timer.cancel();
    retry.run();
  }

  #onSessionStuck(session: VoiceSession): void {
    const state = this.#state;
    if (state.kind !== "active" || session !== state.session || state.target.hasBeenRebuiltForDave) return;
    state.target.hasBeenRebuiltForDave = true;
    const nowMs = this.#options.clock.now();
    const attempt = state.target.plan.next({ code: CLOSE_ABNORMAL, nowMs, isResumable: false });
    if (attempt === undefined) return;
    this.#retryLater(state, attempt);
    this.#publish();
  }

  #giveUp(close: VoiceClose, cause: unknown): void {
    if (this.#state.kind !== "active") return;
    const { hasOpened } = this.#state.target;
    this.#enter({ kind: "down" });
    const { code, reason } = close;
    this.#logger.warn("voice connection ended: no further attempts", {
      code,
      reason,
      meaning: explainClose(code),
      error: cause,
    });
    this.#rejectWaiters(connectFailed(describe(close, cause), cause));
    if (hasOpened) this.#report(close);
    this.#publish();
  }

  /** A bug of ours: it ends this connection and affects no other. */
  #onThrown(error: unknown): void {
    this.#logger.error("voice connection failed: unexpected error", { error });
    try {
      this.#giveUp(
        { code: CLOSE_ABNORMAL, reason: "the voice connection failed unexpectedly", isByRemote: false },
        error,
      );
    } catch (another) {
      this.#logger.error("voice connection could not be closed: unexpected error", { error: another });
    }
  }

  // Waiting for it to open.

  #waitForOpen(target: Target): Promise<void> {
    return new Promise((resolve, reject) => {
      const timeoutMs = target.isPatient ? VOICE_PATIENCE_MS_MAX : this.#options.settings.connectTimeoutMs;
      const timer = this.#clock.after(timeoutMs, () => this.#onOpenTimeout(target, timeoutMs));
      this.#waiters.push({ resolve, reject, timer });
    });
  }

  #onOpenTimeout(target: Target, timeoutMs: number): void {
    const isUnopened = this.#state.kind === "active" && this.#state.target === target && !target.hasOpened;
    const close = { code: CLOSE_ABNORMAL, reason: `no answer within ${timeoutMs} ms`, isByRemote: false };
    if (isUnopened) this.#giveUp(close, undefined);
    else this.#rejectWaiters(connectFailed(close.reason));
  }

  #rejectWaiters(error: NodeError): void {
    for (const { reject } of this.#takeWaiters()) reject(error);
  }

  #takeWaiters(): readonly Waiter[] {
    const taken = this.#waiters;
    this.#waiters = [];
    for (const { timer } of taken) timer.cancel();
    return taken;
  }

  // State and listener.

  /** The only place that changes the state: closes what the next one does not hold. */
  #enter(next: State): void {
    const before = this.#state;
    this.#state = next;
    const sessions = next.kind === "active" ? [next.session, next.previous] : [];
    const { session, previous } = next.kind === "active" ? next : { session: undefined, previous: undefined };
    const sendingSession = previous ?? session;
    // While unsent frames can still be revoked.
    if (sendingSession !== this.#sendingSession) this.#notify(() => this.#options.listener.onSendPathChanging());
    this.#sendingSession = sendingSession;
    this.#sink = sendingSession?.sink ?? (next.kind === "active" ? HOLDING_SINK : NO_SINK);
    if (previous === undefined) this.#overlapTimer?.cancel();
    if (before.kind !== "active") return;
    if (before.retry !== undefined && (next.kind !== "active" || next.retry !== before.retry))
      before.retry.timer.cancel();
    for (const old of [before.session, before.previous]) {
      if (old !== undefined && !sessions.includes(old)) this.#guardHandler(() => old.close())();
    }
  }

  #publish(): void {
    const session = this.#state.kind === "active" ? this.#state.session : undefined;
    const isConnected = session?.isOpen ?? false;
    const next = { isConnected, isReady: session?.isReady ?? false, pingMs: isConnected ? (session?.pingMs ?? 0) : -1 };
    const shown = this.#shown;
    if (next.isConnected === shown.isConnected && next.isReady === shown.isReady && next.pingMs === shown.pingMs)
      return;
    this.#shown = next;
    this.#notify(() => this.#options.listener.onVoiceStatus(next));
  }

  #report(close: VoiceClose): void {
    this.#notify(() => this.#options.listener.onVoiceClosed(close));
  }

  #notify(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#logger.error("voice event listener failed: unexpected error", { error });
    }
  }
}

/** Refused connections, server errors and lost networks pass; names that do not exist and refused addresses do not. */
function isTransient(cause: unknown, { isPatient }: Pick<Target, "isPatient">): boolean {
  if (cause instanceof NodeError) return false;
  if (!(cause instanceof Error)) return true;
  const isUnknownName = "code" in cause && cause.code === "ENOTFOUND";
  // After a restart many connect at once.
  const finalStatus = isPatient ? /^Unexpected server response: (?!408|429)[34]/ : /^Unexpected server response: [34]/;
  return !isUnknownName && !finalStatus.test(cause.message);
}

function describe({ code, reason }: VoiceClose, cause: unknown): string {
  if (cause !== undefined) return messageOf(rootCause(cause));
  return reason === "" ? `closed with ${code}` : `closed with ${code}: ${reason}`;
}

function connectFailed(why: string, cause?: unknown): NodeError {
  return new NodeError(
    "voice-connect-failed",
    `connecting to the Discord voice server: ${why}; let the bot join the channel again`,
    cause === undefined ? {} : { cause },
  );
}
