// The clients that are asked, with their settings: those that the operator names, and ours behind them where those do
// not play reliably. Plugin thread.

import type { PluginHost } from "../../src/plugin-api/plugin.ts";
import {
  CLIENTS,
  type ClientIdentity,
  DEFAULT_CLIENTS,
  DEFAULT_CLIENTS_WITH_LOGIN,
  REMOVED_CLIENTS,
} from "./clients.ts";
import { readIdentities } from "./identity-settings.ts";
import type { YoutubeOptions } from "./manifest.ts";

export type Host = PluginHost<YoutubeOptions>;

type ClientSwitches = YoutubeOptions["clientOptions"][string];
export type ClientSwitch = keyof ClientSwitches;

/** A client, and what the operator lets it be asked for. */
export interface ChosenClient {
  readonly identity: ClientIdentity;
  readonly switches: ClientSwitches;
  /** Ours, behind the operator's. */
  readonly isAdded: boolean;
}

/** Each has four circuit breakers, and a plugin at most 64. */
const CLIENTS_MAX = 14;
const UNKNOWN_MAX = 20;
const ALL_ON: ClientSwitches = { playback: true, videoLoading: true, playlistLoading: true, searching: true };

/** Logs what is unknown, left out, or not expected to play. */
export function chooseClients({ options, log }: Pick<Host, "options" | "log">): ChosenClient[] {
  const { identities, problems } = readIdentities(options);
  for (const problem of problems) log.warn(problem);
  const named = new Set([...options.clients, ...Object.keys(options.clientOptions)]);
  const settled = new Set([...identities.map(({ name }) => name), ...Object.keys(options.clientIdentities)]);
  const notSettled = [...named].filter((name) => !settled.has(name));
  const removed = notSettled.filter((name) => REMOVED_CLIENTS.includes(name));
  if (removed.length > 0) {
    log.warn(
      "options clients and clientOptions: YouTube no longer plays through these clients; they are ignored, remove them",
      {
        clients: removed,
      },
    );
  }
  const unlisted = Object.keys(options.clientIdentities).filter((name) => {
    const isAsked = options.clients.includes(name) || CLIENTS.some((builtIn) => builtIn.name === name);
    return !isAsked && identities.some((one) => one.name === name);
  });
  if (unlisted.length > 0) {
    log.warn("option clientIdentities: new clients are asked only where they are listed in clients", {
      clients: unlisted.slice(0, UNKNOWN_MAX),
    });
  }
  const unknown = notSettled.filter((name) => !removed.includes(name));
  if (unknown.length > 0) {
    log.warn("option clients: unknown YouTube clients are ignored; clientIdentities can define them", {
      clients: unknown.slice(0, UNKNOWN_MAX),
      known: identities.map(({ name }) => name).join(", "),
    });
  }
  const chosen = (names: readonly string[]) =>
    [...new Set(names)].flatMap((name): ChosenClient[] => {
      const identity = identities.find((one) => one.name === name);
      if (identity === undefined) return [];
      return [{ identity, switches: options.clientOptions[name] ?? ALL_ON, isAdded: false }];
    });
  const ours = chosen(options.oauth.enabled ? DEFAULT_CLIENTS_WITH_LOGIN : DEFAULT_CLIENTS);
  if (options.clients.length === 0) return ours;
  const own = chosen(options.clients);
  const added = addedTo(own, ours, { options, log });
  const ownMax = CLIENTS_MAX - added.length;
  if (own.length > ownMax) {
    const left = own.slice(ownMax).map(({ identity: { name } }) => name);
    log.warn(`option clients: at most ${ownMax} clients are asked here; the others are ignored`, {
      clients: left.slice(0, UNKNOWN_MAX),
    });
  }
  return [...own.slice(0, ownMax), ...added];
}

/** It is asked for audio, and its links need the player script. */
export function playsWithScript(client: ChosenClient): boolean {
  return isPlayer(client) && client.identity.needsPlayerScript;
}

/** It is asked for audio. */
export function isPlayer({ identity, switches }: ChosenClient): boolean {
  return identity.abilities.playback && switches.playback;
}

/** Those clients, for one kind of request: the ones that are known to fail at it last. */
export function inOrderFor(clients: readonly ChosenClient[], errand: ClientSwitch): ChosenClient[] {
  const rankOf = ({ identity: { trouble, isLastForLists }, isAdded }: ChosenClient): number => {
    if (trouble?.kind === "dead") return 4;
    const isForLists = errand === "searching" || errand === "playlistLoading";
    if (isForLists && isLastForLists) return 3;
    if (isAdded) return 2;
    return errand === "playback" && trouble?.kind === "cut" ? 1 : 0;
  };
  return clients.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/**
 * Ours that are asked behind the operator's, if none of those is relied on to play. Logs what is not expected to.
 */
function addedTo(
  own: readonly ChosenClient[],
  ours: readonly ChosenClient[],
  { options, log }: Pick<Host, "options" | "log">,
): readonly ChosenClient[] {
  const players = own.filter(isPlayer);
  const isSwitchedOff = players.length === 0 && own.some(({ identity }) => identity.abilities.playback);
  const reasons = players.flatMap((client) => weaknessOf(client, options) ?? []);
  if (isSwitchedOff || reasons.length < players.length) return [];
  const names = new Set(own.map(({ identity: { name } }) => name));
  const missing = ours.filter((client) => {
    return (isPlayer(client) || own.length === 0) && !names.has(client.identity.name);
  });
  const areAdded = !options.clientsOnly;
  const missingNames = missing.map(({ identity: { name } }) => name).join(", ");
  const what = "none of the clients in plugins.youtube.clients plays reliably";
  // Where none is missing, all of ours that are relied on are switched off.
  const switchOn = "switch on the playback of VISIONOS or TV_SAMSUNG in clientOptions";
  const addThem = areAdded
    ? `${missingNames} are tried after them; remove that option for the built-in order, or set clientsOnly to true`
    : `add ${missingNames}, or remove that option for the built-in order`;
  log.warn(`${what}: ${missing.length === 0 ? switchOn : addThem}`, { clients: reasons });
  return areAdded ? missing.map((client) => ({ ...client, switches: switchesAmong(own, client), isAdded: true })) : [];
}

/** Those of a client that is added: what is switched off for all of the operator's clients stays off. */
function switchesAmong(own: readonly ChosenClient[], { switches }: ChosenClient): ClientSwitches {
  if (own.length === 0) return switches;
  const isOn = (errand: ClientSwitch) => switches[errand] && own.some((client) => client.switches[errand]);
  return {
    playback: switches.playback,
    videoLoading: isOn("videoLoading"),
    playlistLoading: isOn("playlistLoading"),
    searching: isOn("searching"),
  };
}

/** Why a client is not relied on, with its name; undefined if it is. */
function weaknessOf({ identity }: ChosenClient, { oauth }: YoutubeOptions): string | undefined {
  const { name, trouble, needsLogin } = identity;
  if (trouble !== undefined) return `${name} (since ${trouble.since} ${trouble.what})`;
  return needsLogin && !oauth.enabled ? `${name} (needs a login: oauth.enabled)` : undefined;
}
