// What one player does to decoded sound before it is encoded: its filters and its volume, in the protocol's order
// (protocol-v4.md section 3.3). Belongs to the player and so lasts across its tracks. Audio thread.

import type { FilterSettings } from "../bridge/commands.ts";
import { filterVolumeGain, VolumeFilter } from "./filters/volume.ts";

export class SoundChain {
  readonly #filterVolume = new VolumeFilter(1, filterVolumeGain);
  readonly #playerVolume = new VolumeFilter();

  setVolume(volume: number): void {
    this.#playerVolume.setVolume(volume);
  }

  setFilters(filters: FilterSettings): void {
    this.#filterVolume.setVolume(typeof filters.volume === "number" ? filters.volume : 1);
  }

  /** True when sound would come out as it went in, so that Opus packets may pass through undecoded. */
  get isNeutral(): boolean {
    return this.#filterVolume.isNeutral && this.#playerVolume.isNeutral;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    this.#filterVolume.process(left, right, lengthSamples);
    this.#playerVolume.process(left, right, lengthSamples);
  }

  reset(): void {
    this.#filterVolume.reset();
    this.#playerVolume.reset();
  }
}
