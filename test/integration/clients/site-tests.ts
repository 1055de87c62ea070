// Tests of real clients, unmodified, that find and play songs of sites, each site a fake on loopback: client by client,
// because each expires the links of its fakes.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
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
