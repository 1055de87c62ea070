// Scripted faults of the fake Discord: at which step of a voice connection something goes wrong, what, and how often.
// A FaultScript hangs at the server (all connections) and at each voice session (only that one, asked first).

import type { Clock } from "../../src/lib/clock.ts";

/**
 * Where a fault can strike. Steps the server performs: the message of that name, about to be sent. Steps of the client
 * (`identify`, `resume`, `select`, `speaking`, `keyPackage`, `commit`, `transitionReady`, `invalidCommit`): that
 * message, just arrived and well formed. Before Identify only the server's script is known: `upgrade`, `hello`.
 */
export type FaultStep =
  | "upgrade"
  | "hello"
  | "identify"
  | "ready"
  | "clientsConnect"
  | "clientDisconnect"
  | "select"
  | "sessionDescription"
  | "speaking"
  | "heartbeatAck"
  | "resume"
  | "resumed"
  | "discovery"
  | "prepareTransition"
  | "executeTransition"
  | "transitionReady"
  | "prepareEpoch"
  | "externalSender"
  | "keyPackage"
  | "proposals"
  | "commit"
  | "announceCommit"
  | "welcome"
  | "invalidCommit";

export type FaultAction =
  /** `upgrade` only: answer the WebSocket upgrade with this HTTP status. */
  | { readonly kind: "status"; readonly status: number }
  /** `upgrade` only: accept TCP and never answer. */
  | { readonly kind: "hang" }
  /** Do not send (or: ignore) this message. A sequenced message is not buffered for Resume either. */
  | { readonly kind: "withhold" }
  /**
   * Send (or handle) this message later. Later messages to the client wait behind it; messages from the client do not.
   */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** Send this message twice; sequenced messages get a number each. */
  | { readonly kind: "duplicate" }
  /** Close the WebSocket with a code, instead of this message (which stays in the Resume buffer) or after it. */
  | { readonly kind: "close"; readonly code: number; readonly reason?: string; readonly when?: "instead" | "after" }
  /**
   * Drop the TCP connection, instead of this message (which stays in the Resume buffer) or after it. With
   * `canResume: false` a later Resume is refused with 4006.
   */
  | { readonly kind: "terminate"; readonly when?: "instead" | "after"; readonly canResume?: boolean }
  /** `discovery` only: a wrong answer from a foreign port arrives before the right one. */
  | { readonly kind: "foreignAnswer" };

/** The operations of a fault on the connection a message belongs to. */
interface FaultyConnection {
  readonly clock: Clock;
  /** Delays messages sent from now on. */
  pause(delayMs: number): void;
  close(code: number, reason: string): void;
  terminate(canResume: boolean): void;
}

interface ScriptedFault {
  readonly step: FaultStep;
  readonly action: FaultAction;
  timesLeft: number;
}

export class FaultScript {
  #faults: ScriptedFault[] = [];

  /**
   * Adds a fault that strikes the next `times` (default 1, may be Infinity) times the step is reached, in script order.
   */
  add(step: FaultStep, action: FaultAction, times = 1): this {
    this.#faults.push({ step, action, timesLeft: times });
    return this;
  }

  /** The action for this occurrence of `step`, used up by asking. */
  take(step: FaultStep): FaultAction | undefined {
    const fault = this.#faults.find((candidate) => candidate.step === step);
    if (fault === undefined) return undefined;
    fault.timesLeft--;
    if (fault.timesLeft <= 0) this.#faults = this.#faults.filter((candidate) => candidate !== fault);
    return fault.action;
  }

  /** Forgets every fault of `step`, or all. */
  clear(step?: FaultStep): void {
    this.#faults = step === undefined ? [] : this.#faults.filter((fault) => fault.step !== step);
  }
}

/**
 * Sends one message as `action` says. `emit("send")` numbers, buffers and sends; `emit("buffer")` stores the message
 * for Resume without sending it.
 */
export function sendWithFault(
  action: FaultAction | undefined,
  connection: FaultyConnection,
  emit: (how: "send" | "buffer") => void,
): void {
  if (action?.kind === "withhold") return;
  if (action?.kind === "delay") connection.pause(action.delayMs);
  const isInstead = (action?.kind === "close" || action?.kind === "terminate") && action.when !== "after";
  emit(isInstead ? "buffer" : "send");
  if (action?.kind === "duplicate") emit("send");
  if (action !== undefined) breakConnection(action, connection);
}

/** Handles one message of the client as `action` says. */
export function handleWithFault(
  action: FaultAction | undefined,
  connection: FaultyConnection,
  handle: () => void,
): void {
  if (action?.kind === "withhold") return;
  if (action?.kind === "delay") {
    connection.clock.after(action.delayMs, handle);
    return;
  }
  const isInstead = (action?.kind === "close" || action?.kind === "terminate") && action.when !== "after";
  if (!isInstead) handle();
  if (action !== undefined) breakConnection(action, connection);
}

function breakConnection(action: FaultAction, connection: FaultyConnection): void {
  if (action.kind === "close") connection.close(action.code, action.reason ?? "");
  else if (action.kind === "terminate") connection.terminate(action.canResume ?? true);
}
