// The keys of what may be played, and with which filters.

import { delimiter } from "node:path";
import { PROTOCOL_FILTER_NAMES } from "../../filters/filter-settings.ts";
import { flagKey, integerKey, listKey, mapKey, type ReadKey } from "./key.ts";
import { flagType, textType } from "./value-type.ts";

const THROUGH_YTDLP = "played through the yt-dlp bridge when plugins.ytdlp is set up";

export function sourceKeys(read: ReadKey) {
  const filters = read(
    mapKey("lavalink.server.filters", {
      meaning:
        "Filters, each true or false; tonearm stands for all of Tonearm's. Requests for a disabled " +
        "filter are refused.",
      defaultValue: {},
      defaultNote: "all true",
      example: "{ karaoke: false }",
      type: flagType,
      memberNames: [...PROTOCOL_FILTER_NAMES, "tonearm"],
    }),
  );
  return {
    sources: switchKeys(read),
    soundcloud: soundcloudKeys(read),
    youtube: youtubeKeys(read),
    /** Names of filters switched off, as the protocol spells them (`channelMix`). */
    disabledFilters: Object.keys(filters).filter((name) => filters[name] === false),
    local: {
      /** Folders below which the local source may read. */
      roots: read(
        listKey("tonearm.local.roots", {
          meaning:
            "Folders the local source may read, relative to the folder the node was started in. In one text, " +
            "separate them by colons (on Windows by semicolons).",
          defaultValue: ["."],
          type: textType,
          separator: delimiter,
        }),
      ),
    },
  };
}

/** Which sources are switched on. */
function switchKeys(read: ReadKey) {
  const source = (name: string, meaning: string, docs: { defaultValue: boolean; noEffect?: string }): boolean =>
    read(flagKey(`lavalink.server.sources.${name}`, { meaning, ...docs }));
  return {
    http: source("http", "Play URLs.", { defaultValue: true }),
    local: source("local", "Play files of this machine, see tonearm.local.roots.", { defaultValue: false }),
    bandcamp: source("bandcamp", "Play from Bandcamp.", { defaultValue: true }),
    soundcloud: source("soundcloud", "Play from SoundCloud.", { defaultValue: true }),
    twitch: source("twitch", "Play from Twitch.", { defaultValue: true }),
    /** Lavalink's former source, which is off wherever its plugin is used. Our plugin has its own switch. */
    youtube: source("youtube", "YouTube by Lavalink's former source.", {
      defaultValue: true,
      noEffect: "use plugins.youtube.enabled",
    }),
    vimeo: source("vimeo", "Vimeo.", { defaultValue: true, noEffect: THROUGH_YTDLP }),
    nico: source("nico", "Niconico.", { defaultValue: false, noEffect: THROUGH_YTDLP }),
  };
}

function soundcloudKeys(read: ReadKey) {
  return {
    isSearchEnabled: read(
      flagKey("lavalink.server.soundcloudSearchEnabled", { meaning: "Allow scsearch:.", defaultValue: true }),
    ),
    /** Tracks that are available only as a preview are not found. */
    isPreviewLeftOut: read(
      flagKey("lavalink.server.soundcloudFilterOutPreviewTracks", {
        meaning: "Omit tracks that are only available as a preview.",
        defaultValue: false,
      }),
    ),
  };
}

function youtubeKeys(read: ReadKey) {
  return {
    playlistPagesMax: read(
      integerKey("lavalink.server.youtubePlaylistLoadLimit", {
        meaning: "Pages of a YouTube playlist to load, 100 tracks each.",
        unit: "pages",
        defaultValue: 6,
        min: 0,
        max: 1000,
      }),
    ),
  };
}
