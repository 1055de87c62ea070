// The clients that the operator has chosen, in order and with their settings; tries one after the other until one
// succeeds. Plugin thread.

import { type JsonMembers, type PluginHost, SourceError, type SourceErrorKind } from "../../src/plugin-api/plugin.ts";
import { CLIENTS, type ClientIdentity } from "./clients.ts";
import { FOLLOWED_VERSION, type YoutubeOptions } from "./manifest.ts";
import { PrivateVideoError } from "./read-player.ts";

export type Host = PluginHost<YoutubeOptions>;

type ClientSwitches = YoutubeOptions["clientOptions"][string];

/** A client, and what the operator lets it be asked for. */
export interface ChosenClient {
  readonly identity: ClientIdentity;
  readonly switches: ClientSwitches;
}

/** One request for the first client that can answer it. */
interface Errand<Value> {
  /** The switch that allows the request, and the message if it is off. */
  readonly switch: keyof ClientSwitches;
  /** Whether a client can answer it. */
  readonly isFor: (identity: ClientIdentity) => boolean;
  readonly ask: (identity: ClientIdentity) => Promise<Value>;
}

const SWITCHED_OFF: Readonly<Record<keyof ClientSwitches, string>> = {
  playback: "Playback is disabled for this client",
  videoLoading: "Video loading is disabled for this client",
  playlistLoading: "Playlist loading is disabled for this client",
  searching: "Searching is disabled for this client",
};
const ALL_ON: ClientSwitches = { playback: true, videoLoading: true, playlistLoading: true, searching: true };

/** Unknown names are logged and left out. */
export function chooseClients({ options, log }: Pick<Host, "options" | "log">): ChosenClient[] {
  const known = new Set(CLIENTS.map(({ name }) => name));
  const written = [...options.clients, ...Object.keys(options.clientOptions), ...Object.keys(options.clientIdentities)];
  const unknown = new Set(written.filter((name) => !known.has(name)));
  if (unknown.size > 0) {
    const names = CLIENTS.map(({ name }) => name).join(", ");
    log.warn("option clients: unknown YouTube clients are ignored", {
      clients: [...unknown].slice(0, 20),
      known: names,
    });
  }
  const chosen = [...new Set(options.clients)].flatMap((clientName) => {
    const base = CLIENTS.find(({ name }) => name === clientName);
    if (base === undefined) return [];
    return { identity: replaced(base, options), switches: options.clientOptions[clientName] ?? ALL_ON };
  });
  if (!chosen.some(({ identity }) => identity.abilities.playback && !identity.needsPlayerScript)) {
    log.warn("none of the chosen YouTube clients plays without the player script; VISIONOS would");
  }
  return chosen;
}

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
      return await host
        .backend(`${name} ${errand.switch === "playback" ? "playback" : "metadata"}`)
        .run(() => errand.ask(identity));
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
  const head = `(yts.version: ${FOLLOWED_VERSION}) All clients failed to load the item.`;
  const failureTexts = failures.map(({ name, error }) => `\n\nClient [${name}] failed: ${error.message}`);
  if (failureTexts.length === 0) failureTexts.push("\n\nNone of the configured clients can be asked for it.");
  const retryAfterMs = failures.map(({ error }) => error.retryAfterMs).find((waitMs) => waitMs !== undefined);
  return new SourceError(kind, `${head}${failureTexts.join("")}`, { cause: failures[0]?.error, retryAfterMs });
}

/** With what the operator says it is. */
function replaced(base: ClientIdentity, { clientIdentities }: YoutubeOptions): ClientIdentity {
  const own = clientIdentities[base.name];
  if (own === undefined) return base;
  const { context: members = [], ...plain } = own;
  const set = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined && value !== ""));
  const withUserAgent = own.userAgent !== undefined && "userAgent" in base.context ? { userAgent: own.userAgent } : {};
  return { ...base, ...set, context: { ...base.context, ...withUserAgent, ...readMembers(members) } };
}

function readMembers(members: readonly string[]): JsonMembers {
  const pairs = members.flatMap((text) => {
    const [, name, value = ""] = /^\s*([A-Za-z]\w{0,63})\s*=(.*)$/s.exec(text) ?? [];
    if (name === undefined) return [];
    return [[name, /SdkVersion$/.test(name) && /^\d{1,9}$/.test(value) ? Number(value) : value] as const];
  });
  return Object.fromEntries(pairs);
}
