// What a source is: it finds tracks under identifiers and knows how their audio is fetched. One folder per source; the
// list is own-sources.ts. Main thread.

import type { PlayableInput, ProbeResult } from "../../bridge/playable-input.ts";
import type { Owner, WorkOptions } from "../../lib/owners.ts";
import type { Track } from "../../track/track.ts";
import type { AllowedSources } from "../access/identity.ts";
import type { FoundTracks, Playlist } from "./load-result.ts";

/** The answer of a source. `reference`: the audio is elsewhere, ask all sources again for that identifier. */
export type SourceAnswer =
  | { readonly kind: "track"; readonly track: Track }
  | { readonly kind: "playlist"; readonly playlist: Playlist }
  | { readonly kind: "search"; readonly tracks: FoundTracks }
  | { readonly kind: "empty" }
  | (Reference & {
      readonly kind: "reference";
      /** Tried in order when it cannot be loaded. */
      readonly alternatives?: readonly Reference[] | undefined;
    });

/** An identifier that a playlist or a source names. */
export interface Reference {
  readonly identifier: string;
  readonly title: string | undefined;
}

/** One identifier, as the client wrote it or another source's reference named it. */
export interface SourceRequest {
  readonly identifier: string;
  /** The track's title in the playlist that led here: used unless its own tags have one. */
  readonly title: string | undefined;
  /** How many loads of plugins led here. */
  readonly depth: number;
  /** Shares of what all loads use are counted by it. */
  readonly owner: Owner;
  /** The sources that may be used, also by what other sources name. Default: all. */
  readonly allowed?: AllowedSources | undefined;
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** Main thread: it parses and decides, and has others look (`Prober`). One object for the node's life. */
export interface Source {
  /** As in a track's `sourceName` and in `/v4/info`. */
  readonly name: string;
  /** Its tracks are played from other sources. Default: false. */
  readonly isMirrored?: boolean;
  /** Whether the identifier looks like one of this source, as far as can be decided without a request. */
  isClaimed(identifier: string): boolean;
  /** Undefined: not an identifier of this source, the next one is asked. Rejects with a NodeError. */
  load(request: SourceRequest): Promise<SourceAnswer | undefined>;
  /**
   * How the audio of one of its tracks is fetched. Throws a NodeError for a track that cannot be one of this source.
   */
  playableInput(track: Track): PlayableInput;
}

/** Probes an input, on a thread that plays no music. Rejects with its reason when `signal` aborts. */
export type Prober = (input: PlayableInput, options: WorkOptions) => Promise<ProbeResult>;
