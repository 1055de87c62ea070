// The definition of one filter in the filter table: its members with their units, ranges and defaults, and when it has
// no effect. The types of settings follow from it, so settings that cross the bridge are not checked again.

/** A number that a client may send. */
export interface NumberMember {
  /** As clients know it: a `float` is rounded to 32 bits before it is used and echoed, an `integer` has 32 bits. */
  readonly numberType: "float" | "double" | "integer";
  /** The value when the member is left out. Undefined: the member is required. */
  readonly defaultValue?: number;
  /** Bounds of accepted values, in `unit`; a value beyond them is refused (400). Undefined: any finite number. */
  readonly min?: number;
  readonly max?: number;
  /** True where `min` itself is not allowed. */
  readonly isMinExcluded?: boolean;
  /** Undefined for shares, ratios and counts. */
  readonly unit?: "Hz" | "s" | "ms" | "dB" | "LUFS" | "dBTP";
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** A choice of words. */
interface ChoiceMember<Choice extends string = string> {
  readonly defaultValue: Choice;
  readonly choices: readonly Choice[];
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** True or false. */
interface FlagMember {
  readonly defaultValue: boolean;
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** A list of numbers, empty by default. */
interface NumbersMember {
  /** Each of them. */
  readonly item: NumberMember;
  /** A longer list is refused (400). */
  readonly countMax: number;
  /** For docs/reference/filters.md. */
  readonly meaning: string;
}

/** Anything in an object of a filter. */
export type Member = NumberMember | ChoiceMember | FlagMember | NumbersMember;

/** The members of an object that a client sends, by name, in the order in which they are checked and echoed. */
export type Members = Readonly<Record<string, Member>>;

type ValueOf<Known> =
  Known extends ChoiceMember<infer Choice>
    ? Choice
    : Known extends NumbersMember
      ? readonly number[]
      : Known extends FlagMember
        ? boolean
        : number;

/** An object with all of these members, within their ranges. */
export type ValuesOf<Known extends Members> = {
  readonly [Member in keyof Known]: ValueOf<Known[Member]>;
};

interface Entry<Settings> {
  /** True for settings that leave the audio unchanged: such a filter is not built, and Opus may pass through. */
  isOff(settings: Settings): boolean;
}

/** A filter that is an object of members. `null` is the same as absent. */
export interface ObjectFilter<Known extends Members = Members> extends Entry<ValuesOf<Known>> {
  readonly kind: "object";
  readonly members: Known;
  /**
   * True where clients switch the filter off by one member and may send anything in the others, which are then not
   * checked.
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

/** The type of a filter's settings according to its entry, after checking and filling in defaults. */
export type SettingsOfEntry<Known extends FilterEntry> =
  Known extends ObjectFilter<infer Own>
    ? ValuesOf<Own>
    : Known extends ListFilter<infer Own>
      ? readonly ValuesOf<Own>[]
      : number;
