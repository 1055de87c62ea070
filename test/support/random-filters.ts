// Random filters objects, as the worker could get them at worst: valid, at the edge of the ranges, and nonsense.

import { type ChoiceMember, type NumberMember, TONEARM_FILTERS } from "../../src/bridge/tonearm-filters.ts";

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  karaoke: ["level", "monoLevel", "filterBand", "filterWidth"],
  timescale: ["speed", "pitch", "rate"],
  tremolo: ["frequency", "depth"],
  vibrato: ["frequency", "depth"],
  distortion: ["sinOffset", "sinScale", "cosOffset", "cosScale", "tanOffset", "tanScale", "offset", "scale"],
  rotation: ["rotationHz"],
  channelMix: ["leftToLeft", "leftToRight", "rightToLeft", "rightToRight"],
  lowPass: ["smoothing"],
};

const EDGES = [0, -0, 1, -1, 0.25, -0.25, 5, 14, 1e-45, 1e-300, 5e-324, 3.4e38, -3.4e38, 1.0000001, 0.02, 24_000];
const NONSENSE = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  "7",
  null,
  undefined,
  {},
  [],
  true,
  -1e308,
];

/** Longer fades than this, and longer echoes, are rare: a test has no half minutes for each. */
const USUAL_MS_MAX = 500;

export function randomFilters(random: () => number): Readonly<Record<string, unknown>> {
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)];
  const value = (): unknown => {
    const kind = random();
    if (kind < 0.7) return random() * (random() < 0.3 ? 20 : 1.5);
    return kind < 0.9 ? pick(EDGES) : pick(NONSENSE);
  };
  const ownValue = (member: NumberMember | ChoiceMember): unknown => {
    if (random() < 0.2) return value();
    if ("choices" in member) return pick(member.choices);
    const { min, max, unit } = member;
    const usualMax = unit === "ms" && random() < 0.9 ? Math.min(max, USUAL_MS_MAX) : max;
    return random() < 0.2 ? pick([min, max]) : min + random() * (usualMax - min);
  };
  const ownFilters = (): unknown => {
    const present = Object.entries(TONEARM_FILTERS).filter(() => random() < 0.25);
    const entries = present.map(([name, known]) => {
      const members: [string, NumberMember | ChoiceMember][] = Object.entries(known);
      const settings = members.filter(() => random() < 0.8).map(([member, about]) => [member, ownValue(about)]);
      return [name, random() < 0.95 ? Object.fromEntries(settings) : pick(NONSENSE)];
    });
    return random() < 0.95 ? Object.fromEntries(entries) : pick(NONSENSE);
  };
  const filters: Record<string, unknown> = {};
  if (random() < 0.3) filters.volume = value();
  if (random() < 0.4) {
    const bands = Array.from({ length: Math.floor(random() * 18) }, () => ({
      band: random() < 0.9 ? Math.floor(random() * 15) : value(),
      gain: random() < 0.8 ? random() * 1.25 - 0.25 : value(),
    }));
    filters.equalizer = random() < 0.95 ? bands : pick(NONSENSE);
  }
  for (const [name, members] of Object.entries(MEMBERS)) {
    if (random() > 0.25) continue;
    const entries = members.filter(() => random() < 0.7).map((member) => [member, value()]);
    filters[name] = random() < 0.95 ? Object.fromEntries(entries) : pick(NONSENSE);
  }
  if (random() < 0.5) filters.pluginFilters = random() < 0.95 ? { tonearm: ownFilters() } : pick(NONSENSE);
  return filters;
}
