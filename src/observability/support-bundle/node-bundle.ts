// The running node's part of a support bundle: gathers the node's state, hides what must not be seen and puts it
// together. Main thread; loaded on request (GET /v4/tonearm/support), as it costs nothing until then.

import { secretsAround } from "../../config/process-environment.ts";
import type { ShownConfig } from "../../config/shown-config.ts";
import type { ClusterReport } from "../../control/cluster/cluster-status.ts";
import type { LoadJson } from "../../control/protocol/node-load-json.ts";
import type { PluginJson, SourceJson } from "../../control/protocol/sources-json.ts";
import type { StatsJson } from "../../control/protocol/stats-json.ts";
import type { StateReport } from "../../control/state/state-status.ts";
import { LINE_SIZE_MAX_BYTES, type LogLine } from "../../log/log-ring.ts";
import { type BundlePart, bundleText } from "./bundle-text.ts";
import { configText } from "./config-text.ts";
import { describeMachine } from "./machine.ts";
import { Pseudonymizer } from "./pseudonymizer.ts";
import {
  clusterText,
  countersText,
  loadText,
  playersText,
  pluginsText,
  type SessionView,
  sessionsText,
  sourcesText,
  stateText,
} from "./running-text.ts";

/** How such a text begins: `tonearm support` knows by it that a node of ours has answered. */
export const NODE_BUNDLE_HEADING = "State of the running node";
/** Each takes some microseconds on the thread that answers everybody. */
const INSPECTED_PLAYERS_MAX = 500;

const LOG_LENGTH_MAX = 8000;
/** Removed from the end of a line that was cut off: it may end in the middle of a secret. */
const CUT_MARGIN_LENGTH = 1024;
/** Bytes that may be missing at the end where a character did not fit. */
const CHARACTER_SIZE_MAX_BYTES = 4;

/** The node's state to read. */
export interface RunningNode {
  /** Undefined where the node was not given the origin of its values. */
  readonly config: ShownConfig | undefined;
  readonly log: { latest(which: "troubles"): readonly LogLine[] };
  readonly epochMs: () => number;
  readStats(): StatsJson;
  readLoad(): LoadJson;
  readState(): StateReport;
  readCluster(): ClusterReport;
  readSessions(): readonly SessionView[];
  sourcesJson(): readonly SourceJson[];
  pluginsJson(): readonly PluginJson[];
  /** For Prometheus. */
  readMetrics(): string;
}

/** At most 45,000 characters. `key` is what other names of ids are made with, see `Pseudonymizer`. */
export async function nodeBundle(node: RunningNode, key?: string): Promise<string> {
  // Also secrets outside the configuration: nothing else checks what comes from the dashboard.
  const around = secretsAround(process.argv.slice(2));
  const pseudonymizer = new Pseudonymizer({ secrets: [...(node.config?.hidden.reveal() ?? []), ...around], key });
  const parts = runningParts(node, await describeMachine(), pseudonymizer);
  const time = new Date(node.epochMs()).toISOString();
  const shown = parts.map((part) => ({
    ...part,
    text: part.isPseudonymized === true ? part.text : pseudonymizer.text(part.text),
  }));
  const words =
    `As of ${time}. Secrets and everything about what is played are left out; ids, sessions and addresses are pseudonyms.\n` +
    "Counters that are 0 are not shown.";
  return bundleText(NODE_BUNDLE_HEADING, words, shown);
}

interface RawPart extends BundlePart {
  readonly isPseudonymized?: boolean;
}

function runningParts(node: RunningNode, machine: string, pseudonymizer: Pseudonymizer): RawPart[] {
  const sessions = node.readSessions();
  const players = sessions.flatMap((session) => [...session.players.values()]);
  const inspected = players.slice(0, INSPECTED_PLAYERS_MAX).map((player) => player.diagnose());
  return [
    { title: "Node: versions and machine", text: machine, lengthMax: 2000 },
    {
      title: "Node: configuration in force",
      text: node.config === undefined ? "" : configText(node.config.settings),
      lengthMax: 9000,
    },
    { title: "Node: load", text: loadText(node.readStats(), node.readLoad()), lengthMax: 4000 },
    { title: "Node: stored state", text: stateText(node.readState()), lengthMax: 600 },
    { title: "Node: cluster", text: clusterText(node.readCluster()), lengthMax: 1200 },
    { title: "Node: sessions", text: sessionsText(sessions), lengthMax: 3000 },
    { title: "Node: players", text: playersText(inspected, players.length), lengthMax: 4500 },
    { title: "Node: sources", text: sourcesText(node.sourcesJson()), lengthMax: 4500 },
    { title: "Node: plugins", text: pluginsText(node.pluginsJson()), lengthMax: 2000 },
    {
      title: "Node: last warnings and errors",
      text: logText(node.log.latest("troubles"), pseudonymizer),
      lengthMax: LOG_LENGTH_MAX,
      ...({ keeps: "end", isPseudonymized: true } as const),
    },
    { title: "Node: counters", text: countersText(node.readMetrics()), lengthMax: 6500 },
  ];
}

/** The newest lines, only as many as are shown: hiding what is in them takes time. */
function logText(lines: readonly LogLine[], pseudonymizer: Pseudonymizer): string {
  const shown: string[] = [];
  let length = 0;
  for (const { text } of lines.toReversed()) {
    if (length > LOG_LENGTH_MAX) break;
    const line = pseudonymizer.logLine(text);
    const isCut = Buffer.byteLength(text) + CHARACTER_SIZE_MAX_BYTES > LINE_SIZE_MAX_BYTES;
    shown.push(isCut ? `${line.slice(0, -CUT_MARGIN_LENGTH)}…` : line);
    length += line.length;
  }
  return [...(shown.length < lines.length ? ["… earlier ones are left out"] : []), ...shown.toReversed()].join("\n");
}
