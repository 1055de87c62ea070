// A source that is part of the node, and how it is doing. Main thread; sources of plugins count for themselves
// (plugin-source.ts).

import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { SourceJson } from "../../control/protocol/sources-json.ts";
import type { Source, SourceAnswer, SourceRequest } from "../../control/sources/source.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Track } from "../../track/track.ts";
import { SourceHealth } from "./source-health.ts";

export class CountedSource implements Source {
  readonly #source: Source;
  readonly #clock: Clock;
  readonly #loads = new SourceHealth();

  constructor(source: Source, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  get name(): string {
    return this.#source.name;
  }

  isClaimed(identifier: string): boolean {
    return this.#source.isClaimed(identifier);
  }

  load(request: SourceRequest): Promise<SourceAnswer | undefined> {
    return this.#loads.count(this.#source.load(request), () => this.#clock.epochMs());
  }

  playableInput(track: Track): PlayableInput {
    return this.#source.playableInput(track);
  }

  /** Without links: a track's identifier is its address. */
  toJson(): SourceJson {
    return {
      name: this.name,
      plugin: null,
      state: "running",
      trouble: null,
      loads: this.#loads.toJson(),
      links: null,
      backends: [],
    };
  }
}
