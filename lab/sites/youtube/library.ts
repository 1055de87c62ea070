// The made-up videos and playlists of the fake server: one for each error of a video. Runs in the fake server's
// process.

import type { ListedVideo } from "./shapes.ts";

type VideoState =
  | "playable"
  | "live"
  | "upcoming"
  | "private"
  | "removed"
  | "age"
  | "region"
  | "login"
  | "bot-check"
  | "embedding-disabled"
  | "no-reason"
  | "reload-once"
  | "other-video"
  | "no-status";

export interface SiteVideo extends ListedVideo {
  readonly state: VideoState;
}

const SECONDS = 213;

function video(id: string, title: string, state: VideoState = "playable", seconds = SECONDS): SiteVideo {
  return { id, title, author: "Artist - Topic", seconds, state };
}

/** Ids are eleven characters. */
export const VIDEOS: readonly SiteVideo[] = [
  video("song0000001", "First song"),
  video("song0000002", "Second song", "playable", 3725),
  video("song-_00003", "Third song", "playable", 59),
  video("dQw4w9WgXcQ", "Song"),
  { ...video("live0000001", "Radio", "live", 0), author: "Station" },
  video("upcoming001", "Concert", "upcoming"),
  video("private0001", "Secret", "private"),
  video("removed0001", "Gone", "removed"),
  video("agegate0001", "For adults", "age"),
  video("region00001", "Elsewhere", "region"),
  video("login000001", "For members", "login"),
  video("botcheck001", "Guarded", "bot-check"),
  video("noembed0001", "At home only", "embedding-disabled"),
  video("noreason001", "Unplayable", "no-reason"),
  video("reload00001", "Hiccup", "reload-once"),
  video("othervideo1", "Another", "other-video"),
  video("nostatus001", "Nothing said", "no-status"),
];

/** `playabilityStatus` of videos that cannot be played. */
export const STATUSES: Readonly<Partial<Record<VideoState, object>>> = {
  private: { status: "LOGIN_REQUIRED", reason: "This video is private. Sign in if you may see it." },
  removed: { status: "ERROR", reason: "This video has been removed by the uploader" },
  age: { status: "LOGIN_REQUIRED", reason: "This video may be inappropriate for some users." },
  region: {
    status: "UNPLAYABLE",
    reason: "Video unavailable",
    errorScreen: {
      playerErrorMessageRenderer: {
        subreason: { runs: [{ text: "The uploader has not made this video available in your country" }] },
      },
    },
  },
  login: { status: "LOGIN_REQUIRED", reason: "Join this channel" },
  "bot-check": { status: "LOGIN_REQUIRED", reason: "Sign in to confirm you’re not a bot" },
  "embedding-disabled": {
    status: "UNPLAYABLE",
    reason: "Playback on other websites has been disabled by the video owner",
  },
  "no-reason": { status: "UNPLAYABLE" },
  upcoming: { status: "LIVE_STREAM_OFFLINE", reason: "Premieres in 3 hours" },
  "reload-once": { status: "UNPLAYABLE", reason: "The page needs to be reloaded." },
};

/** The n-th entry of the playlists that are made by the number. */
export function numbered(index: number): ListedVideo {
  const id = `n${String(index).padStart(10, "0")}`;
  return { id, title: `Entry ${index}`, author: "Many", seconds: 60 + (index % 600) };
}
