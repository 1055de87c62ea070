// The distortion filter: `offset + scale * (sinOffset + sin(x * sinScale)) * (cosOffset + cos(…)) * (tanOffset +
// tan(…))`, clipped to full scale, as upstream. The output depends only on the input sample, so it is read from a table
// computed when the settings change: three trigonometric functions per sample would cost ten times as much. The loops
// are in distortion-kernel.ts. Audio thread; no allocation once created.

import type { SettingsOf } from "../../../filters/filter-settings.ts";
import { type Curve, type DistortionKernel, sharedDistortionKernel } from "../../kernels/distortion-kernel.ts";
import { defineFilter } from "./filter-definition.ts";
import { KernelFilter } from "./kernel-filter.ts";

/** Limit of numbers: beyond it the curve is noise anyway and its sines become slow. */
const SETTING_MAX = 1e6;

export class DistortionFilter extends KernelFilter {
  readonly #kernel: DistortionKernel;
  readonly #curve: Curve;
  readonly #table: Float32Array;

  constructor(curve: Curve, previous?: DistortionFilter, kernel = sharedDistortionKernel()) {
    super(kernel);
    this.#kernel = kernel;
    this.#curve = curve;
    this.#table = previous !== undefined && isSame(previous.#curve, curve) ? previous.#table : kernel.makeTable(curve);
  }

  /** Beyond full scale the curve is not defined (upstream knows 16-bit audio only): the input is clipped, too. */
  protected override run(count: number): void {
    this.#kernel.run(this.#table, count);
  }

  override reset(): void {
    // There is no state.
  }
}

/** Numbers are limited, see SETTING_MAX. */
function curveOf(settings: SettingsOf<"distortion">): Curve {
  const members = Object.entries(settings).map(([member, value]) => [
    member,
    Math.min(Math.max(value, -SETTING_MAX), SETTING_MAX),
  ]);
  return Object.fromEntries(members) as Curve; // one entry per member of the settings, which are the curve's
}

function isSame(one: Curve, other: Curve): boolean {
  return Object.keys(one).every((member) => Reflect.get(one, member) === Reflect.get(other, member));
}

export const distortion = defineFilter(
  "distortion",
  DistortionFilter,
  (settings, previous) => new DistortionFilter(curveOf(settings), previous),
);
