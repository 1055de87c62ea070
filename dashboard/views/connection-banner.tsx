// Says that the connection is lost and the shown data is old, or that the page is older than the node. In the browser.

import { timeOfDay } from "../state/format.ts";
import type { PageState } from "../state/page-state.ts";

/** Nothing while all is well. */
export function ConnectionBanner({ state, retry }: { readonly state: PageState; readonly retry: () => void }) {
  const { connection, firstVersion, version } = state;
  if (connection.kind === "lost" || connection.kind === "refused") {
    return (
      <div class="banner bad" role="alert">
        {connection.kind === "refused" ? (
          <p>
            <strong>The node does not show itself:</strong> {connection.reason}. The page tries again by itself.
          </p>
        ) : (
          <p>
            <strong>Connection to the node lost at {timeOfDay(connection.sinceMs)}.</strong> The page shows the last
            known state. It reconnects by itself.
          </p>
        )}
        <button type="button" onClick={retry}>
          Try now
        </button>
      </div>
    );
  }
  if (version !== firstVersion) {
    return (
      <div class="banner warn" role="alert">
        <p>
          The node is now version {version}; this page is still that of {firstVersion}.
        </p>
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </div>
    );
  }
  return null;
}
