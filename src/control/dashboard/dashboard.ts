// The dashboard as the node builds it: its routes and its WebSocket. Main thread; loaded only where a password for it
// is set. docs/how-to/dashboard.md says what it shows, docs/decisions/dashboard.md why it is so.

import { NodeHistory } from "../../observability/status/node-history.ts";
import type { RestRoute } from "../api/route.ts";
import type { UpgradeTarget } from "../api/upgrade.ts";
import { type DashboardRoutesOptions, dashboardRoutes } from "./dashboard-routes.ts";
import { LiveSocket, type LiveSocketOptions } from "./live-socket.ts";
import { Logins, type LoginsOptions } from "./logins.ts";

/** The output of `npm run build`, relative to this compiled module. */
const FOLDER = new URL("../../../node/dashboard/", import.meta.url);

/** The parts of the dashboard. */
export type DashboardOptions = LoginsOptions &
  Omit<LiveSocketOptions, "logins" | "history"> &
  Pick<DashboardRoutesOptions, "readBundle"> & {
    /** The folder of the built page, if it is not beside the node's programs. */
    readonly folder?: URL;
  };

/** One for the node. */
export class Dashboard {
  readonly routes: readonly RestRoute[];
  readonly upgrades: readonly UpgradeTarget[];
  readonly #live: LiveSocket;
  readonly #history: NodeHistory;

  constructor(options: DashboardOptions) {
    const logins = new Logins(options);
    const { parts, clock } = options;
    const readStats = () => parts.sessions.stats();
    this.#history = new NodeHistory({ clock, readStats, readLoad: () => parts.readLoad() });
    this.#live = new LiveSocket({ ...options, logins, history: this.#history });
    const { folder = FOLDER, readBundle } = options;
    this.routes = dashboardRoutes({ logins, folder, readBundle, isFull: (role) => this.#live.isFull(role) });
    this.upgrades = [this.#live];
  }

  /** Ends open connections. */
  close(): void {
    this.#history.close();
    this.#live.close();
  }
}
