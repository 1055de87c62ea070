// Asks one client after the other until one succeeds, each endpoint of each client through its own circuit breaker.
// Plugin thread.

import { SourceError, type SourceErrorKind } from "../../src/plugin-api/plugin.ts";
import { BOT_CHECK_REMEDY } from "./bot-check.ts";
import type { ChosenClient, ClientSwitch, Host } from "./chosen-clients.ts";
import type { ClientIdentity } from "./clients.ts";
import type { Endpoint } from "./innertube.ts";
import { FOLLOWED_VERSION } from "./manifest.ts";
import { PrivateVideoError } from "./read-player.ts";

/** One request for the first client that can answer it. */
interface Errand<Value> {
  /** The switch that allows the request. */
  readonly switch: ClientSwitch;
  readonly endpoint: Endpoint;
  /** Whether a client can answer it. */
  readonly isFor: (identity: ClientIdentity) => boolean;
  /** Gets what the request needs from elsewhere; its failure says nothing about the client. */
  readonly prepare?: (identity: ClientIdentity) => Promise<void>;
  readonly ask: (identity: ClientIdentity) => Promise<Value>;
}

const SWITCHED_OFF: Readonly<Record<ClientSwitch, string>> = {
  playback: "Playback is disabled for this client",
  videoLoading: "Video loading is disabled for this client",
  playlistLoading: "Playlist loading is disabled for this client",
  searching: "Searching is disabled for this client",
};

/**
 * The answer of the first client that succeeds. Rejects with a SourceError that lists each client's reason; a private
 * video ends the search.
 */
export async function askInOrder<Value>(
  clients: readonly ChosenClient[],
  errand: Errand<Value>,
  { host, signal }: { readonly host: Host; readonly signal: AbortSignal },
): Promise<Value> {
  const failures: { readonly name: string; readonly error: SourceError }[] = [];
  for (const { identity, switches } of clients.filter(({ identity }) => errand.isFor(identity))) {
    signal.throwIfAborted();
    const { name } = identity;
    try {
      if (!switches[errand.switch]) throw new SourceError("unavailable", SWITCHED_OFF[errand.switch]);
      const backend = host.backend(`${name} ${errand.endpoint}`);
      if (!backend.isOpen) await errand.prepare?.(identity);
      return await backend.run(() => errand.ask(identity));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PrivateVideoError || !(error instanceof SourceError)) throw error;
      host.count(`client-failed-${name}`);
      failures.push({ name, error });
    }
  }
  throw allFailed(failures);
}

/** The kind is what most deserves attention. */
function allFailed(failures: readonly { readonly name: string; readonly error: SourceError }[]): SourceError {
  const order: readonly SourceErrorKind[] = ["unavailable", "unreachable", "busy", "changed"];
  const kinds = failures.map(({ error }) => error.kind);
  const kind = order.findLast((candidate) => kinds.includes(candidate)) ?? "unavailable";
  const reasons = failures.map(({ name, error: { message } }) => {
    return `Client [${name}] failed: ${message.replace(` ${BOT_CHECK_REMEDY}`, "")}`;
  });
  if (reasons.length === 0) reasons.push("None of the configured clients can be asked for it.");
  const remedy = failures.some(({ error }) => error.message.includes(BOT_CHECK_REMEDY)) ? [BOT_CHECK_REMEDY] : [];
  const head = `(yts.version: ${FOLLOWED_VERSION}) All clients failed to load the item.`;
  const retryAfterMs = failures.map(({ error }) => error.retryAfterMs).find((waitMs) => waitMs !== undefined);
  return new SourceError(kind, [head, ...reasons, ...remedy].join("\n\n"), { cause: failures[0]?.error, retryAfterMs });
}
