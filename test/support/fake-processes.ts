// Processes of machines and the connections between them, without sockets: what the listener and the dial of
// src/cluster/ do over TCP, with what can happen to processes and connections.

import type { Dial, Dialled } from "../../src/cluster/life-dial.ts";
import type { LifeListener } from "../../src/cluster/life-listener.ts";
import type { Endpoint } from "../../src/cluster/machine.ts";
import type { MachineLink } from "../../src/cluster/machine-link.ts";
import { ProcessWatch, type WatchProcesses } from "../../src/cluster/process-watch.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { pause } from "../../src/lib/pause.ts";
import { type Random, systemRandom } from "../../src/lib/random.ts";
import { createLogger, type Logger } from "../../src/log/log.ts";

const DIAL_MS = 2000;
const FIRST_PORT = 40_000;

type Listener = Pick<LifeListener, "listen" | "endpoint" | "setId" | "close">;
type End = "closed" | "lost";

interface Line {
  readonly from: FakeProcess;
  readonly end: (how: End) => void;
}

/** The network. */
export class FakeProcesses {
  readonly #processes = new Map<number, FakeProcess>();

  create(): FakeProcess {
    const port = FIRST_PORT + this.#processes.size;
    const process = new FakeProcess(port, (other) => this.#processes.get(other));
    this.#processes.set(port, process);
    return process;
  }
}

export class FakeProcess {
  readonly port: number;
  readonly #find: (port: number) => FakeProcess | undefined;
  readonly #lines = new Set<Line>();
  readonly #outgoing = new Set<Line>();
  #isListening = false;
  #id: string | undefined;
  /** Its host cannot be reached, and reaches nobody. */
  isCut = false;
  /** It stands still: its system accepts connections, and it says nothing. */
  isPaused = false;
  /** A firewall of its host refuses connections. */
  isRefusing = false;
  /** Connections to it. */
  get lineCount(): number {
    return this.#lines.size;
  }

  constructor(port: number, find: (port: number) => FakeProcess | undefined) {
    this.port = port;
    this.#find = find;
  }

  readonly listener: Listener = {
    listen: () => {
      this.#isListening = true;
    },
    endpoint: (): Endpoint | undefined => (this.#isListening ? { hosts: ["10.0.0.1"], port: this.port } : undefined),
    setId: (id) => {
      if (id !== this.#id) this.endLines("lost");
      this.#id = id;
    },
    close: () => this.end(),
  };

  /** The dial of this process. */
  dialOf(clock: Clock): Dial {
    return async ({ port, id }): Promise<Dialled> => {
      const target = this.#find(port);
      const silent = async (): Promise<Dialled> => {
        await pause(clock, DIAL_MS);
        return { kind: "silent", reason: "no answer" };
      };
      if (target === undefined || this.isCut || target.isCut) return await silent();
      if (!target.#isListening || target.isRefusing) return { kind: "refused", reason: "ECONNREFUSED" };
      if (target.isPaused) {
        await pause(clock, DIAL_MS);
        return { kind: "accepted", reason: "no answer" };
      }
      if (target.#id !== id) return { kind: "accepted", reason: "another process answers there" };
      return { kind: "verified", line: target.#accept(this) };
    };
  }

  /** As the watch of a machine in this process. */
  watch(parts: {
    readonly link: Pick<MachineLink, "status" | "call" | "serve">;
    readonly clock: Clock;
    readonly random?: Random;
    readonly logger?: Logger;
  }): WatchProcesses {
    const { clock, random = systemRandom, logger = createLogger(() => undefined) } = parts;
    const { listener } = this;
    return (sight) => new ProcessWatch({ ...parts, ...sight, random, logger, listener, dial: this.dialOf(clock) });
  }

  /** The process ends: its system closes its connections, which those notice that can. */
  end(): void {
    this.#isListening = false;
    this.endLines("closed");
    for (const line of [...this.#outgoing]) line.end("lost");
  }

  /** All connections to it end, whatever the process does. Those that are cut off learn nothing of it. */
  endLines(how: End): void {
    for (const line of [...this.#lines]) if (!this.isCut && !line.from.isCut) line.end(how);
  }

  #accept(from: FakeProcess): (Dialled & { readonly kind: "verified" })["line"] {
    let end: Line["end"] = () => undefined;
    const ended = new Promise<End>((resolve) => {
      end = (how) => {
        this.#lines.delete(line);
        from.#outgoing.delete(line);
        resolve(how);
      };
    });
    const line: Line = { from, end: (how) => end(how) };
    this.#lines.add(line);
    from.#outgoing.add(line);
    return { ended, close: () => line.end("lost") };
  }
}
