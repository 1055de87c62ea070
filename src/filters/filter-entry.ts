// What an entry of the filter table says about one filter: its members with their units, ranges and defaults, and when
// it would change nothing. The types of settings follow from it, so no thread has to look at what crosses the bridge
// again.

/** A number that a client may send. */
export interface NumberMember {
  /** As clients know it: a `float` is rounded to 32 bits before it is used and echoed, an `integer` has 32 bits. */
  readonly numberType: "float" | "double" | "integer";
  /** What counts where it is left out. Undefined: it has to be there. */
  readonly defaultValue?: number;
  /** Bounds of what is taken, in `unit`; what lies beyond is refused (400). Undefined: any finite number. */
  readonly min?: number;
  readonly max?: number;
  /** True where `min` itself is not allowed. */
  readonly isMinExcluded?: boolean;
  /** Undefined for shares, ratios and counts. */
  readonly unit?: "Hz" | "ms" | "dB" | "LUFS" | "dBTP";
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** One of some words. */
export interface ChoiceMember<Choice extends string = string> {
  readonly defaultValue: Choice;
  readonly choices: readonly Choice[];
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** Of an object that a client sends, by name, in the order in which they are checked and echoed. */
export type Members = Readonly<Record<string, NumberMember | ChoiceMember>>;

type ValueOf<Member> = Member extends ChoiceMember<infer Choice> ? Choice : number;

/** An object with these members, all of them there and within their ranges. */
export type ValuesOf<Known extends Members> = {
  readonly [Member in keyof Known]: ValueOf<Known[Member]>;
};

interface Entry<Settings> {
  /** True for settings that leave the sound as it is: such a filter is not built, and Opus may pass through. */
  isOff(settings: Settings): boolean;
}

/** A filter that is an object of members. `null` is the same as absent. */
export interface ObjectFilter<Known extends Members = Members> extends Entry<ValuesOf<Known>> {
  readonly kind: "object";
  readonly members: Known;
  /**
   * True where clients switch it off by one member and say in the others what they like: those are not checked then.
   */
  readonly isFreeWhenOff?: boolean;
}

/** A filter that is a list of such objects. */
export interface ListFilter<Known extends Members = Members> extends Entry<readonly ValuesOf<Known>[]> {
  readonly kind: "list";
  readonly members: Known;
  /** A longer list is refused (400). */
  readonly countMax: number;
}

/** A filter that is one number. */
export interface NumberFilter extends Entry<number> {
  readonly kind: "number";
  readonly value: NumberMember;
}

/** Any filter's entry. */
export type FilterEntry = ObjectFilter | ListFilter | NumberFilter;

/** What the settings of a filter with this entry are, checked and filled in. */
export type SettingsOfEntry<Known extends FilterEntry> =
  Known extends ObjectFilter<infer Own>
    ? ValuesOf<Own>
    : Known extends ListFilter<infer Own>
      ? readonly ValuesOf<Own>[]
      : number;
