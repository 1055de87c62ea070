// Chooses which stream of an HLS master playlist is played: its audio, as good as Discord can carry it, and without
// video if possible. Pure. Audio thread.

import type { HlsMaster, HlsRendition, HlsVariant } from "./hls-playlist.ts";

/**
 * More audio than this is wasted: 320 kbit/s of AAC or MP3 is beyond what is left after Opus at 128 to 384. Lossless
 * and surround variants lie above it.
 */
const AUDIO_BANDWIDTH_BPS_MAX = 400_000;
/**
 * Variants with video below this usually carry 32 to 64 kbit/s of audio, above it 96 to 128; from there on only the
 * picture improves. So the first above it is the cheapest with good audio.
 */
const VIDEO_BANDWIDTH_BPS_MIN = 500_000;

const PLAYABLE_AUDIO = /^(mp4a\.40\.(2|5|29|34)|mp4a\.(69|6b)|mp3|opus|flac|mp4a)$/i;
const OTHER_AUDIO = /^(ac-3|ec-3|ac-4|dts|mp4a\.|alac)/i;

/** The playlists to try, best first. Never empty for a master playlist with variants. */
export function chooseVariants({ variants, renditions }: HlsMaster): URL[] {
  const playable = variants.filter(isPlayable);
  const pool = playable.length > 0 ? playable : variants;
  const urls = [...separateAudio(pool, renditions), ...audioOnly(pool), ...withVideo(pool)];
  return [...new Map(urls.map((url) => [url.href, url])).values()];
}

/** Separate audio tracks of the group that the richest variant uses: they cost the same few bits in every variant. */
function separateAudio(variants: readonly HlsVariant[], renditions: readonly HlsRendition[]): URL[] {
  const byBandwidth = [...variants].sort((a, b) => b.bandwidthBps - a.bandwidthBps);
  const groups = new Set(byBandwidth.map(({ audioGroup }) => audioGroup));
  return [...groups].flatMap((audioGroup) => {
    const group = renditions.filter(({ groupId }) => groupId === audioGroup);
    const best = group.find(({ isDefault }) => isDefault) ?? group.find(({ isAutoselect }) => isAutoselect) ?? group[0];
    return best?.url === undefined ? [] : [best.url];
  });
}

/** The richest within the bound first, then those beyond it from the smallest. */
function audioOnly(variants: readonly HlsVariant[]): URL[] {
  const candidates = variants.filter((variant) => !hasVideo(variant)).sort((a, b) => a.bandwidthBps - b.bandwidthBps);
  const within = candidates.filter(({ bandwidthBps }) => bandwidthBps <= AUDIO_BANDWIDTH_BPS_MAX).reverse();
  const beyond = candidates.filter(({ bandwidthBps }) => bandwidthBps > AUDIO_BANDWIDTH_BPS_MAX);
  return [...within, ...beyond].map(({ url }) => url);
}

/** The cheapest variant with good audio first, then richer ones, then poorer ones. */
function withVideo(variants: readonly HlsVariant[]): URL[] {
  const candidates = variants.filter(hasVideo).sort((a, b) => a.bandwidthBps - b.bandwidthBps);
  const good = candidates.filter(({ bandwidthBps }) => bandwidthBps >= VIDEO_BANDWIDTH_BPS_MIN);
  const poor = candidates.filter(({ bandwidthBps }) => bandwidthBps < VIDEO_BANDWIDTH_BPS_MIN).reverse();
  return [...good, ...poor].map(({ url }) => url);
}

function hasVideo({ hasResolution, codecs, isCalledAudioOnly }: HlsVariant): boolean {
  if (isCalledAudioOnly) return false;
  return hasResolution || codecs.some((codec) => !PLAYABLE_AUDIO.test(codec) && !OTHER_AUDIO.test(codec));
}

/** False when it declares only audio codecs that we cannot decode, or no audio. */
function isPlayable({ codecs }: HlsVariant): boolean {
  return codecs.length === 0 || codecs.some((codec) => PLAYABLE_AUDIO.test(codec));
}
