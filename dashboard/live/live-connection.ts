// The page's one WebSocket to the node. It is reopened with growing pauses when it is lost and closed while the tab is
// hidden. It sends the requested view on each opening and waits for the results of actions. In the browser; sockets,
// time and requests are passed in.

import type {
  DashboardAction,
  DoneMessage,
  LiveMessage,
  PageMessage,
  ViewMessage,
} from "../../src/control/dashboard/live-messages.ts";
import type { Connection } from "../state/page-state.ts";

const PAUSE_MS = 500;
const PAUSE_MS_MAX = 10_000;
/** After this time a hidden tab disconnects, so that it costs the node nothing. */
const HIDDEN_MS_MAX = 60_000;
/** Time without a message after which the connection counts as lost: three intervals and a reserve. */
const SILENCE_MS = 7000;
const ACT_MS_MAX = 20_000;

/** `gone`: the request got no answer. With a reason: logged in, but the node refuses viewers at the moment. */
export type SessionAnswer = "in" | "out" | "gone" | { readonly reason: string };

/** The result of sending a password. */
export type LoginOutcome =
  | { readonly kind: "in" | "wrong" }
  | { readonly kind: "tooMany"; readonly waitS: number }
  | { readonly kind: "failed"; readonly reason: string };

/** An open or opening WebSocket. */
export interface LiveSocket {
  /** Only after `onOpen`. */
  send(text: string): void;
  /** After this call the listener is not called again. */
  close(): void;
}

/** The events of a socket. */
export interface SocketListener {
  onOpen(): void;
  onText(text: string): void;
  /** Also when it could not be opened. */
  onClose(): void;
}

/** The dependencies of the connection. */
export interface LiveParts {
  askSession(): Promise<SessionAnswer>;
  openSocket(listener: SocketListener): LiveSocket;
  /** Epoch milliseconds. */
  now(): number;
  /** Calls once; the answer takes it back. */
  later(call: () => void, delayMs: number): () => void;
}

/** The owner of the connection. */
interface LiveOwner {
  connectionChanged(connection: Connection): void;
  messageCame(message: Exclude<LiveMessage, DoneMessage>): void;
}

interface PendingAct {
  readonly settle: (error: string | null) => void;
  readonly giveUp: () => void;
}

/** One for the life of the page. */
export class LiveConnection {
  readonly #parts: LiveParts;
  readonly #owner: LiveOwner;
  readonly #acts = new Map<number, PendingAct>();
  #connection: Connection = { kind: "checking" };
  #socket: LiveSocket | undefined;
  #isOpen = false;
  #view: ViewMessage | undefined;
  #sentView = "";
  #silenceMs = SILENCE_MS;
  #failures = 0;
  #nextAct = 1;
  /** The number of the current attempt; answers to earlier attempts are ignored. */
  #attempt = 0;
  #stopWaiting: () => void = () => undefined;
  #stopSilence: () => void = () => undefined;
  #stopHidden: () => void = () => undefined;

  constructor(parts: LiveParts, owner: LiveOwner) {
    this.#parts = parts;
    this.#owner = owner;
  }

  /** Connects if the user is logged in, immediately and also during a pause. */
  connect(): void {
    const { kind } = this.#connection;
    if (kind !== "lost" && kind !== "refused") this.#become({ kind: kind === "checking" ? "checking" : "connecting" });
    void this.#tryOnce();
  }

  /** The user is no longer logged in. */
  loggedOut(): void {
    this.#drop("you have logged out");
    this.#become({ kind: "loggedOut" });
  }

  /** Sets the view that the node is asked for from now on. */
  setView(view: ViewMessage): void {
    this.#view = view;
    this.#sendView();
  }

  /** Null when it is done, else why not. */
  act(action: DashboardAction): Promise<string | null> {
    if (!this.#isOpen) return Promise.resolve("there is no connection to the node");
    const id = this.#nextAct++;
    return new Promise((resolve) => {
      const giveUp = this.#parts.later(() => this.#settle(id, "the node has not answered"), ACT_MS_MAX);
      this.#acts.set(id, { settle: resolve, giveUp });
      this.#send({ type: "act", id, action });
    });
  }

  /** Whether the tab can be seen. */
  setHidden(isHidden: boolean): void {
    this.#stopHidden();
    if (isHidden) this.#stopHidden = this.#parts.later(() => this.#sleep(), HIDDEN_MS_MAX);
    else if (["asleep", "lost", "refused"].includes(this.#connection.kind)) this.connect();
  }

  async #tryOnce(): Promise<void> {
    this.#drop("the connection was lost; whether it was done is not known");
    const attempt = this.#attempt;
    const answer = await this.#parts.askSession();
    if (attempt !== this.#attempt) return;
    if (answer === "out") return this.#become({ kind: "loggedOut" });
    if (answer === "gone") return this.#lose();
    if (answer !== "in") return this.#lose(answer.reason);
    this.#socket = this.#parts.openSocket({
      onOpen: () => {
        this.#isOpen = true;
        this.#sendView();
      },
      onText: (text) => this.#receive(text),
      onClose: () => this.#lose(),
    });
    this.#waitForWord();
  }

  #receive(text: string): void {
    const message = parsed(text);
    if (message?.type === "hello") this.#silenceMs = SILENCE_MS + message.intervalMs * 3;
    this.#waitForWord();
    if (message === undefined) return;
    if (message.type === "done") {
      this.#settle(message.id, message.error);
      return;
    }
    if (message.type === "hello") {
      this.#failures = 0;
      this.#become({ kind: "live" });
    }
    this.#owner.messageCame(message);
  }

  #lose(reason?: string): void {
    this.#drop("the connection was lost; whether it was done is not known");
    if (reason !== undefined) this.#become({ kind: "refused", reason });
    else if (this.#connection.kind !== "lost") this.#become({ kind: "lost", sinceMs: this.#parts.now() });
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#stopWaiting = this.#parts.later(() => void this.#tryOnce(), pauseMs);
  }

  #sleep(): void {
    if (this.#connection.kind === "loggedOut") return;
    this.#drop("this tab was hidden for too long; whether it was done is not known");
    this.#become({ kind: "asleep" });
  }

  /** Ends attempts, pauses and the socket, and with `reason` the pending actions. */
  #drop(reason: string): void {
    this.#attempt += 1;
    this.#stopWaiting();
    this.#stopSilence();
    this.#socket?.close();
    this.#socket = undefined;
    this.#isOpen = false;
    this.#sentView = "";
    for (const id of [...this.#acts.keys()]) this.#settle(id, reason);
  }

  #settle(id: number, error: string | null): void {
    const act = this.#acts.get(id);
    this.#acts.delete(id);
    act?.giveUp();
    act?.settle(error);
  }

  #waitForWord(): void {
    this.#stopSilence();
    this.#stopSilence = this.#parts.later(() => this.#lose(), this.#silenceMs);
  }

  #sendView(): void {
    const text = this.#view === undefined ? "" : JSON.stringify(this.#view);
    if (!this.#isOpen || this.#view === undefined || text === this.#sentView) return;
    this.#sentView = text;
    this.#send(this.#view);
  }

  #send(message: PageMessage): void {
    this.#socket?.send(JSON.stringify(message));
  }

  #become(connection: Connection): void {
    this.#connection = connection;
    this.#owner.connectionChanged(connection);
  }
}

function parsed(text: string): LiveMessage | undefined {
  try {
    return JSON.parse(text) as LiveMessage;
  } catch {
    // A proxy in between may send anything; important state arrives again within a second.
    return undefined;
  }
}
