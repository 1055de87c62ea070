// What one player does to decoded sound before it is encoded: its filters and its volume, in the protocol's order
// (protocol-v4.md section 3.3). Belongs to the player and so lasts across its tracks. Audio thread.

import type { FilterSettings } from "../bridge/commands.ts";
import { VolumeFilter } from "./filters/volume.ts";

export class SoundChain {
  readonly #filterVolume = VolumeFilter.forFilter();
  readonly #playerVolume = VolumeFilter.forPlayer();

  setVolume(volume: number): void {
    this.#playerVolume.set(volume);
  }

  setFilters(filters: FilterSettings): void {
    this.#filterVolume.set(typeof filters.volume === "number" ? filters.volume : 1);
  }

  /** True when sound would come out as it went in, so that Opus packets may pass through undecoded. */
  get isNeutral(): boolean {
    return this.#filterVolume.isNeutral && this.#playerVolume.isNeutral;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    if (!this.#filterVolume.isNeutral) this.#filterVolume.process(left, right, lengthSamples);
    if (!this.#playerVolume.isNeutral) this.#playerVolume.process(left, right, lengthSamples);
  }

  reset(): void {
    this.#filterVolume.reset();
    this.#playerVolume.reset();
  }
}
