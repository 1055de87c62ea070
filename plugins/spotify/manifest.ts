// The Spotify plugin's options and its source's identifier claims, known before the plugin's thread starts. Plain
// data. Main and plugin threads.

import type { OptionSchema } from "../../src/plugin-api/plugin.ts";
import { ALBUM_FIELDS, type BuiltinManifest, FIREFOX, LAVASRC } from "../builtin-manifest.ts";

/** The hashes of Spotify's own queries by operation, as LavaSrc and NodeLink sent them in 2026; a change is expected. */
const HASHES = {
  getTrack: hashes("of one track", ["612585ae06ba435ad26369870deaae23b5c8800a256cd8a57e08eddc25a37294"]),
  getAlbum: hashes("of an album", ["b9bfabef66ed756e5e13f68a942deb60bd4125ec1f1be8cc42769dc0259b4b10"]),
  fetchPlaylist: hashes("of a playlist", [
    "bb67e0af06e8d6f52b531f97468ee4acd44cd0f82b988e15c2ea47b1148efc77",
    "e4b2953f160e58e38ac025d79b5a9b3aceee5c4c716598e9830bfceb69faff5f",
  ]),
  queryArtistOverview: hashes("of an artist's top tracks", [
    "35648a112beb1794e39ab931365f6ae4a8d45e65396d641eeda94e4003d41497",
    "ae0e2958a4ab645b35ca19ac04d0495ae12d9c5d7b7286217674801a9aab281a",
  ]),
  searchDesktop: hashes("of a search", [
    "fcad5a3e0d5af727fb76966f06971c19cfa2275e6ff7671196753e008611873c",
    "db61238974d27839a136c9dc02bfdbe3fab7635f21cf85976ebff9a1ee281345",
  ]),
  internalLinkRecommenderTrack: hashes("of recommendations", [
    "c77098ee9d6ee8ad3eb844938722db60570d040b49f41f5ec6e7be9160a7c86b",
  ]),
} as const satisfies OptionSchema;

/** The queries that are known to Spotify's web player, by their name there. */
export type Operation = keyof typeof HASHES;

export const SPOTIFY_MANIFEST = {
  name: "spotify",
  version: "1.0.0",
  config: {
    clientId: {
      type: "text",
      meaning:
        "client id of an application of yours (developer.spotify.com), with clientSecret: searches and single tracks" +
        " are then asked from the Web API first, which knows their ISRC",
    },
    clientSecret: { type: "secret", meaning: "secret of that application" },
    preferPartnerApi: {
      type: "flag",
      default: false,
      meaning: "ask the interface of Spotify's web player before its embed pages and the Web API",
    },
    preferV1SearchApi: {
      type: "flag",
      default: false,
      meaning: "with preferPartnerApi: search with the Web API first all the same",
    },
    playlistLoadLimit: {
      type: "integer",
      default: 6,
      min: 0,
      max: 100_000,
      meaning: "pages of 100 tracks that are loaded of a playlist, at least one; 10,000 tracks at most",
    },
    albumLoadLimit: {
      type: "integer",
      default: 6,
      min: 0,
      max: 100_000,
      meaning: "pages of 50 tracks that are loaded of an album, at least one; 10,000 tracks at most",
    },
    localFiles: {
      type: "flag",
      default: false,
      meaning: "load entries of playlists that are files of their owner; they are mirrored by title and artist",
    },
    customTokenEndpoint: {
      type: "server",
      meaning:
        "address of a service of yours that answers with an anonymous token of the web player (spotify-tokener), asked" +
        " before the embed page's token is used",
    },
    totp: {
      type: "flag",
      default: false,
      meaning: "request the web player's token with a one-time password before the embed page's is used",
    },
    totpSecret: {
      type: "text",
      default: "GM3TMMJTGYZTQNZVGM4DINJZHA4TGOBYGMZTCMRTGEYDSMJRHE4TEOBUG4YTCMRUGQ4DQOJUGQYTAMRRGA2TCMJSHE3TCMBY",
      meaning:
        "with totp: what the one-time password is made from, in Base32, the same for everybody; it changes at times",
    },
    totpVersion: { type: "integer", default: 61, min: 1, max: 100_000, meaning: "number of that totpSecret" },
    spDc: { type: "secret", meaning: "with totp: cookie sp_dc of an account, whose token is requested" },
    appVersion: {
      type: "text",
      default: "1.2.87.221.ge160d899",
      meaning: "version of the web player that is named to its interface",
    },
    hashes: {
      type: "group",
      members: HASHES,
      meaning: "SHA-256 of the web player's queries, which names them; the next one is sent when one is unknown",
    },
  },
  userAgent: FIREFOX,
  siteHosts: ["spotify.com", "scdn.co"],
  aliases: LAVASRC,
  sources: [
    {
      name: "spotify",
      prefixes: ["spsearch:", "sprec:", "spprev:", "spotify:"],
      hosts: [
        ...["open.spotify.com", "www.open.spotify.com", "play.spotify.com", "embed.spotify.com"],
        ...["spotify.com", "www.spotify.com", "spotify.link", "spotify.app.link"],
      ],
      fields: ALBUM_FIELDS,
      isMirrored: true,
    },
  ],
  searchProviders: [{ source: "spotify", prefixes: ["spsearch:"] }],
} as const satisfies BuiltinManifest;

function hashes<const Known extends readonly string[]>(what: string, known: Known) {
  return { type: "texts", default: known, meaning: `hashes of the query ${what}, in hexadecimal` } as const;
}
