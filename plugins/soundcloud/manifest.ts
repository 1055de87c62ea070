// The SoundCloud plugin's options and its source's identifier claims, known before the plugin's thread starts. Plain
// data. Main and plugin threads.

import { type BuiltinManifest, FIREFOX } from "../builtin-manifest.ts";

export const SOUNDCLOUD_MANIFEST = {
  name: "soundcloud",
  version: "1.0.0",
  config: {
    clientId: {
      type: "secret",
      meaning: "client id for SoundCloud's API; without one, or when it is refused, one is read from soundcloud.com",
    },
    oauthToken: {
      type: "secret",
      meaning: "token of a SoundCloud account (what its web player sends behind `OAuth`), for private and paid tracks",
    },
    searchEnabled: { type: "flag", default: true, meaning: "whether `scsearch:` is answered" },
    filterOutPreviewTracks: {
      type: "flag",
      default: false,
      meaning: "leave out tracks of which only a preview of 30 s is available, and refuse to play them",
    },
    encryptedTracks: {
      type: "choice",
      names: ["last", "hide", "keep"],
      default: "last",
      meaning:
        "where searches have tracks that are protected by DRM, most of which cannot be played: behind the others, nowhere, or as SoundCloud orders them",
    },
    setTracksMax: {
      type: "integer",
      default: 1000,
      min: 1,
      max: 10_000,
      meaning: "tracks of a set, at most; one request for every 50 of them",
    },
    listEntriesMax: {
      type: "integer",
      default: 200,
      min: 1,
      max: 10_000,
      meaning: "entries of a user's tracks, likes or reposts that are loaded; one request for every 200 of them",
    },
  },
  userAgent: FIREFOX,
  siteHosts: ["soundcloud.com", "sndcdn.com", "soundcloud.cloud"],
  sources: [
    {
      name: "soundcloud",
      prefixes: ["scsearch:", "scsearch[", "soundcloud:tracks:", "soundcloud:playlists:"],
      hosts: [
        "soundcloud.com",
        "www.soundcloud.com",
        "m.soundcloud.com",
        "on.soundcloud.com",
        "w.soundcloud.com",
        "api.soundcloud.com",
        "api-v2.soundcloud.com",
        "soundcloud.app.goo.gl",
      ],
    },
  ],
  searchProviders: [{ source: "soundcloud", prefixes: ["scsearch:"] }],
} as const satisfies BuiltinManifest;
