// What the canary tries of each source: public things that have been there for years. None could be tried where this
// was written; what is gone, or not there where you are, is replaced by `--tries FILE`. Read by read-tries.ts.

/** Of one source. Both are identifiers as clients send them; null: not tried. Its sound is that of what was found. */
export interface SourceTries {
  readonly search?: string | null | undefined;
  /** Of one track, which is what is listened to; without one, the first that the search finds is. */
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
