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
      meaning: "SHA-256 of Twitch's query StreamMetadata, in hexadecimal; changes when Twitch changes that query",
    },
    videoQueryHash: {
      type: "text",
      default: "45111672eea2e507f8ba44d101a61862f9c56b11dee09a15634cb75cb9b9084d",
      meaning: "the same of the query VideoMetadata, for past broadcasts",
    },
    clipQueryHash: {
      type: "text",
      default: "1844261bb449fa51e6167040311da4a7a5f1c34fe71c71a3e0c4f551bc30c698",
      meaning: "the same of the query ShareClipRenderStatus, for clips",
    },
    playlistServer: { type: "server", meaning: "server to request playlists from instead of https://usher.ttvnw.net" },
  },
  siteHosts: ["twitch.tv", "ttvnw.net"],
  sources: [
    {
      name: "twitch",
      hosts: ["twitch.tv", "www.twitch.tv", "go.twitch.tv", "m.twitch.tv", "clips.twitch.tv"],
    },
  ],
} as const satisfies BuiltinManifest;
