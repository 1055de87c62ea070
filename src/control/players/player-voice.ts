// The voice side of one player: asks its worker to connect, waits for the result as long as an update may wait, tracks
// the state of the connection, and reconnects when the worker had to change. Main thread.

import { VOICE_PATIENCE_MS_MAX } from "../../bridge/commands.ts";
import { areSameCredentials, type VoiceCredentials } from "../../bridge/voice-credentials.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { CLOSE_ABNORMAL } from "../../lib/close-codes.ts";
import type { Logger } from "../../log/log.ts";
import type { VoiceStateJson } from "../protocol/player-json.ts";
import type { PlayerEvent, WorkerHandle } from "../workers/worker-handle.ts";
import type { IntentHolder } from "./player-intent.ts";
import { connectionOf, type OpeningResult, type VoiceLinkState, voiceToJson } from "./voice-link-state.ts";

/** The worker itself bounds how long it tries; this is for one that never says, beyond its patience. */
const OPENING_MS_MAX = 120_000;
/**
 * The worker tries for the same time that an update waits, and its word that this was in vain takes a moment to come.
 */
const ANSWER_MS_MAX = 250;
/** The WebSocket close code for a connection that ended without one. */
const NORMAL_CLOSURE = 1000;
const FAILURE_MESSAGE = "Failed to connect to voice server";

interface PlayerVoiceOptions {
  readonly intent: IntentHolder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connectTimeoutMs: number;
  /** Called when the client must be notified that the connection is closed. */
  readonly onClosed: (code: number, reason: string, isByRemote: boolean) => void;
  readonly onReady: () => void;
}

export class PlayerVoice {
  readonly #options: PlayerVoiceOptions;
  #link: VoiceLinkState = { kind: "down" };
  #voiceCount = 0;
  /** True while an update waits for the connection: a failure is then its answer and no event. */
  #isAwaited = false;
  /** Restored credentials wait for the player's first worker. */
  #isPatient = false;

  constructor(options: PlayerVoiceOptions) {
    this.#options = options;
  }

  get connection(): { readonly connected: boolean; readonly ping: number } {
    return connectionOf(this.#link);
  }

  toJson(): VoiceStateJson {
    return voiceToJson(this.#options.intent.value.voice);
  }

  /**
   * Connects with `credentials`, unless a connection with the same ones is open. Resolves when it is open or still
   * being tried after the time an update may wait; rejects with `voice-connect-failed`.
   */
  async connect(credentials: VoiceCredentials, handle: WorkerHandle | undefined): Promise<void> {
    this.#isPatient = false;
    const { voice } = this.#options.intent.value;
    const isSame = voice !== undefined && areSameCredentials(voice.credentials, credentials);
    if (isSame && this.#link.kind === "open") return;
    if (!(isSame && this.#link.kind === "connecting")) this.#replace(credentials, handle);
    if (this.#link.kind !== "connecting") return;
    this.#isAwaited = true;
    const result = await this.#atMost(this.#link.opening, this.#options.connectTimeoutMs + ANSWER_MS_MAX);
    this.#isAwaited = false;
    if (result?.kind === "failed") {
      throw new NodeError("voice-connect-failed", FAILURE_MESSAGE, { cause: result.error });
    }
  }

  /** The next worker connects with restored credentials: failures that may pass are not given up for a while. */
  bePatient(): void {
    this.#isPatient = true;
  }

  /** Resolves when no connection is being opened any more, after `limitMs` at the latest. */
  async untilOpened(limitMs: number): Promise<void> {
    if (this.#link.kind === "connecting") await this.#atMost(this.#link.opening, limitMs);
  }

  /** The player is being destroyed: notifies the client that an open connection is closed. */
  close(): void {
    this.#leave(undefined);
  }

  onWorkerAssigned(handle: WorkerHandle): void {
    const credentials = this.#pending;
    if (credentials !== undefined) this.#open(credentials, handle, { isPatient: this.#isPatient });
    this.#isPatient = false;
  }

  /** Sends nothing to the client: the connection is re-established automatically. */
  onWorkerLost(): void {
    this.#link = { kind: "down" };
  }

  /** The connection cannot be opened without harm: notifies the client that it is closed. */
  giveUp(reason: string): void {
    if (this.#pending === undefined) return;
    this.#markClosed();
    this.#options.onClosed(CLOSE_ABNORMAL, reason, false);
  }

  onWorkerEvent(event: Extract<PlayerEvent, { type: "voiceState" | "voiceClosed" }>): void {
    const link = this.#link;
    // While connecting, the reply to the request is what counts: events may still be about the connection before.
    if (link.kind !== "open" || link.voiceId !== event.voiceId) return;
    if (event.type === "voiceClosed") {
      this.#markClosed();
      this.#options.onClosed(event.code, event.reason, event.isByRemote);
    } else {
      const { isConnected, isReady, pingMs } = event;
      this.#link = { kind: "open", voiceId: link.voiceId, isConnected, isReady, pingMs };
      if (isReady && !link.isReady) this.#options.onReady();
    }
  }

  /** The credentials of a connection that waits for a worker. */
  get #pending(): VoiceCredentials | undefined {
    const { voice } = this.#options.intent.value;
    return this.#link.kind === "down" && voice?.isClosed === false ? voice.credentials : undefined;
  }

  #replace(credentials: VoiceCredentials, handle: WorkerHandle | undefined): void {
    this.#leave(credentials);
    if (handle !== undefined) this.#open(credentials, handle);
  }

  /** An open connection that is given up on this side counts as closed normally, at once. */
  #leave(next: VoiceCredentials | undefined): void {
    const wasOpen = this.#link.kind === "open";
    this.#link = { kind: "down" };
    this.#options.intent.replace({ voice: next && { credentials: next, isClosed: false } });
    if (wasOpen) this.#options.onClosed(NORMAL_CLOSURE, "", false);
  }

  /** The credentials stay, so that the client sees them and may connect with them again. */
  #markClosed(): void {
    const { intent } = this.#options;
    this.#link = { kind: "down" };
    intent.replace({ voice: intent.value.voice && { ...intent.value.voice, isClosed: true } });
  }

  #open(
    credentials: VoiceCredentials,
    handle: WorkerHandle,
    { isPatient }: { readonly isPatient: boolean } = { isPatient: false },
  ): void {
    const voiceId = ++this.#voiceCount;
    const timeoutMs = isPatient ? VOICE_PATIENCE_MS_MAX + OPENING_MS_MAX : OPENING_MS_MAX;
    const request = handle.request({ type: "connectVoice", voiceId, credentials, isPatient }, { timeoutMs });
    const opening = request.then(
      () => this.#onOpened(voiceId),
      (error: unknown) => this.#onFailed(voiceId, error),
    );
    this.#link = { kind: "connecting", voiceId, opening };
  }

  #onOpened(voiceId: number): OpeningResult {
    if (this.#isOpening(voiceId)) {
      this.#link = { kind: "open", voiceId, isConnected: true, isReady: false, pingMs: 0 };
    }
    return { kind: "open" };
  }

  #onFailed(voiceId: number, error: unknown): OpeningResult {
    const isLost = error instanceof NodeError && error.code === "worker-lost";
    // A player that is taken off its worker is closed there, which ends the attempt; its next worker connects again.
    if (isLost || !this.#isOpening(voiceId)) return { kind: "lost" };
    if (this.#isAwaited) {
      this.#leave(undefined);
    } else {
      this.#options.logger.warn("voice connection failed", { error });
      this.#markClosed();
      this.#options.onClosed(CLOSE_ABNORMAL, FAILURE_MESSAGE, true);
    }
    return { kind: "failed", error };
  }

  #isOpening(voiceId: number): boolean {
    return this.#link.kind === "connecting" && this.#link.voiceId === voiceId;
  }

  #atMost(opening: Promise<OpeningResult>, limitMs: number): Promise<OpeningResult | undefined> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(limitMs, () => resolve(undefined));
      void opening.then((result) => {
        timer.cancel();
        resolve(result);
      });
    });
  }
}
