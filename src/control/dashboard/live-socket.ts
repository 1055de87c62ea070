// The dashboard's WebSocket: users who are logged in see the node live, and operators act. Main thread. A viewer costs
// one poll of the node a second; without viewers there is not even a timer.

import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { NodeError } from "../../errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { CLOSE_GOING_AWAY, CLOSE_POLICY } from "../../lib/close-codes.ts";
import { stringifyJson } from "../../lib/json.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Logger } from "../../log/log.ts";
import type { LogRing } from "../../log/log-ring.ts";
import type { NodeHistory } from "../../observability/status/node-history.ts";
import type { UpgradeRequest, UpgradeTarget } from "../api/upgrade.ts";
import type { MachineReports } from "../cluster/machine-reports.ts";
import { watchLiveness } from "../server/socket-liveness.ts";
import { type ActionParts, carryOut } from "./actions.ts";
import { type OtherViews, withOtherMachines } from "./all-machines.ts";
import type {
  DashboardAction,
  DashboardRole,
  LiveMessage,
  PageMessage,
  StateMessage,
  ViewMessage,
} from "./live-messages.ts";
import { type LiveParts, readState } from "./live-state.ts";
import { LogTail } from "./log-tail.ts";
import type { Login, Logins } from "./logins.ts";
import {
  actElsewhere,
  askViews,
  listedCountOf,
  playerActionSchema,
  playerReference,
  TEXT_LENGTH_MAX,
} from "./machine-views.ts";
import { isSameSite } from "./same-site.ts";

const LIVE_PATH = "/dashboard/live";
/** Pages that may be open at one time. */
export const VIEWERS_MAX = 16;
const INTERVAL_MS = 1000;
/** A viewer that does not read gets nothing more until it does; its pings are not answered either. */
const BACKLOG_MAX_BYTES = 1024 * 1024;
const INCOMING_SIZE_MAX_BYTES = 8 * 1024;
/** Message rate of a page: views while the user types, and clicks. Above it the connection ends. */
const MESSAGES = { burst: 60, perSecond: 10 };
/** Actions of one viewer at one time. */
const ACTIONS_MAX = 8;
const ROWS_MAX = 200;

const viewSchema: z.ZodType<ViewMessage> = z.strictObject({
  type: z.literal("view"),
  filter: z.string().max(TEXT_LENGTH_MAX),
  onlyTrouble: z.boolean(),
  offset: z.int().min(0),
  count: z.int().min(1).max(ROWS_MAX),
  focus: playerReference.nullable(),
  allMachines: z.boolean().optional(),
  logLevel: z.enum(["debug", "info", "warn", "error"]).nullable(),
});
const actionSchema: z.ZodType<DashboardAction> = z.discriminatedUnion("kind", [
  playerActionSchema,
  z.strictObject({ kind: z.literal("reloadPlugin"), name: z.string().max(TEXT_LENGTH_MAX) }),
  z.strictObject({ kind: z.literal("drain"), isOn: z.boolean() }),
  z.strictObject({ kind: z.literal("freeAddress"), address: z.string().max(TEXT_LENGTH_MAX) }),
  z.strictObject({ kind: z.literal("freeAllAddresses") }),
]);
const pageMessage: z.ZodType<PageMessage> = z.union([
  viewSchema,
  z.strictObject({ type: z.literal("act"), id: z.int(), action: actionSchema }),
]);

const FIRST_VIEW: ViewMessage = {
  type: "view",
  filter: "",
  onlyTrouble: false,
  offset: 0,
  count: ROWS_MAX,
  focus: null,
  logLevel: null,
};

export interface LiveSocketOptions {
  readonly parts: LiveParts & ActionParts;
  readonly logins: Pick<Logins, "loginOf">;
  readonly history: Pick<NodeHistory, "samples">;
  /** What the other machines of the cluster say of themselves. */
  readonly reports: Pick<MachineReports, "self" | "gone" | "askOthers" | "act">;
  readonly log: LogRing;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tonearm's version. */
  readonly version: string;
}

export class LiveSocket implements UpgradeTarget {
  readonly #options: LiveSocketOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
    maxPayload: INCOMING_SIZE_MAX_BYTES,
  });
  readonly #viewers = new Set<Viewer>();

  constructor(options: LiveSocketOptions) {
    this.#options = options;
  }

  isFor(path: string): boolean {
    return path === LIVE_PATH;
  }

  upgrade({ request, socket, head }: UpgradeRequest, onUpgraded: () => void): void {
    const onError = (): void => {
      socket.destroy();
    };
    socket.on("error", onError);
    void this.#loginOf(request.headers).then((found) => {
      // No await between the check for a free slot and taking it.
      const login = typeof found === "object" && this.isFull(found.role) ? 503 : found;
      if (typeof login === "number") {
        // A socket that has closed in the meantime keeps its listener: an error event without one ends the process.
        refuse(socket, login);
        return;
      }
      if (this.#viewers.size >= VIEWERS_MAX) this.#drop(this.#oldestOfViewers);
      socket.off("error", onError);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        onUpgraded();
        this.#open(webSocket, login);
      });
    });
  }

  /** As many pages are open as may be. An operator takes the place of a viewer's oldest one. */
  isFull(role: DashboardRole): boolean {
    return this.#viewers.size >= VIEWERS_MAX && (role !== "operator" || this.#oldestOfViewers === undefined);
  }

  get #oldestOfViewers(): Viewer | undefined {
    return [...this.#viewers].find(({ role }) => role === "viewer");
  }

  #drop(viewer: Viewer | undefined): void {
    if (viewer === undefined) return;
    this.#viewers.delete(viewer);
    viewer.close();
  }

  close(): void {
    for (const viewer of this.#viewers) viewer.close();
  }

  /** The login of the request, or the status that refuses it. Never rejects. */
  async #loginOf(headers: UpgradeRequest["request"]["headers"]): Promise<Login | number> {
    if (!isSameSite(headers)) return 403;
    const login = await this.#options.logins.loginOf(headers).catch(() => undefined);
    return login ?? 401;
  }

  #open(webSocket: WebSocket, login: Login): void {
    watchLiveness(webSocket, this.#options.clock);
    const viewer = new Viewer(webSocket, login, this.#options);
    this.#viewers.add(viewer);
    webSocket.on("close", () => {
      this.#viewers.delete(viewer);
      viewer.end();
    });
  }
}

/** One open page. */
class Viewer {
  readonly #webSocket: WebSocket;
  readonly #login: Login;
  readonly #options: LiveSocketOptions;
  readonly #messages: TokenBucket;
  readonly #log: LogTail;
  #view = FIRST_VIEW;
  /** What the other machines have answered last, and to which view. */
  #others: (OtherViews & { readonly view: ViewMessage }) | undefined;
  #isAsking = false;
  #actionCount = 0;
  #timer: Timer;

  constructor(webSocket: WebSocket, login: Login, options: LiveSocketOptions) {
    this.#webSocket = webSocket;
    this.#login = login;
    this.#options = options;
    this.#messages = new TokenBucket({ clock: options.clock, ...MESSAGES });
    this.#log = new LogTail(options.log);
    webSocket.on("error", (error) => options.logger.debug("dashboard WebSocket failed", { error }));
    webSocket.on("message", (data, isBinary) => this.#receive(isBinary ? "" : String(data)));
    webSocket.on("ping", (data) => {
      if (!this.#isBacklogged) webSocket.pong(data);
    });
    this.#send({ type: "hello", role: login.role, version: options.version, intervalMs: INTERVAL_MS });
    this.#send({ type: "history", samples: options.history.samples });
    this.#timer = this.#schedule();
    this.#show();
  }

  get role(): DashboardRole {
    return this.#login.role;
  }

  close(): void {
    this.#webSocket.close(CLOSE_GOING_AWAY);
  }

  end(): void {
    this.#timer.cancel();
    this.#log.close();
  }

  #schedule(): Timer {
    return this.#options.clock.after(INTERVAL_MS, () => {
      this.#timer = this.#schedule();
      // A page that stays open does not outlive its login: it asks for the password.
      if (this.#options.clock.epochMs() >= this.#login.untilMs)
        this.#webSocket.close(CLOSE_POLICY, "the login is over");
      else this.#show();
      void this.#ask();
    });
  }

  /** Asks the other machines, if the view is about them and that is not being done. The page gets their first answer at once. */
  async #ask(): Promise<void> {
    const view = this.#view;
    if (view.allMachines !== true || this.#isAsking || this.#isBacklogged) return;
    const { reports, clock } = this.#options;
    this.#isAsking = true;
    const isFirst = this.#others?.view !== view;
    try {
      this.#others = { views: await askViews(reports, view), atMs: clock.epochMs(), view };
    } catch {
      // Too many ask: what was answered last is shown until the next time.
    }
    this.#isAsking = false;
    if (view !== this.#view) await this.#ask();
    else if (isFirst) this.#show();
  }

  get #isBacklogged(): boolean {
    return this.#webSocket.bufferedAmount > BACKLOG_MAX_BYTES;
  }

  #show(): void {
    if (this.#isBacklogged) return;
    this.#send(this.#state());
    const lines = this.#log.take();
    if (lines.length > 0) this.#send({ type: "log", lines });
  }

  #state(): StateMessage {
    const { parts, clock, reports } = this.#options;
    const view = this.#view;
    const others = this.#others;
    if (view.allMachines !== true || others?.view !== view) return readState(parts, view, clock.epochMs());
    const own = readState(parts, { ...view, offset: 0, count: listedCountOf(view) }, clock.epochMs());
    return withOtherMachines(own, others, { self: reports.self, gone: reports.gone, view });
  }

  #receive(text: string): void {
    // Messages of a viewer that is being disconnected are ignored, however long that takes.
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    if (!this.#messages.spend(1)) {
      this.#webSocket.close(CLOSE_POLICY, "too many messages");
      return;
    }
    const message = readMessage(text);
    if (message === undefined) {
      this.#webSocket.close(1007, "not a message of the dashboard");
    } else if (message.type === "view") {
      this.#view = message;
      this.#log.watch(message.logLevel);
      this.#show();
      void this.#ask();
    } else {
      void this.#act(message.id, message.action);
    }
  }

  async #act(id: number, action: DashboardAction): Promise<void> {
    const error = await this.#carryOut(action);
    this.#send({ type: "done", id, error });
    this.#show();
  }

  /** Null, or why not. */
  async #carryOut(action: DashboardAction): Promise<string | null> {
    const { logger, parts, reports } = this.#options;
    if (this.#login.role !== "operator") return "only operators may do this";
    if (this.#actionCount >= ACTIONS_MAX) return "too many actions in progress; wait a moment";
    this.#actionCount++;
    logger.info("dashboard action", { ...action });
    try {
      const isElsewhere = "machineId" in action && action.machineId !== reports.self?.id;
      await (isElsewhere ? actElsewhere(reports, action) : carryOut(parts, action));
      return null;
    } catch (error) {
      if (error instanceof NodeError) return error.message;
      logger.error("dashboard action failed", { error });
      return "an unexpected error inside the node; its log says more";
    } finally {
      this.#actionCount--;
    }
  }

  #send(message: LiveMessage): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.send(stringifyJson(message));
  }
}

function readMessage(text: string): PageMessage | undefined {
  try {
    return pageMessage.parse(JSON.parse(text));
  } catch {
    // No JSON, or of another form: the page never says that.
    return undefined;
  }
}

function refuse(socket: Duplex, status: number): void {
  const lines = [`HTTP/1.1 ${status} Refused`, "Content-Length: 0", "Connection: close", "", ""];
  socket.end(lines.join("\r\n"), () => socket.destroy());
}
