// Applies the option `clientIdentities`: changes the built-in clients, and adds clients under new names. Plugin thread.

import type { JsonMembers } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { BROWSER, CLIENTS, type ClientAbilities, type ClientIdentity } from "./clients.ts";
import { BUILT_IN, type YoutubeOptions } from "./manifest.ts";

type IdentitySettings = YoutubeOptions["clientIdentities"][string];

interface Identities {
  readonly identities: readonly ClientIdentity[];
  /** For the operator: each names the option and says what to do. */
  readonly problems: readonly string[];
}

/** The name is part of the names of circuit breakers and counters. */
const NAME = /^[\w-]{1,40}$/;

/** All clients that there are. Settings that cannot be applied are left out. */
export function readIdentities({ clientIdentities }: Pick<YoutubeOptions, "clientIdentities">): Identities {
  const problems: string[] = [];
  const builtIn = CLIENTS.map((base) => {
    const own = clientIdentities[base.name];
    return own === undefined ? base : changed(base, own, problems);
  });
  const added = Object.entries(clientIdentities)
    .filter(([name]) => !CLIENTS.some((base) => base.name === name))
    .flatMap(([name, own]) => newIdentity(name, own, problems) ?? []);
  return { identities: [...builtIn, ...added], problems };
}

function newIdentity(name: string, own: IdentitySettings, problems: string[]): ClientIdentity | undefined {
  const { clientName, clientNumber, clientVersion } = own;
  const missing = Object.entries({ clientName, clientNumber, clientVersion }).filter(([, value]) => !value);
  if (!NAME.test(name)) {
    problems.push(
      "clientIdentities: expected a name of 1 to 40 letters, digits, dashes and underscores; one is ignored",
    );
    return undefined;
  }
  if (!clientName || !clientVersion || clientNumber === undefined) {
    const names = missing.map(([member]) => member).join(", ");
    problems.push(`clientIdentities.${name} is not a built-in client; to add it, also set ${names}; it is ignored`);
    return undefined;
  }
  return changed({ ...BROWSER, name, clientName, clientNumber, clientVersion }, own, problems);
}

function changed(base: ClientIdentity, own: IdentitySettings, problems: string[]): ClientIdentity {
  const { context = [], playerParams, playback, videos, playlists, mixes, search, embedUrl, ...plain } = own;
  const isPageWrong = embedUrl !== undefined && webAddressIn(embedUrl) === undefined;
  if (isPageWrong) problems.push(`clientIdentities.${base.name}.embedUrl: expected an http or https address; ignored`);
  const abilities: Partial<ClientAbilities> = written({ playback, videos, playlists, mixes, search });
  // What was known is known of the values that were built in.
  const isOther = own.clientName !== undefined || own.clientVersion !== undefined;
  return {
    ...base,
    ...written({ ...plain, embedUrl: isPageWrong ? undefined : embedUrl }),
    ...(playerParams !== BUILT_IN && { playerParams: playerParams || undefined }),
    abilities: { ...base.abilities, ...abilities },
    context: changedContext(base.context, own.userAgent, context),
    trouble: isOther ? undefined : base.trouble,
  };
}

/** An empty value removes the member. */
function changedContext(
  base: ClientIdentity["context"],
  userAgent: string | undefined,
  members: readonly string[],
): JsonMembers {
  const withUserAgent = userAgent !== undefined && "userAgent" in base ? { userAgent } : {};
  const all = Object.entries({ ...base, ...withUserAgent, ...readMembers(members) });
  return Object.fromEntries(all.filter(([, value]) => value !== ""));
}

function readMembers(members: readonly string[]): JsonMembers {
  const pairs = members.flatMap((text) => {
    const [, name, value = ""] = /^\s*([A-Za-z]\w{0,63})\s*=(.*)$/s.exec(text) ?? [];
    if (name === undefined) return [];
    return [[name, /SdkVersion$/.test(name) && /^\d{1,9}$/.test(value) ? Number(value) : value] as const];
  });
  return Object.fromEntries(pairs);
}

function written<Members extends object>(members: Members): { [Name in keyof Members]?: NonNullable<Members[Name]> } {
  const set = Object.entries(members).filter(([, value]) => value !== undefined && value !== "");
  // The members keep their names and types.
  return Object.fromEntries(set) as { [Name in keyof Members]?: NonNullable<Members[Name]> };
}
