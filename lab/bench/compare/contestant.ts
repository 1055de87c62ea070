// A node that is measured: started and ended by the bench, or already running. Runs in the bench's own process; the CPU
// and memory that it reports are those of the node's processes.

import { requestNode } from "../../test-environment/rest-request.ts";
import { within } from "../../within.ts";
import { findListeningProcess } from "../listening-process.ts";
import { type NodeCommand, NodeProcess } from "../node-process.ts";
import { readProcessTree, readPssBytes } from "../process-tree.ts";
import { NodeTrouble } from "../trouble.ts";

/** Which node, and how to connect to it. */
export type NodePlan =
  | { readonly name: string; readonly command: NodeCommand }
  | { readonly name: string; readonly url: string; readonly password: string; readonly pid: number | undefined };

interface ContestantUse {
  readonly cpuSeconds: number | undefined;
  readonly residentBytes: number | undefined;
}

interface Started {
  readonly process: NodeProcess;
  /** The last lines of its output, for a message that explains why it ended. */
  readonly lastLines: () => string;
}

const INFO_MS_MAX = 10_000;
const LAST_LINES = 5;
const LINE_LENGTH_MAX = 200;

export class Contestant {
  readonly name: string;
  readonly url: string;
  readonly password: string;
  /** From spawning to the first answer; undefined when it was already running. */
  readonly startMs: number | undefined;
  /** Process id of its main process; undefined when unknown. */
  readonly pid: number | undefined;
  /** Rejects with a `NodeTrouble` when the node ends before it is closed; never resolves. */
  readonly trouble: Promise<never>;
  readonly #process: NodeProcess | undefined;
  #isClosed = false;

  private constructor(name: string, access: Pick<Contestant, "url" | "password" | "pid">, started?: Started) {
    this.name = name;
    this.url = access.url;
    this.password = access.password;
    this.pid = access.pid;
    this.startMs = started?.process.startMs;
    this.#process = started?.process;
    this.trouble = started === undefined ? new Promise(() => undefined) : this.#untilTrouble(started);
    this.trouble.catch(() => undefined); // checked by the measurement that runs at that time
  }

  /** Rejects with a `NodeTrouble` that names the node when it does not start or answer, or is not a v4 node. */
  static async open(plan: NodePlan): Promise<Contestant> {
    const { name } = plan;
    if ("url" in plan) {
      const pid = plan.pid ?? findListeningProcess(portOf(plan.url));
      const contestant = new Contestant(name, { url: plan.url, password: plan.password, pid });
      await contestant.#introduce();
      return contestant;
    }
    const lines: string[] = [];
    const keepLine = (line: string) => {
      lines.push(line.slice(0, LINE_LENGTH_MAX));
      if (lines.length > LAST_LINES) lines.shift();
    };
    const lastLines = () => (lines.length === 0 ? "" : `; its last lines:\n    ${lines.join("\n    ")}`);
    const process = await NodeProcess.start(plan.command, {}, keepLine).catch((error: Error) => {
      throw new NodeTrouble(`${name}: ${error.message}${lastLines()}`);
    });
    const contestant = new Contestant(name, process, { process, lastLines });
    await contestant.#introduce().catch(async (error: unknown) => {
      await contestant.close();
      throw error;
    });
    return contestant;
  }

  /** CPU time since its start; undefined where the operating system cannot be asked. */
  use(): ContestantUse {
    const tree = this.pid === undefined ? undefined : readProcessTree(this.pid);
    return { cpuSeconds: tree?.cpuSeconds, residentBytes: tree?.residentBytes };
  }

  pssBytes(): number | undefined {
    return this.pid === undefined ? undefined : readPssBytes(this.pid);
  }

  /** Ends a node that was started here; a node that was already running continues to run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.close();
  }

  async #untilTrouble({ process, lastLines }: Started): Promise<never> {
    const how = await process.ended();
    if (this.#isClosed) return new Promise(() => undefined);
    throw new NodeTrouble(`${this.name}: ended ${how} in the middle of the run${lastLines()}`);
  }

  /** Whether it is a v4 node and accepts the password. */
  async #introduce(): Promise<void> {
    const asked = requestNode<unknown>(this, { method: "GET", path: "/v4/info" });
    const answer = await within(asked, INFO_MS_MAX).catch((error: unknown) => {
      throw new NodeTrouble(`${this.name}: no sensible answer to /v4/info: ${error}`);
    });
    if (answer === undefined) {
      throw new NodeTrouble(`${this.name}: did not answer /v4/info within ${INFO_MS_MAX / 1000} s`);
    }
    if (answer.status === 401 || answer.status === 403) {
      throw new NodeTrouble(`${this.name}: the password is wrong (${answer.status}); --password names another`);
    }
    const isInfo = typeof answer.body === "object" && answer.body !== null && "version" in answer.body;
    if (answer.status !== 200 || !isInfo) {
      throw new NodeTrouble(`${this.name}: is not a v4 node: it answers /v4/info with ${answer.status}`);
    }
  }
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
