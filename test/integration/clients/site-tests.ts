// Tests of real clients, unmodified, that find and play songs of sites, each site a fake on loopback: client by client,
// because each expires the links of its fakes.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TONES_SECONDS } from "../../../lab/media-files/counted-tones.ts";
import { listTranscodings, SOUNDCLOUD_LABEL_TRANSCODINGS, SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { SpotifySite, spotifyId } from "../../../lab/sites/spotify.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";
import type { RealClient, SearchingDriver } from "./client-driver.ts";
import { runSiteScenario, type StorySite } from "./site-story.ts";

/** Defines the tests of one client; `clientOf` is called when they run, so a `beforeAll` may install the client. */
export function describeSitesWith(name: string, clientOf: () => RealClient<SearchingDriver>): void {
  describe(name, () => {
    let soundcloud: SoundCloudSite;
    let youtube: YoutubeSite;
    let env: TestEnvironment;

    beforeAll(async () => {
      [soundcloud, youtube] = [await SoundCloudSite.start(), await YoutubeSite.start()];
      // Steps so short that the song is not completely in flight when its link expires.
      env = await startSiteTestEnvironment([soundcloud, youtube], ["--plugins.youtube.rangeBytes=65536"]);
    });
    afterAll(async () => {
      env.discord.assertClean();
      await env.close();
      await soundcloud.close();
      await youtube.close();
    });

    const SITES: readonly (readonly [string, () => StorySite])[] = [
      ["soundcloud", () => soundcloudStory(soundcloud)],
      ["youtube", () => youtubeStory(youtube)],
    ];

    it.concurrent.each(SITES)("finds a song of %s and plays it to its end, though its links expire", (_site, storyOf) =>
      runSiteScenario(env, clientOf(), storyOf()),
    );
  });
}

/** Defines the tests of one client with songs of a site without audio, which are played from another. */
export function describeMirrorsWith(name: string, clientOf: () => RealClient<SearchingDriver>): void {
  describe(name, () => {
    let soundcloud: SoundCloudSite;
    let spotify: SpotifySite;
    let env: TestEnvironment;

    beforeAll(async () => {
      [soundcloud, spotify] = [await SoundCloudSite.start(), await SpotifySite.start()];
      addTraps(soundcloud);
      const song = { title: "Song 11", artists: ["The Stand-ins"], lengthMs: TONES_SECONDS * 1000 };
      spotify.addSong({ id: spotifyId(11), ...song });
      const args = ["--plugins.lavasrc.sources.spotify=true", "--plugins.youtube.enabled=false"];
      env = await startSiteTestEnvironment([soundcloud, spotify], args);
    });
    afterAll(async () => {
      env.discord.assertClean();
      await env.close();
      await soundcloud.close();
      await spotify.close();
    });

    it("finds a song of spotify, and plays it from soundcloud to its end", () =>
      runSiteScenario(env, clientOf(), {
        ...soundcloudStory(soundcloud),
        names: ["spotify"],
        found: { title: "Song 11", sourceName: "spotify", identifier: spotifyId(11) },
      }));
  });
}

/** Found by the same words, before the song itself. */
function addTraps(soundcloud: SoundCloudSite): void {
  const song = soundcloud.tracks.get(11);
  soundcloud.tracks.clear();
  const other = { id: 3, username: "Somebody Else", permalink_url: "https://soundcloud.com/somebody-else" };
  soundcloud.addTrack(31, "live", { title: "Song 11 (Live)" });
  soundcloud.addTrack(32, "other", { title: "Song 11", user: other });
  soundcloud.addTrack(33, "part", { title: "Song 11", policy: "SNIP", monetization_model: "SUB_HIGH_TIER" });
  const transcodings = listTranscodings(34, SOUNDCLOUD_LABEL_TRANSCODINGS);
  soundcloud.addTrack(34, "label", { title: "Song 11", media: { transcodings } });
  soundcloud.addTrack(35, "short", { title: "Song 11", full_duration: 5000, duration: 5000 });
  soundcloud.addTrack(11, "song", song);
}

function soundcloudStory({ server }: SoundCloudSite): StorySite {
  return {
    names: ["soundcloud"],
    words: "song 11",
    found: { title: "Song 11", sourceName: "soundcloud", identifier: expect.stringContaining("soundcloud:tracks:11") },
    countLinks: () => server.requests.filter(({ path }) => path.startsWith("/media/soundcloud:tracks:11/")).length,
    expireLinks: () => server.expireLinks(),
  };
}

function youtubeStory(youtube: YoutubeSite): StorySite {
  return {
    names: ["youtube music", "youtube"],
    words: "first song",
    found: { title: "First song", sourceName: "youtube", identifier: "song0000001" },
    countLinks: () => youtube.asked("player").filter(({ body }) => body.videoId === "song0000001").length,
    expireLinks: () => youtube.expireLinks(),
  };
}
