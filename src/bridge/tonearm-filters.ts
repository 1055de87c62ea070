// What Tonearm does to sound beyond the protocol: names, members, units, defaults and ranges of `pluginFilters.tonearm`. The
// main thread checks, fills in and describes what clients send by this table; audio threads read their settings by it.

export interface NumberMember {
  readonly defaultValue: number;
  readonly min: number;
  readonly max: number;
  /** True where `min` itself is not allowed. */
  readonly isMinExcluded?: boolean;
  /** Undefined for shares and ratios. */
  readonly unit?: "Hz" | "ms" | "dB" | "LUFS" | "dBTP";
}

export interface ChoiceMember {
  readonly defaultValue: string;
  readonly choices: readonly string[];
}

const share = (defaultValue: number) => ({ defaultValue, min: 0, max: 1 });
const feedback = (defaultValue: number) => ({ defaultValue, min: 0, max: 0.95 });
const swing = (defaultValue: number) =>
  ({ defaultValue, min: 0, max: 14, isMinExcluded: true, unit: "Hz" }) as const satisfies NumberMember;
const milliseconds = (defaultValue: number, min: number, max: number) =>
  ({ defaultValue, min, max, unit: "ms" }) as const satisfies NumberMember;
const decibels = (defaultValue: number, min: number, max: number) =>
  ({ defaultValue, min, max, unit: "dB" }) as const satisfies NumberMember;
const fade = {
  duration: milliseconds(3000, 0, 30_000),
  curve: { defaultValue: "sine", choices: ["linear", "sine", "exponential"] },
} as const;

export const TONEARM_FILTERS = {
  highPass: { frequency: { defaultValue: 80, min: 10, max: 20_000, unit: "Hz" } },
  echo: { delay: milliseconds(350, 1, 2000), decay: feedback(0.4), mix: share(0.35) },
  reverb: { roomSize: share(0.5), damping: share(0.5), width: share(1), mix: share(0.3) },
  chorus: { frequency: swing(0.8), depth: share(0.5), delay: milliseconds(20, 5, 50), mix: share(0.5) },
  phaser: { frequency: swing(0.5), depth: share(0.7), feedback: feedback(0.3), mix: share(0.5) },
  flanger: {
    frequency: swing(0.25),
    depth: share(0.7),
    delay: milliseconds(3, 0.5, 15),
    feedback: feedback(0.4),
    mix: share(0.5),
  },
  compressor: {
    threshold: decibels(-18, -60, 0),
    ratio: { defaultValue: 4, min: 1, max: 20 },
    attack: milliseconds(5, 0.1, 500),
    release: milliseconds(120, 1, 5000),
    knee: decibels(6, 0, 24),
    gain: decibels(0, 0, 24),
  },
  loudness: {
    target: { defaultValue: -14, min: -40, max: -5, unit: "LUFS" },
    peak: { defaultValue: -1, min: -9, max: 0, unit: "dBTP" },
  },
  fadeIn: fade,
  fadeOut: fade,
  crossfade: fade,
} as const satisfies Readonly<Record<string, Readonly<Record<string, NumberMember | ChoiceMember>>>>;

export type TonearmFilterName = keyof typeof TONEARM_FILTERS;

type ValueOf<Member> = Member extends { readonly choices: readonly (infer Choice)[] } ? Choice : number;

/** The settings of one of them, filled in. */
export type TonearmSettings<Name extends TonearmFilterName> = {
  readonly [Member in keyof (typeof TONEARM_FILTERS)[Name]]: ValueOf<(typeof TONEARM_FILTERS)[Name][Member]>;
};
