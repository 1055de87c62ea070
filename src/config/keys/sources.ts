// The keys of the sources and filters that clients may use.

import { delimiter } from "node:path";
import { SWITCHED_FILTER_NAMES } from "../../filters/filter-settings.ts";
import { flagKey, integerKey, listKey, mapKey, optionalFlagKey, type ReadKey } from "./key.ts";
import { flagType, textType } from "./value-type.ts";

/** Of `tonearm.local.roots`, as the same object where nothing is written. */
export const DEFAULT_ROOTS: readonly string[] = ["."];

const THROUGH_YTDLP = "played through the yt-dlp bridge when plugins.ytdlp is set up";
const NOT_USUAL = "set plugins.ytdlp.path, and add the site to plugins.ytdlp.sites";

/** Sources that Lavalink's forks and former versions had, and what plays their sites here. */
const FORMER_SOURCES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(["mixcloud", "niconico", "odysee", "reddit", "tiktok"].map((name) => [name, THROUGH_YTDLP])),
  ...Object.fromEntries(["clypit", "ocremix", "soundgasm"].map((name) => [name, NOT_USUAL])),
};

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
      memberNames: SWITCHED_FILTER_NAMES,
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
          defaultValue: DEFAULT_ROOTS,
          type: textType,
          separator: delimiter,
        }),
      ),
    },
  };
}

/** The switches of the sources. */
function switchKeys(read: ReadKey) {
  const source = (name: string, meaning: string, defaultValue = true): boolean =>
    read(flagKey(`lavalink.server.sources.${name}`, { meaning, defaultValue }));
  const asked = (name: string, meaning: string): boolean | undefined =>
    read(optionalFlagKey(`lavalink.server.sources.${name}`, { meaning, defaultNote: "not set", example: "true" }));
  const throughYtdlp = (site: string): string => `Ask for ${site}: a warning unless plugins.ytdlp plays it.`;
  return {
    http: source("http", "Play URLs."),
    local: source("local", "Play files of this machine, see tonearm.local.roots.", false),
    bandcamp: source("bandcamp", "Play from Bandcamp."),
    soundcloud: source("soundcloud", "Play from SoundCloud."),
    twitch: source("twitch", "Play from Twitch."),
    /** Undefined: not written. With youtube-plugin it is false, as it means Lavalink's former source. */
    youtube: asked(
      "youtube",
      "Play from YouTube. False, or not set, leaves that to plugins.youtube and to youtube-plugin in lavalink.plugins.",
    ),
    vimeo: asked("vimeo", throughYtdlp("Vimeo")),
    nico: asked("nico", throughYtdlp("Niconico")),
    /** Asked for by these names, see plugin-host/plan/source-report.ts. */
    former: Object.fromEntries(
      Object.entries(FORMER_SOURCES).map(([name, noEffect]) => {
        const docs = { meaning: "Source of former versions.", defaultValue: false, noEffect };
        return [name, read(flagKey(`lavalink.server.sources.${name}`, docs))];
      }),
    ),
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
        meaning: "Pages of a YouTube playlist to load, 100 tracks each. Less than 1 counts as 1, more than 100 as 100.",
        unit: "pages",
        defaultValue: 6,
        min: 0,
        max: 1000,
      }),
    ),
  };
}
