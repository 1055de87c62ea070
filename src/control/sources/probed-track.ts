// Makes a track of the result of probing a file or URL: shared by the http and the local source. Main thread.

import type { ListedInput, PlainInput, ProbeResult } from "../../bridge/playable-input.ts";
import { createTrack, type Track } from "../../track/track.ts";
import { UNKNOWN_LENGTH_MS } from "../../track/track-details.ts";
import type { Reference, SourceAnswer } from "./source.ts";

const UNKNOWN_TITLE = "Unknown title";
const UNKNOWN_AUTHOR = "Unknown artist";

interface Origin {
  readonly sourceName: string;
  readonly identifier: string;
  /** The track's title in the playlist that led here. */
  readonly title: string | undefined;
}

/** Converts the probe result of a file or URL to the answer of the source that asked. */
export function answerOfProbe(result: ProbeResult, origin: Origin): SourceAnswer {
  if (result.kind === "empty") return { kind: "empty" };
  if (result.kind === "track") return { kind: "track", track: createProbedTrack(result, origin) };
  const referenceTo = ({ input, title }: ListedInput): Reference => ({
    identifier: identifierOf(input),
    title: title ?? origin.title,
  });
  return { kind: "reference", ...referenceTo(result), alternatives: result.alternatives?.map(referenceTo) };
}

/** The container that a track of http or local was found to have, a hint for the worker. */
export function containerOf(track: Track): string | undefined {
  return track.details.kind === "probe" ? track.details.probeInfo : undefined;
}

function createProbedTrack(result: Extract<ProbeResult, { kind: "track" }>, origin: Origin): Track {
  const isStream = result.lengthMs === undefined;
  const identifier = result.location ?? origin.identifier;
  return createTrack(
    {
      identifier,
      // As the published server has it, and as the encoded form decodes, which has no separate field for it.
      isSeekable: !isStream,
      author: result.author ?? UNKNOWN_AUTHOR,
      length: result.lengthMs === undefined ? UNKNOWN_LENGTH_MS : Math.floor(result.lengthMs),
      isStream,
      position: 0,
      title: result.title ?? origin.title ?? UNKNOWN_TITLE,
      uri: identifier,
      sourceName: origin.sourceName,
      artworkUrl: result.artworkUrl ?? null,
      isrc: result.isrc ?? null,
    },
    { kind: "probe", probeInfo: result.container },
  );
}

function identifierOf(input: PlainInput): string {
  return input.kind === "http" ? input.url : input.path;
}
