// Holds the page's state, notifies its one watcher of changes, and passes requests of the views to the connection. In
// the browser.

import type { DashboardAction, DoneMessage, LiveMessage } from "../../src/control/dashboard/live-messages.ts";
import { NodeClock } from "../state/node-clock.ts";
import { type PageRoute, viewOf } from "../state/page-route.ts";
import {
  type Connection,
  NOTHING_KNOWN,
  type PageState,
  withConnection,
  withMessage,
  withoutLog,
} from "../state/page-state.ts";
import { LiveConnection, type LiveParts } from "./live-connection.ts";

/** One for the life of the page. */
export class PageStore {
  readonly #clock = new NodeClock();
  readonly #now: () => number;
  readonly #connection: LiveConnection;
  #state = NOTHING_KNOWN;
  #logLevel: string | null = null;
  #watch: () => void = () => undefined;

  constructor(parts: LiveParts) {
    this.#now = parts.now;
    this.#connection = new LiveConnection(parts, {
      connectionChanged: (connection) => this.#connectionChanged(connection),
      messageCame: (message) => this.#messageCame(message),
    });
  }

  get state(): PageState {
    return this.#state;
  }

  /** `watch` is called after each change and replaces the previous watcher. */
  watch(watch: () => void): void {
    this.#watch = watch;
  }

  /** Epoch milliseconds of the node, guessed. */
  nodeNow(): number {
    return this.#clock.now(this.#now());
  }

  /** Connects immediately if the user is logged in. */
  connect(): void {
    this.#connection.connect();
  }

  /** The user is no longer logged in. */
  loggedOut(): void {
    this.#connection.loggedOut();
  }

  /** The page that is open now. */
  open(route: PageRoute): void {
    const view = viewOf(route);
    if (view.logLevel !== this.#logLevel) this.#set(withoutLog(this.#state));
    this.#logLevel = view.logLevel;
    this.#connection.setView(view);
  }

  /** Null when it is done, else why not. */
  act(action: DashboardAction): Promise<string | null> {
    return this.#connection.act(action);
  }

  /** Whether the tab can be seen. */
  setHidden(isHidden: boolean): void {
    this.#connection.setHidden(isHidden);
  }

  #connectionChanged(connection: Connection): void {
    this.#set(withConnection(this.#state, connection));
  }

  #messageCame(message: Exclude<LiveMessage, DoneMessage>): void {
    if (message.type === "state") this.#clock.update(message.atMs, this.#now());
    this.#set(withMessage(this.#state, message));
  }

  #set(state: PageState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#watch();
  }
}
