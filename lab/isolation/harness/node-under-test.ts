// The attacked node: our own, as a separate process that is restarted when it ends, or any running node.
// Reports its memory use, whether it still runs and how many audio workers it has lost.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NodeCommand, NodeProcess, ownNode } from "../../bench/node-process.ts";
import { NodeClient } from "../../conformance/workbench/node-client.ts";

export interface NodeUnderTest {
  readonly url: string;
  readonly password: string;
  /** Number so far; 0 where it is unknown. */
  readonly lostWorkers: number;
  readonly hasEnded: boolean;
  /** It was started for this run and may be ended in it. */
  readonly isOurs: boolean;
  memoryBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Below it our own node may play files; there need be none. */
export const LOCAL_ROOT = join(tmpdir(), "tonearm-isolation");

/** Matches Tonearm's log line about a lost audio worker. */
const LOST_WORKER = /audio (worker|thread) (was|is) lost/;

/** A process of our own node, or of another; `onLine` gets what it logs. */
export async function startOwnNode(
  onLine: (line: string) => void,
  command: NodeCommand = ownNode(),
): Promise<NodeUnderTest> {
  let lostWorkers = 0;
  const environment = {
    LOGGING_LEVEL_ROOT: "WARN",
    LAVALINK_SERVER_SOURCES_LOCAL: "true",
    TONEARM_LOCAL_ROOTS: LOCAL_ROOT,
  };
  const running = await NodeProcess.start(command, environment, (line) => {
    if (LOST_WORKER.test(line)) lostWorkers += 1;
    onLine(line);
  });
  return {
    url: running.url,
    password: running.password,
    isOurs: true,
    get lostWorkers() {
      return lostWorkers;
    },
    get hasEnded() {
      return running.hasEnded;
    },
    memoryBytes: async () => running.use().residentBytes,
    close: () => running.close(),
  };
}

/** A node that was started elsewhere. Its memory is what it reports itself. */
export function runningNode(url: string, password: string): NodeUnderTest {
  const http = new NodeClient(url, password);
  return {
    url: http.url,
    password,
    lostWorkers: 0,
    hasEnded: false,
    isOurs: false,
    memoryBytes: async () => Number((await http.get("/v4/stats")).json?.memory?.used ?? 0),
    close: async () => undefined,
  };
}
