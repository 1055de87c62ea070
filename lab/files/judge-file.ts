// What is right and what is wrong about the measurements of one file. Pure.

import type { FileFacts, HeardFacts, LoadFacts, LoadName } from "./try-file.ts";

export const CHECKS = ["loads", "title", "length", "heard", "seeks"] as const;
export type Check = (typeof CHECKS)[number];

/** What is known about a file beyond what ffprobe says. */
export interface Expected {
  readonly title?: string;
  readonly artist?: string;
  readonly lengthMs?: number;
  /** A file below the folder whose audio is the right one, where ffmpeg does not play this one right. */
  readonly audio?: string;
}

/** Undefined: not judged, for the lack of anything to judge by. */
type Outcome = "right" | "stream" | { readonly wrong: string } | undefined;

export interface Verdict {
  readonly file: string;
  /** For the table: container and codec. */
  readonly format: string;
  readonly outcomes: Readonly<Record<Check, Outcome>>;
}

const LENGTH_TOLERANCE_MS = 60;
/** An estimate of ffprobe that is further than this from the decoded length is not believed. */
const ESTIMATE_TOLERANCE_MS = 500;
const DELAY_MS_MAX = 10;
/** Opus that is passed through begins with its pre-skip. */
const OPUS_DELAY_MS_MAX = 25;
const SHIFT_MS_MAX = 5;
const LEVEL_DB_MAX = 1;
/** Decoders conceal damage in their own ways. */
const DAMAGED_LEVEL_DB_MAX = 6;
const HEARD_SHARE_MIN = 0.95;
/** The encoder leaves at least this much of any audio, or nothing can be told. */
const ENCODED_SHARE_MIN = 0.3;
const SEEK_TOLERANCE_MS = 60;
/** Behind damage ffmpeg's audio is not where the times in the file say. */
const DAMAGED_SEEK_TOLERANCE_MS = 1000;

/** Undefined: ffmpeg decodes nothing from it, so nothing is wanted of the node. */
export function judgeFile(facts: FileFacts, expected: Expected = {}): Verdict | undefined {
  const { file, reference, decoded, broken } = facts;
  if (broken !== undefined) return { file, format: "not tried to the end", outcomes: allWrong(broken) };
  if (reference === undefined || decoded === undefined) return undefined;
  return {
    file,
    format: formatOf(reference.container, reference.codec),
    outcomes: {
      loads: judgeLoads(facts),
      title: judgeTitle(facts, expected),
      length: judgeLength(facts, expected),
      heard: judgeHeard(facts),
      seeks: judgeSeek(facts),
    },
  };
}

export function isWrong(outcome: Outcome): outcome is { readonly wrong: string } {
  return typeof outcome === "object";
}

const CONTAINERS: Readonly<Record<string, string>> = {
  "mov,mp4,m4a,3gp,3g2,mj2": "MP4",
  "matroska,webm": "Matroska",
  aac: "ADTS",
  mpegts: "MPEG-TS",
  hls: "HLS",
};
const CODECS: Readonly<Record<string, string>> = { opus: "Opus", vorbis: "Vorbis" };

function formatOf(container: string, codec: string): string {
  const codecName = codec.startsWith("pcm_") ? "PCM" : (CODECS[codec] ?? codec.toUpperCase());
  const containerName = CONTAINERS[container] ?? (container === "ogg" ? "Ogg" : container.toUpperCase());
  return containerName === codecName ? codecName : `${containerName} ${codecName}`;
}

function allWrong(cause: string): Verdict["outcomes"] {
  return { loads: { wrong: cause }, title: undefined, length: undefined, heard: { wrong: cause }, seeks: undefined };
}

/** The load that is judged: by path, else the first that gave a track. */
function trackOf({ loads = {} }: FileFacts): Exclude<LoadFacts, { error: string }> | undefined {
  return Object.values(loads).find((load): load is Exclude<LoadFacts, { error: string }> => !("error" in load));
}

/** It loads from everywhere, as the same track; without ranges its length may be unknown. */
function judgeLoads(facts: FileFacts): Outcome {
  const loads = Object.entries(facts.loads ?? {}) as [LoadName, LoadFacts][];
  const failed = loads.flatMap(([name, load]) => ("error" in load ? [{ name, error: load.error }] : []));
  const [first] = failed;
  const track = trackOf(facts);
  if (first !== undefined) {
    const where = failed.length === loads.length ? "" : `only some: not ${failed.map(({ name }) => name).join(", ")}: `;
    return { wrong: `${where}${first.error}` };
  }
  for (const [name, load] of loads) {
    if ("error" in load || track === undefined) continue;
    if (load.title !== track.title || load.author !== track.author) return { wrong: `another title from ${name}` };
    const isSame = load.lengthMs === track.lengthMs || (load.lengthMs === undefined && name.startsWith("no-"));
    if (!isSame) return { wrong: `another length from ${name}: ${lengthText(load)} instead of ${lengthText(track)}` };
  }
  return loads.length === 0 ? undefined : "right";
}

function judgeTitle(facts: FileFacts, expected: Expected): Outcome {
  const track = trackOf(facts);
  if (track === undefined) return undefined;
  const wanted = {
    title: expected.title ?? facts.reference?.title,
    artist: expected.artist ?? facts.reference?.artist,
  };
  for (const [name, own, other] of [
    ["title", track.title, wanted.title],
    ["artist", track.author, wanted.artist],
  ] as const) {
    if (other === undefined || isSameText(own, other)) continue;
    return { wrong: own === undefined ? `no ${name}` : `another ${name}` };
  }
  return "right";
}

/** ffprobe joins several values with semicolons; the node takes the first, or joins them otherwise. */
function isSameText(own: string | undefined, other: string): boolean {
  const plain = (text: string) =>
    text
      .normalize("NFC")
      .replaceAll(/[\s\p{Cc};,/]+/gu, " ")
      .trim();
  const [a, b] = [plain(own ?? ""), plain(other)];
  const first = plain(other.split(/;|\s\/\s/)[0] ?? "");
  return a === b || (first !== "" && a === first);
}

function judgeLength(facts: FileFacts, expected: Expected): Outcome {
  const { reference, decoded } = facts;
  const track = trackOf(facts);
  if (track === undefined || reference === undefined || decoded === undefined) return undefined;
  const isBelievable = (ms: number) =>
    !decoded.isWhole ||
    decoded.isDamaged ||
    Math.abs(ms - decoded.lengthMs) < Math.max(ESTIMATE_TOLERANCE_MS, decoded.lengthMs / 50);
  const candidates =
    expected.lengthMs === undefined
      ? [...reference.statedMs.filter(isBelievable), ...(decoded.isWhole ? [decoded.lengthMs] : [])]
      : [expected.lengthMs];
  const { lengthMs } = track;
  if (lengthMs === undefined) {
    if (expected.lengthMs === undefined && candidates.length === 0) return "stream";
    return { wrong: "a stream without a length" };
  }
  if (candidates.length === 0) return undefined;
  const off = candidates.map((ms) => lengthMs - ms).toSorted((a, b) => Math.abs(a) - Math.abs(b))[0] ?? 0;
  if (Math.abs(off) <= LENGTH_TOLERANCE_MS) return "right";
  return { wrong: `${Math.abs(Math.round(off))} ms too ${off > 0 ? "long" : "short"}` };
}

function judgeHeard({ heard, decoded, reference }: FileFacts): Outcome {
  if (heard === undefined || decoded === undefined) return undefined;
  const delayMsMax = reference?.codec === "opus" ? OPUS_DELAY_MS_MAX : DELAY_MS_MAX;
  const cause = heardFault(heard, { ...decoded, delayMsMax });
  if (cause === undefined) return "right";
  const end = heard.failure === undefined ? "ends as finished" : `ends with: ${heard.failure}`;
  return { wrong: `${cause}; ${end}` };
}

function heardFault(
  heard: HeardFacts,
  { isDamaged, isWhole, delayMsMax }: NonNullable<FileFacts["decoded"]> & { readonly delayMsMax: number },
): string | undefined {
  const { encoded, delayMs, shiftMs, missingMs, isSilent } = heard;
  const heardShare = heard.heardShare && heard.heardShare / Math.max(ENCODED_SHARE_MIN, encoded?.heardShare ?? 1);
  const levelDb = heard.levelDb - (encoded?.levelDb ?? 0);
  if (heardShare !== undefined && isSilent) return "silence";
  if (heardShare !== undefined && heardShare < HEARD_SHARE_MIN) {
    return `${Math.round(heardShare * 100)} % of the audio is heard`;
  }
  if (Math.abs(levelDb) > (isDamaged ? DAMAGED_LEVEL_DB_MAX : LEVEL_DB_MAX)) return `${levelDb.toFixed(1)} dB of level`;
  // Around damage every decoder joins the rest in its own way.
  if (isDamaged) return undefined;
  if (shiftMs > SHIFT_MS_MAX) return `${Math.round(shiftMs)} ms are missing or inserted in the middle`;
  if (heardShare !== undefined && Math.abs(delayMs) > delayMsMax) {
    return `it begins ${Math.abs(Math.round(delayMs))} ms ${delayMs > 0 ? "late" : "early"}`;
  }
  if (isWhole && Math.abs(missingMs) > LENGTH_TOLERANCE_MS) {
    return `${Math.abs(Math.round(missingMs))} ms ${missingMs > 0 ? "are missing" : "too many"} at the end`;
  }
  return heard.failure === undefined ? undefined : "the track fails";
}

function judgeSeek(facts: FileFacts): Outcome {
  const { seek, heard, decoded } = facts;
  // What is not heard from the beginning is not heard after a seek either.
  if (seek === undefined || heard === undefined || heard.isSilent || seek.offMs === "quiet") return undefined;
  if (seek.offMs === undefined) {
    const end = seek.failure === undefined ? "" : `: ${seek.failure}`;
    return { wrong: `nothing like the target is heard within 1.5 s of it${end}` };
  }
  const toleranceMs = decoded?.isDamaged === true ? DAMAGED_SEEK_TOLERANCE_MS : SEEK_TOLERANCE_MS;
  // The reference has no gaps: where the file's times leave some, a seek by these times lands that much earlier.
  const gapsMs = Math.max(0, (trackOf(facts)?.lengthMs ?? 0) - (decoded?.lengthMs ?? Number.POSITIVE_INFINITY));
  if (seek.offMs >= -toleranceMs - gapsMs && seek.offMs <= toleranceMs) return "right";
  return { wrong: `${Math.abs(Math.round(seek.offMs))} ms too ${seek.offMs > 0 ? "late" : "early"}` };
}

function lengthText({ lengthMs }: { readonly lengthMs: number | undefined }): string {
  return lengthMs === undefined ? "none" : `${Math.round(lengthMs)} ms`;
}
