// What a plugin does with sessions and players: its listeners, the handles of players, and events for clients. Checks
// what the plugin passes, which may be anything. Plugin thread; one for each life of a plugin.

import { MARKERS_MAX } from "../../../bridge/markers.ts";
import {
  OWN_EVENT_TYPES,
  type OwnGuildState,
  type OwnNodeEvent,
  type PlayerWish,
  type SentEvent,
  type ToldEvent,
  type WishResults,
} from "../../../bridge/plugin-players.ts";
import { Owners } from "../../../lib/owners.ts";
import type {
  ClientEvent,
  GuildState,
  Json,
  JsonMembers,
  NodeEvent,
  PlayedTrack,
  PlayerChange,
  PlayerHandle,
  PluginLogger,
  TrackMarker,
} from "../../../plugin-api/plugin.ts";
import type { Track } from "../../../track/track.ts";
import { runWork } from "../current-work.ts";
import { plainJson } from "../plain-json.ts";
import { toSourceTrack } from "../written-answer.ts";

const LISTENERS_MAX = 20;
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const GUILD_ID = /^-?\d{1,20}$/;
/** The node's own are shorter. */
const SESSION_ID_LENGTH_MAX = 100;
const EVENT_LENGTH_MAX = 64 * 1024;
const KEPT_LENGTH_MAX = 4096;
const NOTE_LENGTH_MAX = 1024;
const VOLUME_MAX = 1000;
/** Members of every event, which are the node's. */
const OWN_MEMBERS = ["op", "type", "guildId"];

type Listener = (event: NodeEvent) => void;
type Wish<Kind extends PlayerWish["kind"]> = Extract<PlayerWish, { readonly kind: Kind }>;

export interface HostPlayersOptions {
  readonly log: PluginLogger;
  /** Asks the main thread. Rejects with its error, and after the time limit. */
  readonly ask: <Kind extends PlayerWish["kind"]>(wish: Wish<Kind>) => Promise<WishResults[Kind]>;
  readonly send: (event: SentEvent) => void;
}

export class HostPlayers {
  readonly #options: HostPlayersOptions;
  readonly #listeners: Listener[] = [];
  /** What they have started and has not ended; none of it rejects. */
  readonly #running = new Set<Promise<void>>();

  constructor(options: HostPlayersOptions) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#listeners.length > 0;
  }

  /** Throws an Error for what is no listener, or one too many. */
  addListener(listener: Listener): void {
    if (typeof listener !== "function") throw new Error("onEvent: the listener has to be a function");
    if (this.#listeners.length >= LISTENERS_MAX) throw new Error(`more than ${LISTENERS_MAX} listeners`);
    this.#listeners.push(listener);
  }

  /** Calls the listeners with each event. What they throw or reject with is in the log. */
  tell(events: readonly ToldEvent[]): void {
    for (const { event, owner } of events) {
      const told = toldEvent(event);
      for (const listener of this.#listeners) {
        const work = { depth: 1, owners: new Owners(owner), route: undefined };
        // A listener may be an async function, whatever its type says.
        const running = runWork(work, async () => listener(told))
          .catch((error: unknown) => {
            this.#options.log.error("a listener failed: unexpected error in its plugin", { event: event.type, error });
          })
          .finally(() => this.#running.delete(running));
        this.#running.add(running);
      }
    }
  }

  /** Resolves when what the listeners have started so far has ended, which may be never. */
  async quiet(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Throws an Error for what are no ids. */
  handle(sessionId: string, guildId: string): PlayerHandle {
    const of = checkedIds({ sessionId, guildId }, (what) => new Error(`player: ${what}`));
    const { ask } = this.#options;
    return {
      ...of,
      state: async () => toldState(await ask({ kind: "state", ...of })),
      setMarkers: async (playId, markers) => {
        return ask({ kind: "setMarkers", ...of, playId, markers: checkedMarkers(markers) });
      },
      update: async (change) => ask({ kind: "update", ...of, change: checkedChange(change) }),
      keep: async (value) => {
        const json = value === undefined ? undefined : JSON.stringify(plainJson(value, KEPT_LENGTH_MAX));
        return ask({ kind: "keep", ...of, json });
      },
    };
  }

  /** Throws an Error for an event that is none, or that only the node sends. */
  sendEvent({ sessionId, guildId, type, members }: ClientEvent): void {
    const wrong = (what: string): Error => new Error(`sendEvent: ${what}`);
    if (typeof type !== "string" || !EVENT_TYPE.test(type)) throw wrong("a type is 1 to 64 letters and digits");
    if (OWN_EVENT_TYPES.has(type)) throw wrong(`only the node itself sends ${type}`);
    if (typeof members !== "object" || members === null || Array.isArray(members)) throw wrong("members is an object");
    const plain = plainJson(members, EVENT_LENGTH_MAX) as JsonMembers; // of members
    const own = OWN_MEMBERS.find((name) => Object.hasOwn(plain, name));
    if (own !== undefined) throw wrong(`the member ${own} is the node's own`);
    this.#options.send({ ...checkedIds({ sessionId, guildId }, wrong), eventType: type, members: plain });
  }
}

function checkedIds(
  { sessionId, guildId }: Pick<ClientEvent, "sessionId" | "guildId">,
  wrong: (what: string) => Error,
): Pick<SentEvent, "sessionId" | "guildId"> {
  if (typeof sessionId !== "string" || sessionId.length > SESSION_ID_LENGTH_MAX) throw wrong("sessionId is a text");
  if (typeof guildId !== "string" || !GUILD_ID.test(guildId)) throw wrong("guildId is a text of 1 to 20 digits");
  return { sessionId, guildId };
}

function toldEvent(event: OwnNodeEvent): NodeEvent {
  if (!("track" in event)) return event;
  return { ...event, track: playedTrack(event.track), mirror: event.mirror && playedTrack(event.mirror) };
}

function toldState(state: OwnGuildState | undefined): GuildState | undefined {
  const { player } = state ?? {};
  if (state === undefined || player === undefined) return state && { kept: state.kept, player: undefined };
  const { playing } = player;
  const told = playing && {
    ...playing,
    track: playedTrack(playing.track),
    mirror: playing.mirror && playedTrack(playing.mirror),
  };
  return { kept: state.kept, player: { ...player, playing: told } };
}

function playedTrack(track: Track): PlayedTrack {
  return { ...toSourceTrack(track), sourceName: track.info.sourceName, encoded: track.encoded };
}

function checkedMarkers(markers: readonly TrackMarker[]): TrackMarker[] {
  if (!Array.isArray(markers) || markers.length > MARKERS_MAX) {
    throw new Error(`setMarkers: markers is a list of at most ${MARKERS_MAX}`);
  }
  return markers.map(({ positionMs, skipToMs, note = null }: TrackMarker) => {
    const times = skipToMs === undefined ? [positionMs] : [positionMs, skipToMs];
    if (!times.every(isTime)) throw new Error("setMarkers: positions are milliseconds of track time, 0 or more");
    return { positionMs, skipToMs, note: plainJson(note, NOTE_LENGTH_MAX) };
  });
}

function checkedChange({ playId, positionMs, isPaused, volume, isStopped }: PlayerChange): PlayerChange {
  const wrong = (what: string): Error => new Error(`update: ${what}`);
  if (positionMs !== undefined && !isTime(positionMs)) throw wrong("positionMs is 0 or more");
  if (volume !== undefined && !(Number.isInteger(volume) && volume >= 0 && volume <= VOLUME_MAX)) {
    throw wrong(`volume is a whole number from 0 to ${VOLUME_MAX}`);
  }
  if (![isPaused, isStopped].every((flag) => flag === undefined || typeof flag === "boolean")) {
    throw wrong("isPaused and isStopped are true or false");
  }
  return { playId, positionMs, isPaused, volume, isStopped };
}

function isTime(ms: Json): ms is number {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
}
