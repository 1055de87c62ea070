// The Twitch plugin's options and identifier claims, known to the main thread before the plugin's thread starts. Main
// and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const TWITCH_MANIFEST = {
  name: "twitch",
  version: "1.0.0",
  config: {
    clientId: { type: "text", meaning: "client id sent to gql.twitch.tv; without one it is read from www.twitch.tv" },
    deviceId: { type: "text", meaning: "device id sent to gql.twitch.tv; without one it is read with the client id" },
    persistedQueryHash: {
      type: "text",
      default: "ad022ca32220d5523d03a23cbcb5beaa1e0999889c1f8f78f9f2520dafb5cae6",
      meaning: "SHA-256 of Twitch's query StreamMetadata, in hexadecimal; if outdated, a query of our own is used",
    },
    videoQueryHash: {
      type: "text",
      default: "45111672eea2e507f8ba44d101a61862f9c56b11dee09a15634cb75cb9b9084d",
      meaning: "the same of the query VideoMetadata, for past broadcasts",
    },
    clipQueryHash: {
      type: "text",
      default: "2db6a3b20eabf510bd3cf465ae2408834b59eb6b8af89ca73ab1486cacecfb63",
      meaning: "the same of the query ShareClipRenderStatus, for clips",
    },
    playlistServer: { type: "server", meaning: "server to request playlists from instead of https://usher.ttvnw.net" },
  },
  // Twitch refuses playback tokens to programs.
  userAgent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:157.0) Gecko/20100101 Firefox/157.0",
  siteHosts: ["twitch.tv", "ttvnw.net"],
  sources: [
    {
      name: "twitch",
      hosts: ["twitch.tv", "www.twitch.tv", "go.twitch.tv", "m.twitch.tv", "clips.twitch.tv"],
    },
  ],
} as const satisfies BuiltinManifest;
