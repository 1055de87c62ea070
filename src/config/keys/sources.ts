// The keys of what may be played, and with which filters.

import { delimiter } from "node:path";
import { PROTOCOL_FILTER_NAMES } from "../../bridge/filters/filter-settings.ts";
import { flagKey, listKey, mapKey, type ReadKey } from "./key.ts";
import { flagType, textType } from "./value-type.ts";

export function sourceKeys(read: ReadKey) {
  const filters = read(
    mapKey("lavalink.server.filters", {
      meaning:
        "Filters, each true or false; tonearm stands for all of Tonearm's own. A filter that is off is refused " +
        "when a client asks for it.",
      defaultValue: {},
      defaultNote: "all true",
      example: "{ karaoke: false }",
      type: flagType,
      memberNames: [...PROTOCOL_FILTER_NAMES, "tonearm"],
    }),
  );
  return {
    /** Which sources are switched on. */
    sources: {
      http: read(flagKey("lavalink.server.sources.http", { meaning: "Play URLs.", defaultValue: true })),
      local: read(
        flagKey("lavalink.server.sources.local", {
          meaning: "Play files of this machine, see tonearm.local.roots.",
          defaultValue: false,
        }),
      ),
    },
    /** Names of filters switched off, as the protocol spells them (`channelMix`). */
    disabledFilters: Object.keys(filters).filter((name) => filters[name] === false),
    local: {
      /** Folders below which the local source may read. */
      roots: read(
        listKey("tonearm.local.roots", {
          meaning:
            "Folders below which the local source may read; relative ones count from where the node was started. " +
            "In one text, put a colon between them (on Windows a semicolon).",
          defaultValue: ["."],
          type: textType,
          separator: delimiter,
        }),
      ),
    },
  };
}
