// The fake servers for all sites at once: the configuration with which a node's plugins find them, the identifiers to
// load from each plugin, and all of them hanging at the same time. Runs in the process that starts it.

import { AppleMusicSite } from "./apple-music.ts";
import { AudiusSite } from "./audius.ts";
import { BandcampSite } from "./bandcamp.ts";
import { DeezerSite } from "./deezer.ts";
import { FakeYtDlp } from "./fake-yt-dlp.ts";
import { GetyarnSite } from "./getyarn.ts";
import { JellyfinSite } from "./jellyfin.ts";
import { JioSaavnSite } from "./jiosaavn.ts";
import { LrclibSite } from "./lrclib.ts";
import { PodcastSites } from "./podcasts.ts";
import { RadioBrowserSite } from "./radio-browser.ts";
import { SoundCloudSite } from "./soundcloud.ts";
import { SpeechSites } from "./speech.ts";
import { SponsorBlockSite } from "./sponsorblock.ts";
import { SpotifySite, spotifyId } from "./spotify.ts";
import { SubsonicSite } from "./subsonic.ts";
import { TidalSite } from "./tidal.ts";
import { TwitchSite } from "./twitch.ts";
import { YoutubeSite } from "./youtube.ts";

const YTDLP_SITE = "videos.example";
const YTDLP_VIDEO = { _type: "video", id: "video", title: "Video", webpage_url: `https://${YTDLP_SITE}/video` };

/**
 * Identifiers that cause requests to a site, by the name of the source: a search and a link, where it has both, never
 * the same twice, so that no cache answers. The text-to-speech sources are not among them: they send no request before
 * they are played.
 */
const QUESTIONS: Readonly<Record<string, (number: number) => readonly string[]>> = {
  youtube: (number) => [
    `ytsearch:question ${number}`,
    `ytmsearch:question ${number}`,
    `https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=${number}s`,
  ],
  soundcloud: (number) => [`scsearch:question ${number}`, `https://soundcloud.com/stand-ins/song?question=${number}`],
  bandcamp: (number) => [`bcsearch:question ${number}`, `https://stand-in.bandcamp.com/track/question-${number}`],
  twitch: (number) => [`https://www.twitch.tv/question_${number}`],
  "getyarn.io": (number) => [
    `https://getyarn.io/yarn-clip/${String(number).padStart(8, "0")}-1111-2222-3333-444455556666`,
  ],
  radiobrowser: (number) => [`rbsearch:question ${number}`],
  spotify: (number) => [
    `spsearch:question ${number}`,
    `https://open.spotify.com/track/${spotifyId(number)}`,
    `https://open.spotify.com/playlist/${spotifyId(number)}`,
  ],
  podcast: (number) => [`podcast:question ${number}`, `podcast:https://feeds.example/question-${number}.rss`],
  subsonic: (number) => [`subsearch:question ${number}`, `subsonic:home:question-${number}`],
  jellyfin: (number) => [`jfsearch:question ${number}`],
  applemusic: (number) => [`amsearch:question ${number}`, `https://music.apple.com/us/song/${number + 1}`],
  deezer: (number) => [`dzsearch:question ${number}`, `https://www.deezer.com/track/${number + 1}`],
  tidal: (number) => [`tdsearch:question ${number}`, `https://tidal.com/track/${number}`],
  jiosaavn: (number) => [`jssearch:question ${number}`, `https://www.jiosaavn.com/song/question/question${number}`],
  audius: (number) => [`ausearch:question ${number}`, `https://audius.co/ada/question-${number}`],
  ytdlp: (number) => [`ytdl:https://${YTDLP_SITE}/question-${number}`],
};

/** All of them, with the source that uses them. */
export function siteQuestions(number: number): readonly { readonly source: string; readonly identifier: string }[] {
  return Object.entries(QUESTIONS).flatMap(([source, listOf]) =>
    listOf(number).map((identifier) => ({ source, identifier })),
  );
}

interface FakeSites {
  readonly soundcloud: SoundCloudSite;
  readonly youtube: YoutubeSite;
  readonly bandcamp: BandcampSite;
  readonly twitch: TwitchSite;
  readonly getyarn: GetyarnSite;
  readonly radio: RadioBrowserSite;
  readonly podcasts: PodcastSites;
  readonly speech: SpeechSites;
  readonly spotify: SpotifySite;
  readonly subsonic: SubsonicSite;
  readonly jellyfin: JellyfinSite;
  readonly deezer: DeezerSite;
  readonly appleMusic: AppleMusicSite;
  readonly tidal: TidalSite;
  readonly jiosaavn: JioSaavnSite;
  readonly audius: AudiusSite;
  readonly lrclib: LrclibSite;
  readonly sponsorblock: SponsorBlockSite;
  readonly ytdlp: FakeYtDlp;
}

export class AllSites {
  /** By the name of the real site. */
  readonly each: FakeSites;

  static async start(): Promise<AllSites> {
    return new AllSites({
      soundcloud: await SoundCloudSite.start(),
      youtube: await YoutubeSite.start(),
      bandcamp: await BandcampSite.start(),
      twitch: await TwitchSite.start(),
      getyarn: await GetyarnSite.start(),
      radio: await RadioBrowserSite.start(),
      podcasts: await PodcastSites.start(),
      speech: await SpeechSites.start(),
      spotify: await SpotifySite.start(),
      subsonic: await SubsonicSite.start(),
      jellyfin: await JellyfinSite.start(),
      deezer: await DeezerSite.start(),
      appleMusic: await AppleMusicSite.start(),
      tidal: await TidalSite.start(),
      jiosaavn: await JioSaavnSite.start(),
      audius: await AudiusSite.start(),
      lrclib: await LrclibSite.start(),
      sponsorblock: await SponsorBlockSite.start(),
      ytdlp: await FakeYtDlp.start(),
    });
  }

  private constructor(each: FakeSites) {
    this.each = each;
    each.ytdlp.answerRest({ json: YTDLP_VIDEO });
  }

  /** Arguments for the node. */
  get args(): readonly string[] {
    const { youtube, twitch, speech, subsonic, jellyfin, tidal, lrclib, sponsorblock, ytdlp } = this.each;
    const hosts = Object.values(this.each).map((site) => ("hosts" in site ? site.hosts : {}));
    return [
      ...Object.entries(Object.assign({}, ...hosts)).map(([host, url]) => `--tonearm.hosts.${host}=${url}`),
      ...youtube.options.mediaHosts.map((host) => `--plugins.youtube.mediaHosts=${host}`),
      "--plugins.spotify.enabled=true",
      `--plugins.twitch.playlistServer=${twitch.playlistServer}`,
      ...Object.entries(speech.servers).map(([option, url]) => `--plugins.speech.${option}=${url}`),
      ...serverArgs("subsonic", subsonic),
      ...serverArgs("jellyfin", jellyfin),
      "--plugins.deezer.enabled=true",
      "--plugins.applemusic.enabled=true",
      `--plugins.tidal.clientId=${tidal.clientId}`,
      `--plugins.tidal.clientSecret=${tidal.clientSecret}`,
      "--plugins.jiosaavn.enabled=true",
      "--plugins.audius.enabled=true",
      `--plugins.lrclib.server=${lrclib.url}`,
      `--plugins.sponsorblock.server=${sponsorblock.url}`,
      `--plugins.ytdlp.path=${ytdlp.path}`,
    ];
  }

  /** From now on no request is answered; returns a function that undoes it. */
  hang(): () => void {
    const { soundcloud, youtube, bandcamp, twitch, getyarn, radio, podcasts, speech } = this.each;
    const { spotify, subsonic, jellyfin, deezer, appleMusic, tidal, jiosaavn, audius, ytdlp } = this.each;
    const { lrclib, sponsorblock } = this.each;
    const plain = [soundcloud, radio, podcasts, speech, spotify, deezer, appleMusic, tidal, jiosaavn, audius];
    const servers = plain.map(({ server }) => server);
    const sites = [youtube.site, bandcamp.site, twitch.site, getyarn.site];
    const undo = [
      ...[...servers, ...sites].map((site) => site.fail({ at: /^/, outcome: "hang" })),
      subsonic.fail(".*", "hang"),
      jellyfin.fail(".*", "hang"),
      lrclib.fail(".*", "hang"),
      sponsorblock.fail("hang"),
    ];
    ytdlp.answerRest({ hangs: true });
    return () => {
      for (const restore of undo) restore();
      ytdlp.answerRest({ json: YTDLP_VIDEO });
    };
  }

  async close(): Promise<void> {
    for (const site of Object.values(this.each)) await site.close();
  }
}

/** For a server of the operator's own. */
function serverArgs(
  plugin: string,
  { url, username, password }: { readonly url: string; readonly username: string; readonly password: string },
): readonly string[] {
  return Object.entries({ name: "home", url, username, password }).map(
    ([option, value]) => `--plugins.${plugin}.servers.0.${option}=${value}`,
  );
}
