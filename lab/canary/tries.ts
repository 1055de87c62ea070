// The requests of the canary per source: public items that have existed for years. None could be tried where this was
// written; replace items that are gone or not available in your region with `--tries FILE`, which is read here as well.

import { parse } from "yaml";
import { z } from "zod";

const TEXT_LENGTH_MAX = 64 * 1024;

const MORE_MAX = 20;

const identifier = z.string().min(1).max(4096).nullable().optional();
const request = { search: identifier, link: identifier };
const options = z.record(z.string(), z.json()).optional();
const more = z.strictObject({ ...request, options, mayFailWith: z.string().min(1).max(400).optional() });
const schema = z.record(
  z.string(),
  z.strictObject({ ...request, more: z.array(more).max(MORE_MAX).nullable().optional() }),
);

/** A search, a link, or both: identifiers as clients send them; null: not tried. The track found is played. */
export interface TryRequest {
  readonly search?: string | null | undefined;
  /** A link to one track, which is played; without one, the first search result is played. */
  readonly link?: string | null | undefined;
}

/** A further request of a source. */
export interface FurtherTry extends TryRequest {
  /** Options of the source's plugin while it is tried, as in `PATCH /v4/tonearm/plugins/{name}/options`. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** A part of an error with which the track may fail: a right answer of the site, too. */
  readonly mayFailWith?: string | undefined;
}

/** The requests of one source. */
export interface SourceTries extends TryRequest {
  readonly more?: readonly FurtherTry[] | null | undefined;
}

/** By the source names of `GET /v4/tonearm/sources`. */
export type Tries = Readonly<Record<string, SourceTries>>;

export const TRIES: Tries = {
  youtube: {
    search: "ytsearch:me at the zoo",
    link: "https://www.youtube.com/watch?v=jNQXAC9IVRw",
    more: [
      { search: "ytmsearch:never gonna give you up" },
      { link: "https://www.youtube.com/watch?v=dQw4w9WgXcQ", options: { clients: ["WEBEMBEDDED"], clientsOnly: true } },
    ],
  },
  soundcloud: {
    search: "scsearch:flickermood",
    link: "https://soundcloud.com/forss/flickermood",
    // A label's track: SoundCloud gives it to no player like this one, or its DRM is gone.
    more: [
      { link: "https://soundcloud.com/sanholobeats/an-introduction-to-wholesome", mayFailWith: "protected by DRM" },
    ],
  },
  bandcamp: { search: "bcsearch:test song", link: "https://youtube-dl.bandcamp.com/track/youtube-dl-test-song" },
  // A channel that is live round the clock.
  twitch: { link: "https://www.twitch.tv/monstercat" },
  "getyarn.io": { link: "https://getyarn.io/yarn-clip/00a2eaf9-a18d-4aea-b600-6e4b19bbe4d1" },
  spotify: {
    search: "spsearch:never gonna give you up",
    link: "https://open.spotify.com/track/4cOdK2wGLETKBW3PvgPWqT",
    // The other way without keys, and Spotify's own audio.
    more: [
      { link: "https://open.spotify.com/track/4PTG3Z6ehGkBFwjybzWkR8", options: { preferPartnerApi: true } },
      { link: "spprev:https://open.spotify.com/track/4cOdK2wGLETKBW3PvgPWqT" },
    ],
  },
  radiobrowser: { search: "rbsearch:jazz" },
  podcast: { search: "podcast:planet money", link: "podcast:https://feeds.npr.org/510289/podcast.xml" },
  speak: { link: "speak:the canary sings" },
  "flowery-tts": { link: "ftts://the%20canary%20sings" },
  vimeo: { link: "https://vimeo.com/76979871" },
  niconico: { link: "https://www.nicovideo.jp/watch/sm9" },
  // Words that most libraries of music have.
  subsonic: { search: "subsearch:the" },
  jellyfin: { search: "jfsearch:the" },
  deezer: { search: "dzsearch:daft punk harder better", link: "https://www.deezer.com/track/3135556" },
  applemusic: { search: "amsearch:daft punk around the world", link: "https://music.apple.com/us/song/697195462" },
  tidal: { search: "tdsearch:around the world", link: "https://tidal.com/browse/track/1550546" },
  jiosaavn: { search: "jssearch:leja re", link: "https://www.jiosaavn.com/song/leja-re/OQsEfQFVUXk" },
  audius: { search: "ausearch:radar", link: "https://audius.co/voltra/radar-103692" },
  ytdlp: { search: "ytdl:ytsearch1:me at the zoo", link: "ytdl:https://archive.org/details/testmp3testfile" },
  http: { link: "https://archive.org/download/testmp3testfile/mpthreetest.mp3" },
};

/**
 * Reads an operator's own list of requests, a small YAML or JSON text, and merges it over `base`, member by member.
 * Throws an Error that says what is wrong with it.
 */
export function readTries(text: string, base: Tries): Tries {
  if (text.length > TEXT_LENGTH_MAX) throw new Error(`more than ${TEXT_LENGTH_MAX} characters`);
  const read = schema.safeParse(parse(text) ?? {});
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const own = Object.entries(read.data).map(([name, tries]): [string, SourceTries] => [
    name,
    { ...base[name], ...tries },
  ]);
  return { ...base, ...Object.fromEntries(own) };
}
