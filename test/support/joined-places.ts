// Machines of a cluster in one process: which has which session is what the test says, and calls go from one to another
// as they are.

import type { SessionPlaces } from "../../src/control/cluster/session-places.ts";
import { NodeError } from "../../src/errors.ts";

type Handler = (request: string) => Promise<string>;

export class JoinedPlaces {
  /** The machine of each session. */
  readonly homes = new Map<string, string>();
  /** The machine and the text of each call, oldest first. */
  readonly calls: { readonly machine: string; readonly request: string }[] = [];
  readonly #handlers = new Map<string, Handler>();

  /** The view of one machine. */
  of(machine: string): TestPlaces {
    return new TestPlaces(this, machine, this.#handlers);
  }
}

export class TestPlaces implements SessionPlaces {
  lives = 0;
  /** Answers `elsewhere` in place of the homes, one after the other; an error is thrown. */
  readonly answers: (string | undefined | Error)[] = [];
  /** Replaces what the called machine does. */
  onSent: ((handle: () => Promise<string>) => Promise<string>) | undefined;
  readonly #joined: JoinedPlaces;
  readonly #machine: string;
  readonly #handlers: Map<string, Handler>;

  constructor(joined: JoinedPlaces, machine: string, handlers: Map<string, Handler>) {
    this.#joined = joined;
    this.#machine = machine;
    this.#handlers = handlers;
  }

  elsewhere(sessionId: string): Promise<string | undefined> | undefined {
    if (this.answers.length > 0) {
      const answer = this.answers.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    }
    const home = this.#joined.homes.get(sessionId);
    return home === undefined || home === this.#machine ? undefined : Promise.resolve(home);
  }

  async call(machine: string, request: string): Promise<string> {
    this.#joined.calls.push({ machine, request });
    const handler = this.#handlers.get(machine);
    if (handler === undefined) throw new NodeError("machine-gone", `there is no machine ${machine}`);
    const handle = (): Promise<string> => handler(request);
    return this.onSent === undefined ? handle() : this.onSent(handle);
  }

  onCall(handler: Handler): void {
    this.#handlers.set(this.#machine, handler);
  }

  holdPlayer(): undefined {
    return undefined;
  }

  playerMachines(): readonly string[] {
    return [];
  }

  callPlayer(): Promise<string> {
    return Promise.reject(new Error("no player is elsewhere"));
  }

  onPlayerCall(): void {}
}
