// Identifiers that the main thread passes to the plugins of sites by their manifests.

import { expect, test } from "vitest";
import { AUDIUS_MANIFEST } from "../../../plugins/audius/manifest.ts";
import { BANDCAMP_MANIFEST } from "../../../plugins/bandcamp/manifest.ts";
import type { BuiltinManifest } from "../../../plugins/builtin-manifest.ts";
import { GETYARN_MANIFEST } from "../../../plugins/getyarn/manifest.ts";
import { JIOSAAVN_MANIFEST } from "../../../plugins/jiosaavn/manifest.ts";
import { TIDAL_MANIFEST } from "../../../plugins/tidal/manifest.ts";
import { TWITCH_MANIFEST } from "../../../plugins/twitch/manifest.ts";
import { isClaimed } from "../../../src/plugin-host/manage/claims.ts";

const MANIFESTS: readonly BuiltinManifest[] = [
  ...[AUDIUS_MANIFEST, BANDCAMP_MANIFEST, GETYARN_MANIFEST, JIOSAAVN_MANIFEST, TIDAL_MANIFEST, TWITCH_MANIFEST],
];
const CLAIMS = MANIFESTS.flatMap(({ sources }) => sources);

test.each([
  ["bcsearch:anything", "bandcamp"],
  ["https://bandcamp.com/track/x", "bandcamp"],
  ["http://artist.bandcamp.com/album/x?y", "bandcamp"],
  ["https://artist.bandcamp.com", "bandcamp"],
  ["https://www.twitch.tv/channel", "twitch"],
  ["https://m.twitch.tv/clip/x", "twitch"],
  ["https://clips.twitch.tv/x", "twitch"],
  ["https://twitch.tv/videos/1", "twitch"],
  ["tdsearch:anything", "tidal"],
  ["tdrec:11", "tidal"],
  ["https://listen.tidal.com/album/1", "tidal"],
  ["tidal.com/browse/track/1?u", "tidal"],
  ["jssearch:anything", "jiosaavn"],
  ["jsprev:https://www.jiosaavn.com/song/x/y", "jiosaavn"],
  ["http://jiosaavn.com/s/playlist/x/y/z", "jiosaavn"],
  ["ausearch:anything", "audius"],
  ["https://audius.co/ada", "audius"],
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
