// `lavalink.server`: password, sources, filters and what playing sounds like.

import { FILTER_NAMES } from "../../bridge/filter-names.ts";
import { choiceKey, flagKey, integerKey, mapKey, secretKey, textKey } from "../key.ts";
import type { NodeConfig, SourceName } from "../node-config.ts";
import { defineSection, type SectionValues } from "../section.ts";
import { flagType } from "../value-type.ts";

const NO_YOUTUBE = "there is no YouTube source yet";
const COMPRESSED_BUFFER = "sound is buffered compressed and decoded just in time; see tonearm.buffer";

export const lavalinkServerSection = defineSection("lavalink.server", {
  password: secretKey({
    meaning: "What clients must send as Authorization header. Unset: a new one at every start, printed once.",
    defaultNote: "generated",
    example: "a long text that nobody guesses",
  }),
  playerUpdateInterval: integerKey({
    meaning: "How often clients are told a player's position.",
    unit: "seconds",
    defaultValue: 5,
    min: 1,
    max: 3600,
  }),
  trackStuckThresholdMs: integerKey({
    meaning: "Silence of a playing track after which clients get TrackStuckEvent.",
    unit: "milliseconds",
    defaultValue: 10_000,
    min: 100,
    max: 3_600_000,
    outsideValue: 10_000,
  }),
  opusEncodingQuality: integerKey({
    meaning: "Effort of the Opus encoder; 10 sounds best and costs most.",
    defaultValue: 10,
    min: 0,
    max: 10,
    outsideValue: 10,
  }),
  "sources.http": flagKey({ meaning: "Play URLs.", defaultValue: true }),
  "sources.local": flagKey({ meaning: "Play files of this machine, see tonearm.local.roots.", defaultValue: false }),
  "sources.youtube": flagKey({ meaning: "YouTube.", defaultValue: true, noEffect: NO_YOUTUBE }),
  "sources.bandcamp": flagKey({ meaning: "Bandcamp.", defaultValue: true, noEffect: "there is no such source yet" }),
  "sources.soundcloud": flagKey({
    meaning: "SoundCloud.",
    defaultValue: true,
    noEffect: "there is no such source yet",
  }),
  "sources.twitch": flagKey({ meaning: "Twitch.", defaultValue: true, noEffect: "there is no such source yet" }),
  "sources.vimeo": flagKey({ meaning: "Vimeo.", defaultValue: true, noEffect: "there is no such source yet" }),
  "sources.nico": flagKey({ meaning: "Niconico.", defaultValue: false, noEffect: "there is no such source yet" }),
  filters: mapKey({
    meaning:
      "Filters, each true or false; tonearm stands for all of Tonearm's own. A filter that is off is refused when a client asks for it.",
    defaultValue: {},
    defaultNote: "all true",
    example: "{ karaoke: false }",
    type: flagType,
    memberNames: [...FILTER_NAMES, "tonearm"],
  }),
  nonAllocatingFrameBuffer: flagKey({
    meaning: "Reuse memory for decoded frames.",
    defaultValue: false,
    noEffect: "memory is always reused",
  }),
  bufferDurationMs: integerKey({
    meaning: "Size of the native send buffer.",
    unit: "milliseconds",
    defaultValue: 400,
    min: -1_000_000,
    max: 1_000_000,
    noEffect: COMPRESSED_BUFFER,
  }),
  frameBufferDurationMs: integerKey({
    meaning: "Sound decoded in advance.",
    unit: "milliseconds",
    defaultValue: 5000,
    min: 200,
    max: 1_000_000,
    outsideValue: 5000,
    noEffect: COMPRESSED_BUFFER,
  }),
  resamplingQuality: choiceKey({
    meaning: "Quality of the resampler.",
    names: ["LOW", "MEDIUM", "HIGH"],
    defaultValue: "LOW",
    noEffect: "there is one resampler, and it is better than HIGH",
  }),
  useSeekGhosting: flagKey({
    meaning: "Go on playing the old position while a seek is under way.",
    defaultValue: true,
    noEffect: "seeks are fast enough without",
  }),
  youtubePlaylistLoadLimit: integerKey({
    meaning: "Pages of a YouTube playlist to load, 100 tracks each.",
    unit: "pages",
    defaultValue: 6,
    min: 0,
    max: 1000,
    noEffect: NO_YOUTUBE,
  }),
  youtubeSearchEnabled: flagKey({ meaning: "Allow ytsearch:.", defaultValue: true, noEffect: NO_YOUTUBE }),
  soundcloudSearchEnabled: flagKey({
    meaning: "Allow scsearch:.",
    defaultValue: true,
    noEffect: "there is no SoundCloud source yet",
  }),
  soundcloudFilterOutPreviewTracks: flagKey({
    meaning: "Leave out tracks of which only a preview can be had.",
    defaultValue: false,
    noEffect: "there is no SoundCloud source yet",
  }),
  "youtubeConfig.email": textKey({ meaning: "Account.", defaultValue: "", noEffect: NO_YOUTUBE }),
  "youtubeConfig.password": secretKey({
    meaning: "Its password.",
    defaultNote: "none",
    example: "secret",
    noEffect: NO_YOUTUBE,
  }),
  "gc-warnings": flagKey({
    meaning: "Warn of long garbage collections.",
    defaultValue: true,
    noEffect: "audio workers count late ticks instead",
  }),
});

type Values = SectionValues<typeof lavalinkServerSection>;

export function sourcesOf(values: Values): Record<SourceName, boolean> {
  return {
    youtube: values["sources.youtube"],
    bandcamp: values["sources.bandcamp"],
    soundcloud: values["sources.soundcloud"],
    twitch: values["sources.twitch"],
    vimeo: values["sources.vimeo"],
    nico: values["sources.nico"],
    http: values["sources.http"],
    local: values["sources.local"],
  };
}

export function playersOf(values: Values): NodeConfig["players"] {
  return {
    updateIntervalMs: values.playerUpdateInterval * 1000,
    trackStuckThresholdMs: values.trackStuckThresholdMs,
  };
}

export function disabledFiltersOf(values: Values): string[] {
  return Object.keys(values.filters).filter((name) => values.filters[name] === false);
}
