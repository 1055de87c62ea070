// Identifiers that the main thread passes to the plugins of Bandcamp, Twitch and getyarn.io by their manifests.

import { expect, test } from "vitest";
import { BANDCAMP_MANIFEST } from "../../../plugins/bandcamp/manifest.ts";
import { GETYARN_MANIFEST } from "../../../plugins/getyarn/manifest.ts";
import { TWITCH_MANIFEST } from "../../../plugins/twitch/manifest.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";

const CLAIMS = [BANDCAMP_MANIFEST, GETYARN_MANIFEST, TWITCH_MANIFEST].flatMap(({ sources }) => [...sources]);

test.each([
  ["bcsearch:anything", "bandcamp"],
  ["https://bandcamp.com/track/x", "bandcamp"],
  ["http://artist.bandcamp.com/album/x?y", "bandcamp"],
  ["https://artist.bandcamp.com", "bandcamp"],
  ["https://www.twitch.tv/channel", "twitch"],
  ["https://m.twitch.tv/clip/x", "twitch"],
  ["https://clips.twitch.tv/x", "twitch"],
  ["https://twitch.tv/videos/1", "twitch"],
  ["getyarn.io/yarn-clip/1", "getyarn.io"],
  ["https://www.getyarn.io/yarn-clip/1", "getyarn.io"],
])("%s is passed to %s and to no other", (identifier, name) => {
  expect(CLAIMS.filter((claims) => isClaimed(identifier, claims)).map((claims) => claims.name)).toEqual([name]);
});

test.each(["ytsearch:x", "https://xbandcamp.com/track/x", "https://twitch.tv.example/x", "channel", "dQw4w9WgXcQ"])(
  "%s is passed to none of the plugins",
  (identifier) => {
    expect(CLAIMS.filter((claims) => isClaimed(identifier, claims))).toEqual([]);
  },
);
