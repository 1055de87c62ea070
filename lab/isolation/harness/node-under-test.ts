// The attacked node: our own, as a separate process that is restarted when it ends, or any running node.
// Reports its memory use, whether it still runs and how many audio workers it has lost.

import { type NodeCommand, NodeProcess, ownNode } from "../../bench/node-process.ts";
import { NodeClient } from "../../conformance/workbench/node-client.ts";
import { NodeContext, type NodeSetting } from "./node-context.ts";

export interface NodeUnderTest {
  readonly url: string;
  readonly password: string;
  /** Number so far; 0 where it is unknown. */
  readonly lostWorkers: number;
  readonly hasEnded: boolean;
  /** It was started for this run and may be ended in it. */
  readonly isOurs: boolean;
  readonly setting: NodeSetting;
  /** Undefined with the setting "plain". */
  readonly context: NodeContext | undefined;
  memoryBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Matches Tonearm's log line about a lost audio worker. */
const LOST_WORKER = /audio (worker|thread) (was|is) lost/;

/** A process of our own node, or of another; `onLine` gets what it logs. */
export async function startOwnNode(
  onLine: (line: string) => void,
  { command = ownNode(), setting = "plain" }: { readonly command?: NodeCommand; readonly setting?: NodeSetting } = {},
): Promise<NodeUnderTest> {
  let lostWorkers = 0;
  const context = await NodeContext.start(setting);
  const { args = [], environment = {} } = context ?? {};
  const running = await NodeProcess.start(
    { ...command, args: [...command.args, ...args] },
    { ...environment, LOGGING_LEVEL_ROOT: "WARN" },
    (line) => {
      if (LOST_WORKER.test(line)) lostWorkers += 1;
      onLine(line);
    },
  ).catch(async (error: unknown) => {
    await context?.close();
    throw error;
  });
  return {
    url: running.url,
    password: running.password,
    isOurs: true,
    setting,
    context,
    get lostWorkers() {
      return lostWorkers;
    },
    get hasEnded() {
      return running.hasEnded;
    },
    memoryBytes: async () => running.use().residentBytes,
    close: async () => {
      await running.close();
      await context?.close();
    },
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
    setting: "plain",
    context: undefined,
    memoryBytes: async () => Number((await http.get("/v4/stats")).json?.memory?.used ?? 0),
    close: async () => undefined,
  };
}
