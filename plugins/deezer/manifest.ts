// What the main thread knows of the Deezer plugin before its thread starts. Plain data. Main and plugin threads.

import { ALBUM_FIELDS, type BuiltinManifest, LAVASRC } from "../builtin-manifest.ts";

export const DEEZER_MANIFEST = {
  name: "deezer",
  version: "1.0.0",
  // LavaSrc's options are about decrypting Deezer's audio, which this plugin does not do.
  config: {},
  siteHosts: ["deezer.com", "dzcdn.net"],
  aliases: LAVASRC,
  sources: [
    {
      name: "deezer",
      isMirrored: true,
      fields: ALBUM_FIELDS,
      prefixes: ["dzsearch:", "dzisrc:", "dzrec:", "dzprev:"],
      hosts: [
        ...["deezer.com", "www.deezer.com", "m.deezer.com", "widget.deezer.com"],
        ...["link.deezer.com", "deezer.page.link", "dzr.page.link"],
      ],
    },
  ],
  searchProviders: [{ source: "deezer", prefixes: ["dzsearch:"] }],
} as const satisfies BuiltinManifest;
