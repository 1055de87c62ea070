// Machines of a cluster in one process: which has which session or player is what the test says, and calls go from one to
// another as they are.

import type { AskedPlayer, HoldOptions, PlayerHold, SessionPlaces } from "../../src/control/cluster/session-places.ts";
import { NodeError } from "../../src/errors.ts";

type Handler = (request: string) => Promise<string>;

/** What a machine does with what others pass on to it. */
interface Handlers {
  onCall?: Handler;
  onPlayerCall?: Handler;
}

/** A hold that was asked for. */
interface AskedHold extends HoldOptions {
  readonly sessionId: string;
  readonly guildId: string;
  /** One, once it is over. */
  readonly released: { readonly mayBeGone: boolean }[];
}

export class JoinedPlaces {
  /** The machine of each session. */
  readonly homes = new Map<string, string>();
  /** The machine and the text of each call, oldest first. */
  readonly calls: { readonly machine: string; readonly request: string }[] = [];
  /** The machine of each player, by session and guild with a slash between them; others are with their session. */
  readonly players = new Map<string, string>();
  /** The calls about players, oldest first. */
  readonly playerCalls: ({ readonly machine: string; readonly request: string } & AskedPlayer)[] = [];
  readonly #handlers = new Map<string, Handlers>();

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
  readonly #handlers: Map<string, Handlers>;
  /** Every hold that was asked for, oldest first. */
  readonly holds: AskedHold[] = [];
  /** The machine of new players. Undefined: this one. */
  chosen: string | undefined;
  /** Players of this machine are held too, after this. */
  beforeHold: (() => Promise<void>) | undefined;

  constructor(joined: JoinedPlaces, machine: string, handlers: Map<string, Handlers>) {
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

  call(machine: string, request: string): Promise<string> {
    this.#joined.calls.push({ machine, request });
    return this.#send(machine, request, "onCall");
  }

  onCall(handler: Handler): void {
    this.#own.onCall = handler;
  }

  holdPlayer(sessionId: string, guildId: string, options: HoldOptions): Promise<PlayerHold> | undefined {
    const { players } = this.#joined;
    const machineId = players.get(`${sessionId}/${guildId}`) ?? (options.isMaking ? this.chosen : undefined);
    const { isMaking, region } = options;
    const released: AskedHold["released"] = [];
    this.holds.push({ sessionId, guildId, isMaking, region, released });
    if (machineId === undefined && this.beforeHold === undefined) return undefined;
    if (machineId !== undefined) players.set(`${sessionId}/${guildId}`, machineId);
    const hold = { machineId, release: (outcome: AskedHold["released"][number]) => void released.push(outcome) };
    return Promise.resolve(this.beforeHold?.()).then(() => hold);
  }

  playerMachines(sessionId: string): readonly string[] {
    const placed = [...this.#joined.players].filter(([player]) => player.startsWith(`${sessionId}/`));
    return [...new Set(placed.map(([, machine]) => machine))];
  }

  callPlayer(machine: string, about: AskedPlayer, request: string): Promise<string> {
    this.#joined.playerCalls.push({ machine, request, ...about });
    return this.#send(machine, request, "onPlayerCall");
  }

  onPlayerCall(handler: Handler): void {
    this.#own.onPlayerCall = handler;
  }

  async #send(machine: string, request: string, way: keyof Handlers): Promise<string> {
    const handler = this.#handlers.get(machine)?.[way];
    if (handler === undefined) throw new NodeError("machine-gone", `there is no machine ${machine}`);
    const handle = (): Promise<string> => handler(request);
    return this.onSent === undefined ? handle() : this.onSent(handle);
  }

  get #own(): Handlers {
    const own = this.#handlers.get(this.#machine) ?? {};
    this.#handlers.set(this.#machine, own);
    return own;
  }
}
