// The properties that every view gets. In the browser.

import type { DashboardAction } from "../../src/control/dashboard/live-messages.ts";
import type { PageStore } from "../live/page-store.ts";
import type { PageRoute } from "../state/page-route.ts";
import type { PageState } from "../state/page-state.ts";

/** An action that needs a confirmation. */
export type AskedAction = DashboardAction | { readonly kind: "downloadSupport" };

/** The properties of each page. */
export interface PageProps {
  readonly store: PageStore;
  readonly known: PageState;
  readonly isLive: boolean;
  /** Viewers see no buttons. */
  readonly canAct: boolean;
  /** `subject` is what it is about, as the page shows it. */
  ask(action: AskedAction, subject: string): void;
  /** To another state of the same page. */
  go(route: PageRoute): void;
}
