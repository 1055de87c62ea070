// Searches with one client after the other, until one finds something or YouTube says that there is nothing. Plugin
// thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { askInOrder } from "./ask-in-order.ts";
import { type ChosenClient, type Host, inOrderFor } from "./chosen-clients.ts";
import type { ClientIdentity } from "./clients.ts";
import type { Innertube } from "./innertube.ts";

interface SearchParts {
  readonly host: Host;
  readonly innertube: Innertube;
  readonly clients: readonly ChosenClient[];
}

interface Search<Found> {
  readonly of: "videos" | "music";
  readonly query: string;
  /** The site's filter. */
  readonly params: string;
  /** `isSure`: whether it is all; otherwise nothing was recognised. */
  readonly read: (answer: unknown) => { readonly found: Found; readonly isSure: boolean };
}

/** Undefined: no client has found anything, and one at least has answered. Rejects as `askInOrder` does. */
export async function searchInOrder<Found>(
  { host, innertube, clients }: SearchParts,
  { of, query, params, read }: Search<Found>,
  signal: AbortSignal,
): Promise<Found | undefined> {
  let hasAnswered = false;
  const ask = async (identity: ClientIdentity): Promise<Found> => {
    const body = { query, params };
    const { found, isSure } = read(await innertube.ask(identity, { endpoint: "search", body, signal }));
    hasAnswered = true;
    if (isSure) return found;
    // Perhaps there is nothing, perhaps this client's answer has a new shape: another one is to say.
    throw new SourceError("unavailable", "nothing was recognised in the search response");
  };
  const errand = {
    switch: "searching",
    endpoint: "search",
    isFor: ({ abilities }: ClientIdentity) => abilities.search === of,
    ask,
  } as const;
  try {
    return await askInOrder(inOrderFor(clients, "searching"), errand, { host, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (hasAnswered) return undefined;
    throw error;
  }
}
