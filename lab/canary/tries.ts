// The requests of the canary per source: public items that have existed for years. None could be tried where this was
// written; replace items that are gone or not available in your region with `--tries FILE`. Read by read-tries.ts.

/**
 * The requests of one source. Both are identifiers as clients send them; null: not tried. The track found is played.
 */
export interface SourceTries {
  readonly search?: string | null | undefined;
  /** A link to one track, which is played; without one, the first search result is played. */
  readonly link?: string | null | undefined;
}

/** By the names that `GET /v4/tonearm/sources` has. */
export type Tries = Readonly<Record<string, SourceTries>>;

export const TRIES: Tries = {
  youtube: { search: "ytsearch:me at the zoo", link: "https://www.youtube.com/watch?v=jNQXAC9IVRw" },
  soundcloud: { search: "scsearch:flickermood", link: "https://soundcloud.com/forss/flickermood" },
  bandcamp: { search: "bcsearch:test song", link: "https://youtube-dl.bandcamp.com/track/youtube-dl-test-song" },
  // A channel that is live round the clock.
  twitch: { link: "https://www.twitch.tv/monstercat" },
  "getyarn.io": { link: "https://getyarn.io/yarn-clip/00a2eaf9-a18d-4aea-b600-6e4b19bbe4d1" },
  radiobrowser: { search: "rbsearch:jazz" },
  podcast: { search: "podcast:planet money", link: "podcast:https://feeds.npr.org/510289/podcast.xml" },
  speak: { link: "speak:the canary sings" },
  "flowery-tts": { link: "ftts://the%20canary%20sings" },
  vimeo: { link: "https://vimeo.com/76979871" },
  niconico: { link: "https://www.nicovideo.jp/watch/sm9" },
  ytdlp: { link: "ytdl:https://archive.org/details/testmp3testfile" },
  http: { link: "https://archive.org/download/testmp3testfile/mpthreetest.mp3" },
};
