// HLS playlists out of texts, as the demuxer reads them.

import { type HlsMaster, readHlsPlaylist } from "../../src/media/demux/hls/hls-playlist.ts";
import type { HlsSegment } from "../../src/media/demux/hls/hls-segment.ts";
import type { MediaPlaylist } from "../../src/media/demux/hls/media-playlist.ts";
import { ByteWindow } from "../../src/media/input/byte-window.ts";
import type { TrackBudget } from "../../src/media/quota/track-budget.ts";
import { createTrackBudget } from "./track-budgets.ts";

/** The text as it may arrive: in pieces. */
export function receivedText(text: string | Uint8Array, budget: TrackBudget, pieceBytes = 1000): ByteWindow {
  const window = new ByteWindow(budget.memory);
  const bytes = Buffer.from(text as string); // Buffer.from takes either; its overloads do not say so.
  for (let at = 0; at < bytes.length; at += pieceBytes) window.append(bytes.subarray(at, at + pieceBytes));
  return window;
}

export async function readMedia(
  text: string | Uint8Array,
  url: URL,
  budget = createTrackBudget(),
): Promise<MediaPlaylist> {
  const playlist = await readHlsPlaylist(receivedText(text, budget), url, budget);
  if (playlist.kind !== "media") throw new Error("not a media playlist");
  return playlist;
}

export async function readMaster(text: string, url: URL): Promise<HlsMaster> {
  const budget = createTrackBudget();
  const playlist = await readHlsPlaylist(receivedText(text, budget), url, budget);
  if (playlist.kind !== "master") throw new Error("not a master playlist");
  return playlist;
}

/** All available segments, in order. */
export async function segmentsOf(playlist: MediaPlaylist): Promise<HlsSegment[]> {
  const segments: HlsSegment[] = [];
  for (let sequence = playlist.firstSequence; ; ) {
    const segment = await playlist.segmentFrom(sequence);
    if (segment === undefined) return segments;
    segments.push(segment);
    sequence = segment.sequence + 1;
  }
}
