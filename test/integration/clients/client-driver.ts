// The driver interface that the common scenario (story.ts) uses for each real client: the few calls that every bot
// makes to its library. A driver calls the library as its documentation says, and nothing else.

import type { RawPacket, VoiceStateRequest } from "../../support/fake-shard.ts";

/** Where a client finds its node and its Discord. */
export interface ClientBinding {
  readonly host: string;
  readonly port: number;
  readonly password: string;
  readonly userId: string;
  readonly guildId: string;
  readonly channelId: string;
  /** To Discord's main gateway, as the bot's shard would. */
  readonly send: (payload: VoiceStateRequest) => void;
  /** Called with the events that the library reports to its bot. */
  readonly report: (event: ClientEvent) => void;
}

/**
 * `ready`: the node can be used, again after each new connection. `resumed`: it kept the session. `lost`: the library
 * does not try to connect again. Only clients that search sites report `exception` and `stuck`.
 */
export type ClientEvent = "ready" | "resumed" | "start" | "update" | "end" | "exception" | "stuck" | "lost";

export interface LoadedTrack {
  readonly title: string;
  readonly lengthMs: number;
}

export interface ClientDriver {
  /** Starts to connect; `ready` reports success. */
  connect(): Promise<void>;
  sessionId(): Promise<string>;
  /** Loads a URL and keeps the track for `play`. */
  load(url: string): Promise<LoadedTrack>;
  /** Makes the player and asks Discord for the voice channel. */
  join(): Promise<void>;
  play(): Promise<void>;
  pause(isPaused: boolean): Promise<void>;
  seek(positionMs: number): Promise<void>;
  setVolume(percent: number): Promise<void>;
  setEqualizer(bands: readonly EqualizerBand[]): Promise<void>;
  /** Ends the player and leaves the channel. */
  destroy(): Promise<void>;
  receive(packet: RawPacket): void;
  /** Ends the client; may be called at any time. */
  close(): Promise<void>;
}

/** Sites that libraries have names for. */
export type SearchedSite = "soundcloud" | "spotify" | "youtube" | "youtube music";

export interface FoundTrack {
  readonly title: string;
  readonly sourceName: string;
  readonly identifier: string;
}

/** A driver whose library can search sites. */
export interface SearchingDriver extends ClientDriver {
  /** Searches there by the library's own name for it, once the player is made, and keeps the first for `play`. */
  search(site: SearchedSite, words: string): Promise<FoundTrack>;
}

export interface EqualizerBand {
  readonly band: number;
  readonly gain: number;
}

/**
 * The client's own reaction to a dropped connection: it resumes its session, creates its players again in another
 * session, or does neither.
 */
export type AfterDrop = "resumes" | "starts over" | "gives up";

export interface RealClient<Driver extends ClientDriver = ClientDriver> {
  /** Name on its registry. */
  readonly name: string;
  readonly afterDrop: AfterDrop;
  readonly create: (binding: ClientBinding) => Driver | Promise<Driver>;
}
