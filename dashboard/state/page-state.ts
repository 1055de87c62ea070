// All that the page knows, and how messages of the node change it. In the browser.

import type {
  DashboardRole,
  HelloMessage,
  LiveMessage,
  LogRow,
  StateMessage,
} from "../../src/control/dashboard/live-messages.ts";
import { type History, NO_HISTORY, remember, withSamples } from "./history.ts";
import { keepSame, type Movement, movementsOf, type PlayerLine, playerLines } from "./player-line.ts";

/** Older ones go. */
const LOG_LINES_MAX = 1000;

/**
 * The state of the connection to the node. `checking`: the login is being queried; `asleep`: the tab has been hidden
 * for a while; `refused`: the node is up and refuses viewers at the moment.
 */
export type Connection =
  | { readonly kind: "checking" | "loggedOut" | "connecting" | "live" | "asleep" }
  | { readonly kind: "lost"; readonly sinceMs: number }
  | { readonly kind: "refused"; readonly reason: string };

/** A log line with a sequence number. */
export interface NumberedLine extends LogRow {
  readonly number: number;
}

/** Never written to: each message makes a new one. */
export interface PageState {
  readonly connection: Connection;
  readonly role: DashboardRole;
  /** The version of the node that answered first; a page of an older version may not understand a newer node. */
  readonly firstVersion: string | null;
  readonly version: string | null;
  /** The last; null before the first. */
  readonly latest: StateMessage | null;
  readonly lines: readonly PlayerLine[];
  /** By the keys of the lines. */
  readonly movements: ReadonlyMap<string, Movement>;
  readonly history: History;
  /** Oldest first. */
  readonly log: readonly NumberedLine[];
}

/** Before anything has come. */
export const NOTHING_KNOWN: PageState = {
  connection: { kind: "checking" },
  role: "viewer",
  firstVersion: null,
  version: null,
  latest: null,
  lines: [],
  movements: new Map(),
  history: NO_HISTORY,
  log: [],
};

/** The state after a message. One of a kind that is not known changes nothing. */
export function withMessage(state: PageState, message: Exclude<LiveMessage, { type: "done" }>): PageState {
  switch (message.type) {
    case "hello":
      return withHello(state, message);
    case "history":
      return { ...state, history: withSamples(state.history, message.samples) };
    case "state":
      return {
        ...state,
        latest: message,
        movements: movementsOf(message),
        history: remember(state.history, message),
        lines: keepSame(state.lines, playerLines(message)),
      };
    case "log":
      return { ...state, log: withLines(state.log, message.lines) };
    default:
      return state;
  }
}

/** The state with another connection state. After a log-out nothing of the earlier content remains. */
export function withConnection(state: PageState, connection: Connection): PageState {
  if (connection.kind === "loggedOut") return { ...NOTHING_KNOWN, firstVersion: state.firstVersion, connection };
  return { ...state, connection };
}

/** The state without log lines: the node sends its latest lines again. */
export function withoutLog(state: PageState): PageState {
  return state.log.length === 0 ? state : { ...state, log: [] };
}

/** Lines that have the text in them, in any case. */
export function linesWith(log: readonly NumberedLine[], text: string): readonly NumberedLine[] {
  const sought = text.trim().toLowerCase();
  if (sought === "") return log;
  return log.filter((line) => line.text.toLowerCase().includes(sought));
}

function withHello(state: PageState, { role, version }: HelloMessage): PageState {
  return {
    ...state,
    role,
    version,
    firstVersion: state.firstVersion ?? version,
    connection: { kind: "live" },
    log: [],
  };
}

function withLines(log: readonly NumberedLine[], lines: readonly LogRow[]): NumberedLine[] {
  const next = (log.at(-1)?.number ?? 0) + 1;
  return [...log, ...lines.map((line, index) => ({ ...line, number: next + index }))].slice(-LOG_LINES_MAX);
}
