// Tracks for tests, complete except for the fields under test.

import { createTrack, type Track } from "../../src/track/track.ts";
import type { TrackInfo } from "../../src/track/track-info.ts";

export function buildTrack(info: Partial<TrackInfo> = {}): Track {
  const identifier = info.identifier ?? "http://media.example/song.mp3";
  return createTrack(
    {
      identifier,
      isSeekable: true,
      author: "Test Artist",
      length: 30_000,
      isStream: false,
      position: 0,
      title: "Test Title",
      uri: identifier,
      sourceName: "http",
      artworkUrl: null,
      isrc: null,
      ...info,
    },
    { kind: "probe", probeInfo: "mp3" },
  );
}
