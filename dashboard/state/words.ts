// Explains the node's terms in words for people at three in the morning: causes of stutter, repairs, states. In the
// browser.

import type { ClusterStatus } from "../../src/control/cluster/cluster-status.ts";
import type { DashboardAction, PlayerRow } from "../../src/control/dashboard/live-messages.ts";
import type { IncidentJson, VoiceDiagnosisJson } from "../../src/control/protocol/player-diagnosis-json.ts";
import type { SourceJson } from "../../src/control/protocol/sources-json.ts";

/** A name for the list, and what it means with what to do about it. */
interface Words {
  readonly short: string;
  readonly long: string;
}

/** docs/internals/incidents.md says which component detects which cause. */
export const CAUSES: Readonly<Record<IncidentJson["cause"], Words>> = {
  workerLate: {
    short: "worker too late",
    long: "The audio worker got the processor 80 ms late or more and dropped the frames that were due. See Node for what helps.",
  },
  workerLost: {
    short: "worker lost",
    long: "The audio worker crashed or hung, or this track exceeded its CPU quota. The player continued on another worker.",
  },
  decoderLate: {
    short: "decoder too late",
    long: "The input was there but not decoded: a decoder was still loading, busy, or waiting for its time slice.",
  },
  network: {
    short: "network slow",
    long: "The track's server did not deliver in time, or this machine could not send to Discord.",
  },
  inputStarved: {
    short: "file slow to read",
    long: "Nothing was ready to play, and no server was waited for: a slow disk, or a file that takes long to read.",
  },
  voiceNotReady: {
    short: "voice not ready",
    long: "The connection to Discord's voice server was being made, or made again.",
  },
  daveNotReady: {
    short: "encryption not ready",
    long: "Discord's end-to-end encryption (DAVE) had no group yet, or a frame could not be encrypted.",
  },
  nobodyThere: {
    short: "channel empty",
    long: "The bot was alone in the voice channel: time ran, nothing was sent, and nobody missed it.",
  },
};

/** What a full processor or a late worker means, and what helps. */
export const LATE_WORKERS =
  "The processor or an audio worker is nearly or fully used, or a worker got the processor late. One that gets it 80 ms " +
  "late or more drops the frames that were due: listeners hear a gap, and the player shows “worker too late”. What helps: " +
  "fewer players on this node, more cores (with tonearm.workers.count at 0, or raised to match), and neither other " +
  "programs nor a container's limit on them. See docs/how-to/tuning.md, Threads.";

/** The repairs that the node makes by itself. */
export const REPAIRS: Readonly<Record<NonNullable<IncidentJson["repair"]>, string>> = {
  reopen: "track opened again",
  rejoin: "voice joined again",
};

/** How packets are made. */
export const MODES: Readonly<Record<NonNullable<PlayerRow["mode"]>, string>> = {
  opening: "opening",
  passthrough: "passed through",
  transcoding: "transcoded",
};

/** What happens to due frames. */
export const GATES: Readonly<Record<VoiceDiagnosisJson["gate"], string>> = {
  send: "frames are sent",
  hold: "frames are held back",
  discard: "frames are dropped: the voice channel is empty",
  down: "no voice connection",
};

/** How end-to-end encryption stands. */
export const DAVE_STATES: Readonly<Record<VoiceDiagnosisJson["dave"]["state"], string>> = {
  plain: "not encrypted",
  waiting: "waiting for a group",
  encrypted: "encrypted",
  recovering: "leaving the group and coming back",
};

/** The states of sources and plugins. */
export const SOURCE_STATES: Readonly<Record<SourceJson["state"], Words>> = {
  idle: { short: "idle", long: "Starts when it is needed." },
  starting: { short: "starting", long: "Is being started." },
  running: { short: "running", long: "Is available." },
  resting: { short: "resting", long: "Was lost, and is started again after a pause." },
  off: { short: "off", long: "Cannot be set up." },
};

/** The states of a backend's circuit breaker. */
export const BACKEND_STATES: Readonly<Record<SourceJson["backends"][number]["state"], string>> = {
  closed: "works",
  open: "breaker open",
  halfOpen: "breaker half open",
};

/** Why this machine is not joined to its cluster. */
export const CLUSTER_TROUBLES: Readonly<Record<Exclude<ClusterStatus["kind"], "disabled" | "joined">, string>> = {
  joining: "joining",
  away: "NATS away: players play on",
  "cut-off": "cut off: its players were ended",
};

/** A confirmation shown before an action: what it is, what will happen, and the label of its button. */
export interface Question {
  readonly title: string;
  readonly consequence: string;
  readonly button: string;
}

/** `subject` is what the action is about, as the page shows it: a track's title, a plugin's name. */
export function questionOf(action: DashboardAction, subject: string): Question {
  switch (action.kind) {
    case "pause":
      return {
        title: `Pause “${subject}”?`,
        consequence: "Everybody in that voice channel hears silence until the bot or you resume it.",
        button: "Pause",
      };
    case "resume":
      return { title: `Resume “${subject}”?`, consequence: "It continues where it was paused.", button: "Resume" };
    case "skip":
      return {
        title: `Skip “${subject}”?`,
        consequence: "The track ends as if it were over; the bot continues with its next one.",
        button: "Skip",
      };
    case "stop":
      return {
        title: `Stop “${subject}”?`,
        consequence: "The track ends; most bots start no other one by themselves.",
        button: "Stop",
      };
    case "reloadPlugin":
      return {
        title: `Reload the plugin ${subject}?`,
        consequence: "Its thread restarts. Loads that wait for it may fail; tracks that are playing continue.",
        button: "Reload",
      };
    case "drain":
      return drainQuestion(action.isOn);
    case "freeAddress":
      return {
        title: `Free the address ${subject}?`,
        consequence: "Requests may leave from it again; a site that has banned it may refuse them again.",
        button: "Free",
      };
    case "freeAllAddresses":
      return {
        title: "Free all failing addresses?",
        consequence: "Requests may leave from all of them again; sites that have banned them may refuse them again.",
        button: "Free all",
      };
  }
}

function drainQuestion(isOn: boolean): Question {
  return isOn
    ? {
        title: "Drain this node?",
        consequence: "It accepts no new sessions and players. Tracks that are playing continue until they end.",
        button: "Drain",
      }
    : {
        title: "Stop draining?",
        consequence: "The node takes new sessions and players again.",
        button: "Stop draining",
      };
}
