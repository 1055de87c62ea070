// One generated file: a container name and a seed give the same bytes every time, and the list of changes in them.

import { ascii, concat } from "../../media-files/bytes.ts";
import { seededRandom } from "../../seeded-random.ts";
import { buildAiff, buildCaf } from "./chunks.ts";
import { type GroupField, render } from "./field-tree.ts";
import { buildFlac } from "./flac.ts";
import { buildAdts, buildId3, buildMp3 } from "./frames.ts";
import { buildMatroska } from "./matroska.ts";
import { buildMp4 } from "./mp4.ts";
import { buildMpegTs } from "./mpegts.ts";
import { mutate, noise } from "./mutate.ts";
import { buildOgg } from "./ogg.ts";
import { buildHls, buildPlaylist } from "./playlists.ts";
import { buildWav } from "./wav.ts";

const BUILDERS = {
  wav: buildWav,
  aiff: buildAiff,
  caf: buildCaf,
  flac: buildFlac,
  ogg: buildOgg,
  matroska: buildMatroska,
  mp4: buildMp4,
  mp3: buildMp3,
  id3: buildId3,
  adts: buildAdts,
  mpegts: buildMpegTs,
  hls: buildHls,
  playlist: buildPlaylist,
} satisfies Record<string, (random: () => number) => GroupField>;

export type Container = keyof typeof BUILDERS;

export const CONTAINERS = Object.keys(BUILDERS) as readonly Container[]; // the table has no other keys

interface GeneratedFile {
  readonly bytes: Uint8Array;
  /** The changes that were made, in order; empty for a well-formed file. */
  readonly changes: readonly string[];
}

/** Whole files stay below this, whatever is repeated. */
const SIZE_BYTES_MAX = 2_000_000;

export function generateFile(container: Container, seed: number): GeneratedFile {
  const random = seededRandom(seed);
  const root = BUILDERS[container](random);
  // Some are left unchanged: a generator whose files no reader accepts would test nothing.
  const changes = random() < 0.1 ? [] : mutate(root, random);
  const bytes = render(root).subarray(0, SIZE_BYTES_MAX);
  return changes.length === 0 ? { bytes, changes } : cut(bytes, changes, random);
}

/** Changes to files as a whole. */
function cut(bytes: Uint8Array, changes: readonly string[], random: () => number): GeneratedFile {
  const kind = random();
  const at = Math.floor(random() * bytes.length);
  if (kind < 0.08) return { bytes: bytes.subarray(0, at), changes: [...changes, `cut off at ${at}`] };
  if (kind < 0.11) return { bytes: concat(bytes, bytes), changes: [...changes, "twice"] };
  if (kind < 0.14) return { bytes: concat(noise(300, random), bytes), changes: [...changes, "behind junk"] };
  if (kind < 0.17) return { bytes: concat(ascii("ID3\x04\0\0\0\0\0\0"), bytes), changes: [...changes, "behind a tag"] };
  if (kind < 0.2)
    return {
      bytes: concat(bytes.subarray(0, at), bytes.subarray(at + 1)),
      changes: [...changes, `without byte ${at}`],
    };
  return { bytes, changes };
}
