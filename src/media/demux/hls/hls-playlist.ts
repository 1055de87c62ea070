// Reads HLS playlists (RFC 8216): master playlists with their variants and renditions, media playlists with their
// segments. Line by line, in time slices; unknown tags are ignored. Audio thread.

import type { ByteWindow } from "../../input/byte-window.ts";
import type { TrackBudget } from "../../quota/track-budget.ts";
import { type AttributeList, parseAttributes } from "./hls-attributes.ts";
import { endsInNewline, MediaPlaylist } from "./media-playlist.ts";
import { invalidPlaylist } from "./playlist-errors.ts";
import { PlaylistLines } from "./playlist-lines.ts";
import { resolveUrl } from "./resolve-url.ts";

/** One stream of a master playlist (EXT-X-STREAM-INF). */
export interface HlsVariant {
  readonly url: URL;
  readonly bandwidthBps: number;
  /** Empty when the playlist does not say. */
  readonly codecs: readonly string[];
  readonly hasResolution: boolean;
  /** Called `audio_only`, as Twitch calls the one without video, whatever else it declares. */
  readonly isCalledAudioOnly: boolean;
  /** Group of its separate audio, or undefined when the audio is in the variant itself. */
  readonly audioGroup: string | undefined;
}

/** A separate audio track (EXT-X-MEDIA of TYPE=AUDIO). Without an address the audio is in the variant. */
export interface HlsRendition {
  readonly url: URL | undefined;
  readonly groupId: string;
  readonly isDefault: boolean;
  readonly isAutoselect: boolean;
}

export interface HlsMaster {
  readonly kind: "master";
  readonly variants: readonly HlsVariant[];
  readonly renditions: readonly HlsRendition[];
  /** False: its last line may be cut off. */
  readonly endsInNewline: boolean;
}

/** Limit for variants and for renditions. Real playlists have some ten. */
const VARIANTS_MAX = 256;
/** Twitch names a variant by its group of video, or since 2026 by the others. */
const NAME_ATTRIBUTES = ["VIDEO", "STABLE-VARIANT-ID", "IVS-NAME"];
/** Limit per variant. */
const CODECS_MAX = 16;

/**
 * Reads a playlist found at `url`, against which its addresses are resolved. Takes ownership of the text: a media
 * playlist retains it, and releases its memory when it is closed.
 * @throws NodeError "hls-playlist-invalid", or "hls-unsupported" when its encryption method is unknown
 */
export async function readHlsPlaylist(
  data: ByteWindow,
  url: URL,
  budget: TrackBudget,
): Promise<HlsMaster | MediaPlaylist> {
  let isRetained = false;
  try {
    await checkStart(data, budget);
    const media = await MediaPlaylist.read(data, url, budget);
    isRetained = media !== undefined;
    return media ?? (await readMaster(data, url, budget));
  } finally {
    if (!isRetained) data.reset(0);
  }
}

async function checkStart(data: ByteWindow, budget: TrackBudget): Promise<void> {
  const lines = new PlaylistLines(data, 0);
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (line.kind !== undefined && /^#EXT(M3U|INF|-X-)/.test(line.text())) return;
    if (line.kind !== undefined) break;
    if (budget.isSpent) await budget.yield();
  }
  throw invalidPlaylist("it does not begin with #EXTM3U");
}

async function readMaster(data: ByteWindow, base: URL, budget: TrackBudget): Promise<HlsMaster> {
  const variants: HlsVariant[] = [];
  const renditions: HlsRendition[] = [];
  let pending: AttributeList | undefined;
  const lines = new PlaylistLines(data, 0);
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (budget.isSpent) await budget.yield();
    const text = line.text();
    if (text.startsWith("#EXT-X-STREAM-INF:")) pending = parseAttributes(text);
    else if (text.startsWith("#EXT-X-MEDIA:")) addRendition(renditions, parseAttributes(text), base);
    else if (line.kind === "address" && pending !== undefined) {
      const url = resolveUrl(text, base);
      if (url !== undefined) variants.push(variantOf(pending, url));
      pending = undefined;
    }
    if (variants.length > VARIANTS_MAX || renditions.length > VARIANTS_MAX) {
      throw invalidPlaylist("it names too many streams");
    }
  }
  budget.pause();
  if (variants.length === 0) throw invalidPlaylist("it names no stream");
  return { kind: "master", variants, renditions, endsInNewline: endsInNewline(data) };
}

function variantOf(attributes: AttributeList, url: URL): HlsVariant {
  const codecs = (attributes.get("CODECS") ?? "").split(",", CODECS_MAX).map((codec) => codec.trim().toLowerCase());
  return {
    url,
    bandwidthBps: Number(attributes.get("BANDWIDTH") ?? 0) || 0,
    codecs: codecs.filter((codec) => codec !== ""),
    hasResolution: attributes.has("RESOLUTION"),
    isCalledAudioOnly: NAME_ATTRIBUTES.some((name) => attributes.get(name)?.toLowerCase() === "audio_only"),
    audioGroup: attributes.get("AUDIO"),
  };
}

function addRendition(renditions: HlsRendition[], attributes: AttributeList, base: URL): void {
  if (attributes.get("TYPE") !== "AUDIO") return;
  const address = attributes.get("URI");
  renditions.push({
    url: address === undefined ? undefined : resolveUrl(address, base),
    groupId: attributes.get("GROUP-ID") ?? "",
    isDefault: attributes.get("DEFAULT") === "YES",
    isAutoselect: attributes.get("AUTOSELECT") === "YES",
  });
}
