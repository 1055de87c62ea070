// A client of a cluster in tests with random harm: it opens a session, asks for things, loses its connection and comes
// back to any machine. It remembers what it was answered, and so what must be true of its session.

import type { Session } from "../../src/control/sessions/session.ts";
import { NodeError } from "../../src/errors.ts";
import { ASKING, CLIENT, type PlayerChange, type TestMachine } from "./clustered-machine.ts";
import type { FakeSessionPlayer } from "./fake-session-player.ts";
import { FakeSocket } from "./fake-socket.ts";

/** A process of a machine. */
export interface TrialProcess {
  readonly machine: TestMachine;
  /** It is gone, by force or at its end. */
  isOver: boolean;
  readonly isPaused: boolean;
}

interface Connection {
  readonly process: TrialProcess;
  readonly socket: FakeSocket;
  readonly lives: number;
  /** Of `socket.said`. */
  readCount: number;
}

/** What may be stored of a player. */
interface Version {
  /** Undefined: there is no player. */
  readonly volume: number | undefined;
}

/** In the order in which they were asked for. */
type Possible = Version[];

/** What was asked for, and carried out. */
interface Asked {
  readonly isStored: boolean;
  readonly onAnswer: () => void;
}

/** Where a message was received. */
interface Receipt {
  readonly process: TrialProcess;
  readonly lives: number;
}

export class TrialClient {
  readonly #fault: (text: string) => void;
  sessionId: string | undefined;
  /** It was answered that the session waits for it. */
  isLasting = false;
  #connection: Connection | undefined;
  /** Where it is about to. */
  #attempt: { readonly process: TrialProcess } | undefined;
  /** By guild: what was answered last, then what was asked for since. */
  readonly players = new Map<string, Possible>();
  /** Messages that waited for it and were stored, and that it has not received. */
  readonly owed = new Set<number>();
  /** Guilds that something is asked of. */
  readonly #changing = new Set<string>();
  readonly #received = new Map<number, Receipt>();
  /** Sessions that it has ended, as it was answered. */
  readonly ended: string[] = [];
  readonly counts = { opened: 0, resumed: 0, answered: 0, ended: 0, received: 0, refused: 0 };
  #messageCount = 0;
  /** Answers that came while nothing could be stored. */
  #unstored: { readonly process: TrialProcess; readonly lives: number; readonly onAnswer: () => void }[] = [];

  constructor(fault: (text: string) => void) {
    this.#fault = fault;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** What was answered while nothing could be stored may only be lost with its machine. */
  settle(): void {
    for (const { process, lives, onAnswer } of this.#unstored) if (isAnswered(process, lives)) onAnswer();
    this.#unstored = [];
  }

  /** Reads what has come, and notices that its connection is lost. */
  look(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    const { socket, process } = connection;
    for (const number of socket.said.slice(connection.readCount)) this.#onMessage(number, connection);
    connection.readCount = socket.said.length;
    if (process.isOver || socket.isTerminated || socket.closedWith !== undefined) this.#connection = undefined;
  }

  /** Its connection breaks; the machine may not notice. */
  lose({ isNoticed }: { readonly isNoticed: boolean }): void {
    this.look();
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    const { machine } = connection.process;
    const session = machine.sessions.own(this.sessionId ?? "");
    if (session === undefined) return;
    if (isNoticed) {
      connection.socket.break();
      session.socketClosed(connection.socket);
    } else {
      connection.socket.stall();
      machine.silent.add(session);
    }
  }

  /** As the end point does: it resumes its session, or opens one. */
  async connect(process: TrialProcess): Promise<void> {
    if (this.#connection !== undefined || this.#attempt?.process.isOver === false) return;
    const attempt = { process };
    this.#attempt = attempt;
    try {
      await this.#connect(attempt);
    } catch (error) {
      if (!(error instanceof NodeError && error.code === "cluster-away")) {
        this.#fault(`connecting failed with ${String(error)}`);
      }
      this.counts.refused++;
    } finally {
      if (this.#attempt === attempt) this.#attempt = undefined;
    }
  }

  async configure(): Promise<void> {
    await this.#ask(({ session }) => {
      session.configure({ resuming: true, timeout: 600 });
      const onAnswer = (): void => {
        if (session.id === this.sessionId) this.isLasting = true;
      };
      return { isStored: true, onAnswer };
    });
  }

  async update(guildId: string, volume: number): Promise<void> {
    const possible = this.players.get(guildId) ?? [{ volume: undefined }];
    await this.#change(guildId, possible, { kind: "update", volume });
  }

  async destroyPlayer(guildId: string): Promise<void> {
    const possible = this.players.get(guildId);
    if (possible !== undefined) await this.#change(guildId, possible, { kind: "destroy" });
  }

  /** One at a time of each guild: what is asked for at once has no order. */
  async #change(guildId: string, possible: Possible, change: PlayerChange): Promise<void> {
    if (this.#changing.has(guildId)) return;
    this.#changing.add(guildId);
    await this.#ask(async ({ machine, session }) => {
      this.players.set(guildId, possible);
      const version = { volume: change.kind === "update" ? change.volume : undefined };
      // It may be carried out whatever becomes of the answer.
      possible.push(version);
      const { isStored } = await machine.ask(session.id, guildId, change);
      return { isStored, onAnswer: () => this.#answered(possible, version) };
    }).finally(() => this.#changing.delete(guildId));
  }

  async end(): Promise<void> {
    const id = this.sessionId ?? "";
    await this.#ask(({ session }) => {
      session.destroy();
      this.#forget();
      const onAnswer = (): void => {
        this.ended.push(id);
        this.counts.ended++;
      };
      return { isStored: true, onAnswer };
    });
  }

  /** A player of its session says something, where that is. `isConnected`: some machine takes its client to be there. */
  async hear(process: TrialProcess, { isConnected }: { readonly isConnected: boolean }): Promise<void> {
    const { machine } = process;
    const session = machine.sessions.get(this.sessionId ?? "");
    const [player] = session?.players.values() ?? [];
    if (session === undefined || player === undefined) return;
    const number = ++this.#messageCount;
    // What a session's own machine has sent may be lost with a connection that nobody has noticed to be.
    const isWaiting = session.isWaiting || (session.isRemote && !isConnected);
    const lives = machine.cluster.lives;
    (player as FakeSessionPlayer).say(number);
    await machine.state.written();
    if (isWaiting && this.isLasting && isAnswered(process, lives) && machine.state.isStoring) {
      if (session.id !== this.sessionId) return;
      if (!this.#received.has(number)) this.owed.add(number);
    }
  }

  async #connect(attempt: { readonly process: TrialProcess }): Promise<void> {
    const { process } = attempt;
    const { machine } = process;
    const { sessions, cluster } = machine;
    const id = this.sessionId;
    const { isLasting } = this;
    const lives = cluster.lives;
    if (id !== undefined && sessions.own(id) === undefined) await cluster.bring({ sessionId: id }, ASKING);
    const session = id === undefined ? undefined : sessions.own(id);
    if (session?.isConnected && machine.silent.has(session)) session.disconnect();
    const newId = session?.isWaiting ? undefined : await cluster.reserve();
    if (this.#attempt !== attempt || process.isOver || process.isPaused || sessions.isClosed) {
      if (newId !== undefined) cluster.cancel(newId);
      return;
    }
    const socket = new FakeSocket();
    if (session?.isWaiting) {
      session.resume(socket);
      this.counts.resumed++;
    } else {
      if (isLasting && cluster.lives === lives)
        this.#fault(`a client does not get its session ${id} at ${machine.name}`);
      this.#forget();
      this.sessionId = sessions.open(socket, CLIENT, newId).id;
      this.counts.opened++;
    }
    this.#connection = { process, socket, lives: cluster.lives, readCount: 0 };
  }

  /** Changes something of its session: `onAnswer` of what `ask` returns is called if an answer comes. */
  async #ask(
    ask: (parts: { readonly machine: TestMachine; readonly session: Session }) => Promise<Asked> | Asked,
  ): Promise<void> {
    this.look();
    const connection = this.#connection;
    if (connection === undefined || connection.process.isPaused) return;
    const { process } = connection;
    const { machine } = process;
    const session = machine.sessions.own(this.sessionId ?? "");
    if (session?.isConnected !== true) return;
    const lives = machine.cluster.lives;
    let asked: Asked;
    try {
      asked = await ask({ machine, session });
    } catch (error) {
      if (error instanceof NodeError) return;
      throw error;
    }
    await machine.state.written();
    if (!isAnswered(process, lives)) return;
    this.counts.answered++;
    const { isStored, onAnswer } = asked;
    if (isStored && machine.state.isStoring) onAnswer();
    else this.#unstored.push({ process, lives, onAnswer });
  }

  #answered(possible: Possible, version: Version): void {
    const index = possible.indexOf(version);
    if (index > 0) possible.splice(0, index);
  }

  #onMessage(number: number, { process, lives }: Connection): void {
    this.owed.delete(number);
    this.counts.received++;
    const before = this.#received.get(number);
    // What its machine could not store any more comes again.
    const isExcused = before !== undefined && !isAnswered(before.process, before.lives);
    if (before !== undefined && !isExcused) this.#fault(`the message ${number} of ${this.sessionId} came twice`);
    this.#received.set(number, { process, lives });
  }

  #forget(): void {
    this.sessionId = undefined;
    this.isLasting = false;
    this.players.clear();
    this.owed.clear();
    this.#received.clear();
  }
}

/** No answer comes from a process that is gone, nor of a life that is over. */
function isAnswered({ machine, isOver }: TrialProcess, lives: number): boolean {
  return !isOver && machine.cluster.lives === lives && machine.opened.membership.holdsLease;
}
