// A whole node before stand-ins for all the sites that Lavalink or its plugins have sources for.

import { countedSong } from "../../lab/media-files/counted-song.ts";
import { BandcampSite } from "../../lab/sites/bandcamp.ts";
import { FakeYtDlp } from "../../lab/sites/fake-yt-dlp.ts";
import { GetyarnSite } from "../../lab/sites/getyarn.ts";
import { SoundCloudSite } from "../../lab/sites/soundcloud.ts";
import { SpeechSites } from "../../lab/sites/speech.ts";
import { TwitchSite } from "../../lab/sites/twitch.ts";
import { YoutubeSite } from "../../lab/sites/youtube.ts";
import type { Stage } from "../../lab/stage/stage.ts";
import { startSiteStage } from "./site-stage.ts";

/** Pages that the stand-in for yt-dlp has a song at. */
export const VIMEO_PAGE = "https://vimeo.com/1001";
export const NICONICO_PAGE = "https://www.nicovideo.jp/watch/sm9";

export interface LavalinkSites {
  readonly stage: Stage;
  /** Address of the film of its clip. */
  readonly filmUrl: string;
  close(): Promise<void>;
}

export async function startLavalinkSites(): Promise<LavalinkSites> {
  const [soundcloud, youtube, bandcamp] = [
    await SoundCloudSite.start(),
    await YoutubeSite.start(),
    await BandcampSite.start(),
  ];
  const [twitch, getyarn, speech] = [await TwitchSite.start(), await GetyarnSite.start(), await SpeechSites.start()];
  const ytDlp = await FakeYtDlp.start();
  const song = { title: "Song", bytes: countedSong({ seconds: 10 }), mimeType: "audio/ogg" };
  for (const page of [VIMEO_PAGE, NICONICO_PAGE]) ytDlp.addSong(page, song);
  const stage = await startSiteStage(
    [soundcloud, youtube, bandcamp, twitch, getyarn],
    [
      `--plugins.twitch.playlistServer=${twitch.playlistServer}`,
      `--plugins.speech.speakServer=${speech.servers.speakServer}`,
      `--plugins.speech.floweryServer=${speech.servers.floweryServer}`,
      `--plugins.ytdlp.path=${ytDlp.path}`,
    ],
  );
  return {
    ...{ stage, filmUrl: getyarn.filmUrl },
    async close() {
      await stage.close();
      for (const site of [soundcloud, youtube, bandcamp, twitch, getyarn, speech, ytDlp]) await site.close();
    },
  };
}
