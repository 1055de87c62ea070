// The shapes of the protocol's objects (protocol-v4.md section 3), for checks of every group.

import {
  aBoolean,
  aNumber,
  anInteger,
  anObject,
  aString,
  exactly,
  expectMatch,
  matching,
  oneOf,
  someText,
} from "./expectation.ts";
import type { Reply } from "./node-client.ts";

const TRACK_INFO = exactly({
  identifier: aString,
  isSeekable: aBoolean,
  author: aString,
  length: anInteger,
  isStream: aBoolean,
  position: anInteger,
  title: aString,
  uri: oneOf(aString, null),
  sourceName: someText,
  artworkUrl: oneOf(aString, null),
  isrc: oneOf(aString, null),
});

export const TRACK = {
  encoded: matching(/^[A-Za-z0-9+/]+=*$/),
  info: TRACK_INFO,
  pluginInfo: anObject,
  userData: anObject,
};

export const PLAYER_STATE = exactly({ time: anInteger, position: anInteger, connected: aBoolean, ping: anInteger });

export const IDLE_PLAYER = exactly({
  guildId: aString,
  track: null,
  volume: 100,
  paused: false,
  state: PLAYER_STATE,
  voice: exactly({ token: "", endpoint: "", sessionId: "", channelId: null }),
  filters: exactly({}),
});

export const STATS = {
  players: anInteger,
  playingPlayers: anInteger,
  uptime: anInteger,
  memory: exactly({ free: anInteger, used: anInteger, allocated: anInteger, reservable: anInteger }),
  cpu: exactly({ cores: anInteger, systemLoad: aNumber, lavalinkLoad: aNumber }),
};

export const EXCEPTION = {
  message: oneOf(aString, null),
  severity: oneOf("common", "suspicious", "fault"),
  cause: someText,
  causeStackTrace: aString,
};

const REASON_PHRASES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  415: "Unsupported Media Type",
  500: "Internal Server Error",
};

/** An error answer with this status, the error object, and this message. */
export function expectError(reply: Reply, status: number, message: unknown = someText): void {
  expectMatch(reply.status, status, "status");
  expectMatch(
    reply.json,
    { timestamp: anInteger, status, error: REASON_PHRASES[status], message, path: aString },
    "body",
  );
}

/** An error answer whose status is one of several that the protocol leaves open. */
export function expectErrorAmong(reply: Reply, statuses: readonly number[]): void {
  expectMatch(reply.status, oneOf(...statuses), "status");
  expectError(reply, reply.status);
}

export function expectStatus(reply: Reply, status: number): void {
  expectMatch(reply.status, status, "status");
}
