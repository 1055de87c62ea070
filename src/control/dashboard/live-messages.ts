// The messages between the dashboard's page and the node over /dashboard/live: JSON, one object per message. Main
// thread, and the page in the browser, which imports types only.

import type { LogLevel } from "../../log/log.ts";
import type { NodeSample } from "../../observability/status/node-history.ts";
import type { ClusterStatus } from "../cluster/cluster-status.ts";
import type { LoadJson } from "../protocol/node-load-json.ts";
import type { PlayerDiagnosisJson } from "../protocol/player-diagnosis-json.ts";
import type { RoutePlannerJson } from "../protocol/route-planner-json.ts";
import type { PluginJson, SourceJson } from "../protocol/sources-json.ts";
import type { StatsJson } from "../protocol/stats-json.ts";
import type { StateStatus } from "../state/state-status.ts";

/** `viewer` sees everything and changes nothing. */
export type DashboardRole = "viewer" | "operator";

/** A message of the node. */
export type LiveMessage = HelloMessage | HistoryMessage | StateMessage | LogMessage | DoneMessage;

/** Once, first. */
export interface HelloMessage {
  readonly type: "hello";
  readonly role: DashboardRole;
  /** Tonearm's version. */
  readonly version: string;
  /** Interval between state messages. */
  readonly intervalMs: number;
}

/** Once, second: the node's last hour, one sample a minute, oldest first. */
interface HistoryMessage {
  readonly type: "history";
  readonly samples: readonly NodeSample[];
}

/** At once, whenever the view changes, and every `intervalMs`. */
export interface StateMessage {
  readonly type: "state";
  /** Epoch milliseconds of the node at which positions were read. */
  readonly atMs: number;
  readonly stats: StatsJson;
  readonly load: LoadJson;
  /** Whether sessions and players are stored, to outlive a restart. */
  readonly stored: StateStatus;
  readonly cluster: {
    readonly status: ClusterStatus;
    /** Those that are alive, this one among them. */
    readonly machineCount: number;
  };
  /** All machines of the cluster, for views with `allMachines`, once they have answered. */
  readonly machines: readonly MachineRow[] | null;
  /** No new sessions and players are taken. */
  readonly isDraining: boolean;
  readonly players: {
    /** Players in all sessions, including those whose client is away. */
    readonly total: number;
    /** How many the view's filter leaves. */
    readonly matching: number;
    /** From the view's `offset` on, at most its `count`. */
    readonly rows: readonly PlayerRow[];
  };
  /** At most 500. */
  readonly sessions: readonly SessionRow[];
  readonly sources: readonly SourceJson[];
  readonly plugins: readonly PluginJson[];
  /** Null: none is configured. */
  readonly routePlanner: RoutePlannerJson | null;
  /** The diagnosis of the player in the view's `focus`; null if it does not exist. */
  readonly focus: PlayerDiagnosisJson | null;
}

/** One machine of the cluster, by what it says of itself. What it does not say is null. */
export interface MachineRow {
  readonly id: string;
  readonly name: string;
  /** The one that the page is connected to. */
  readonly isThis: boolean;
  readonly roles: readonly string[];
  /** Voice regions near it. */
  readonly regions: readonly string[];
  readonly version: string;
  /** Why it is unwell, each in a sentence without its end; empty: it is well. */
  readonly troubles: readonly string[];
  /** It has stopped or was lost, epoch milliseconds; null: it is there. */
  readonly goneSinceMs: number | null;
  /** In all sessions; of a machine that does not answer, as it was last said. */
  readonly players: number | null;
  readonly playing: number | null;
  /** Share of their time that its audio workers need; above 1 they are late. */
  readonly load: number | null;
  /** False: it would refuse a player that begins. */
  readonly hasCapacity: boolean | null;
  readonly isDraining: boolean;
  /** Share of all its cores that its node uses. */
  readonly cpu: number | null;
  readonly memoryBytes: number | null;
  readonly uptimeMs: number | null;
}

/** One player. */
export interface PlayerRow {
  /** The machine that it is on; null: the one that the page is connected to. */
  readonly machine: Pick<MachineRow, "id" | "name"> | null;
  readonly sessionId: string;
  readonly guildId: string;
  /** Null: nothing is loaded. */
  readonly track: {
    readonly title: string;
    readonly author: string;
    readonly uri: string | null;
    readonly sourceName: string;
    readonly isStream: boolean;
    readonly lengthMs: number;
    /** The requester, if the bot has put it into the track's user data. */
    readonly requester: string | null;
  } | null;
  readonly positionMs: number;
  readonly isPaused: boolean;
  /** The voice connection is open. */
  readonly isConnected: boolean;
  /** Index of the audio worker; null while it waits for one. */
  readonly worker: number | null;
  /** Isolated from the other players, on its own worker. */
  readonly isIsolated: boolean;
  readonly mode: "opening" | "passthrough" | "transcoding" | null;
  /** Share of a core, over the last half second; null: not known. */
  readonly cost: number | null;
  readonly heldBytes: number;
  readonly framesLost: number;
  /** Why it stuttered last; null: never. */
  readonly lastIncident: PlayerDiagnosisJson["incidents"][number] | null;
}

/** One client. */
export interface SessionRow {
  readonly id: string;
  /** The bot's user id. */
  readonly userId: string;
  /** As the client calls itself. */
  readonly clientName: string | null;
  /** Name of its key; null: it has shown the password. */
  readonly key: string | null;
  /** False: its client is away, and may come back. */
  readonly isConnected: boolean;
  /** The connection that it has or had last; null: its client has not come back since the node started. */
  readonly connection: {
    /** Epoch milliseconds. */
    readonly sinceMs: number;
    /** It continued the session after a loss. */
    readonly isResumed: boolean;
    readonly address: string | null;
    /** As the last proxy says, if there is one. */
    readonly forwardedFor: string | null;
    readonly userAgent: string | null;
  } | null;
  readonly players: number;
  readonly playing: number;
}

/** Lines of the node's log, oldest first; only while the view has a `logLevel`. */
interface LogMessage {
  readonly type: "log";
  readonly lines: readonly LogRow[];
}

/** Secrets are taken out of it. */
export interface LogRow {
  readonly atMs: number;
  readonly level: LogLevel;
  /** As a person reads it, with time and level; may have several lines. */
  readonly text: string;
}

/** The result of an action. */
export interface DoneMessage {
  readonly type: "done";
  /** As the page has numbered it. */
  readonly id: number;
  /** Null: it is done. */
  readonly error: string | null;
}

/** A message of the page. */
export type PageMessage = ViewMessage | ActMessage;

/** The complete view that the page requests from now on. */
export interface ViewMessage {
  readonly type: "view";
  /** Shows players whose guild, session, title, author, link, source, requester or client has this text. Empty: all. */
  readonly filter: string;
  /** Shows only players that stuttered within the last ten minutes. */
  readonly onlyTrouble: boolean;
  /** 0 or more. */
  readonly offset: number;
  /** 1 to 200. */
  readonly count: number;
  readonly focus: PlayerReference | null;
  /** Asks all machines of the cluster. Default: no other. */
  readonly allMachines?: boolean | undefined;
  /** Least level of the log lines that are sent; null: none. The latest come first, then each as it is logged. */
  readonly logLevel: LogLevel | null;
}

/** For operators. */
interface ActMessage {
  readonly type: "act";
  /** For the answer: a whole number. */
  readonly id: number;
  readonly action: DashboardAction;
}

/** Identifies a player. */
export interface PlayerReference {
  readonly sessionId: string;
  readonly guildId: string;
}

/** What an operator can do to a player. */
export interface PlayerAction extends PlayerReference {
  readonly kind: "pause" | "resume" | "skip" | "stop";
  /** The machine that it is on. Default: the one that the page is connected to. */
  readonly machineId?: string | undefined;
}

/** The actions of an operator. `skip` ends the track as if it were over, so that the bot continues with the next. */
export type DashboardAction =
  | PlayerAction
  | { readonly kind: "reloadPlugin"; readonly name: string }
  | { readonly kind: "drain"; readonly isOn: boolean }
  | { readonly kind: "freeAddress"; readonly address: string }
  | { readonly kind: "freeAllAddresses" };
