// Random filters objects, made from the filter table: the worst that clients can send, and the worst that audio workers
// can get, which is anything that passes the check: often at the limits of the ranges, or far out where there are none.

import type { FilterEntry, Member, Members, NumberMember } from "../../src/filters/filter-entry.ts";
import type { FilterSettings } from "../../src/filters/filter-settings.ts";
import { FILTER_TABLE } from "../../src/filters/filter-table.ts";
import { filterSettings } from "./filter-settings.ts";

const EDGES = [0, -0, 1, -1, 0.25, -0.25, 5, 14, 1e-45, 1e-300, 5e-324, 3.4e38, -3.4e38, 1.0000001, 0.02, 24_000];
const NONSENSE = [null, "7", "NaN", "", {}, [], true, -1e308, 1e39, -1, 15, 2 ** 53, 0.001];
/** A filter of a body is sometimes nonsense as a whole, and more often one of its members is. */
const NONSENSE_SHARE = 0.05;
const INT32_MAX = 2 ** 31 - 1;
/** More bands than exist: some are named twice. */
const BANDS_MAX = 18;
/** Longer fades than this, and longer echoes, are rare: a test has no half minutes for each. */
const USUAL_MS_MAX = 500;

/** Settings that the check accepts. */
export function randomFilters(random: () => number): FilterSettings {
  return filterSettings(randomObject(new RandomValue(random, 0)));
}

/** Any body that a client may send: valid, or out of range, of a wrong type, or of an unknown filter. */
export function randomFiltersBody(random: () => number): object {
  return randomObject(new RandomValue(random, NONSENSE_SHARE));
}

function randomObject(value: RandomValue): object {
  const {
    "lavadspx.echo": lavadspxEcho,
    "lavalink-filter-plugin.echo": echo,
    "lavalink-filter-plugin.reverb": reverb,
    ...lavadspx
  } = FILTER_TABLE.lavalinkPlugins;
  const pluginFilters = {
    tonearm: value.ofSome(FILTER_TABLE.tonearm),
    ...value.ofSome({ ...lavadspx, reverb, echo: lavadspxEcho }),
    "lavalink-filter-plugin": value.ofSome({ echo, reverb }),
  };
  return { ...value.ofSome(FILTER_TABLE.protocol), pluginFilters };
}

class RandomValue {
  readonly #random: () => number;
  readonly #nonsenseShare: number;

  constructor(random: () => number, nonsenseShare: number) {
    this.#random = random;
    this.#nonsenseShare = nonsenseShare;
  }

  ofSome(entries: Readonly<Record<string, FilterEntry>>): object {
    const some = Object.entries(entries).filter(() => this.#random() < 0.2);
    const known = some.map(([name, entry]) => [name, this.#orNonsense(() => this.#entry(entry))]);
    return { ...Object.fromEntries(known), ...(this.#isNonsense() ? { wobble: { depth: 1 } } : {}) };
  }

  #entry(entry: FilterEntry): unknown {
    if (entry.kind === "number") return this.#number(entry.value);
    if (entry.kind === "object") return this.#object(entry.members);
    const length = Math.floor(this.#random() * BANDS_MAX);
    return Array.from({ length }, () => this.#object(entry.members));
  }

  #object(members: Members): object {
    const present = Object.entries(members).filter(([, member]) => {
      const isRequired = "numberType" in member && member.defaultValue === undefined;
      return isRequired || this.#random() < 0.8;
    });
    return Object.fromEntries(present.map(([name, member]) => [name, this.#orNonsense(() => this.#member(member))]));
  }

  #member(member: Member): unknown {
    if ("choices" in member) return this.#pick(member.choices);
    if ("numberType" in member) return this.#number(member);
    if (!("item" in member)) return this.#random() < 0.5;
    return Array.from({ length: Math.floor(this.#random() * member.countMax) }, () => this.#number(member.item));
  }

  #number(member: NumberMember): number {
    const { min = -Infinity, max = Infinity, isMinExcluded = false, numberType, defaultValue = 0 } = member;
    const highest = numberType === "integer" ? Math.min(max, INT32_MAX) : max;
    const cut = Math.min(Math.max(this.#limited(member), min), highest);
    const value = numberType === "integer" ? Math.floor(cut) : numberType === "float" ? Math.fround(cut) : cut;
    return isMinExcluded && value <= min ? defaultValue : value;
  }

  #limited({ min = -1, max = Infinity, unit }: NumberMember): number {
    const kind = this.#random();
    if (kind < 0.15) return this.#pick(EDGES) ?? 0;
    if (kind < 0.25) return this.#pick([min, Math.min(max, 1e9)]) ?? 0;
    if (max === Infinity) return min + this.#random() * (this.#random() < 0.3 ? 20 : 1.5);
    const usualMax = unit === "ms" && this.#random() < 0.9 ? Math.min(max, USUAL_MS_MAX) : max;
    return min + this.#random() * (usualMax - min);
  }

  #orNonsense(value: () => unknown): unknown {
    return this.#isNonsense() ? this.#pick(NONSENSE) : value();
  }

  #isNonsense(): boolean {
    return this.#nonsenseShare > 0 && this.#random() < this.#nonsenseShare;
  }

  #pick<T>(choices: readonly T[]): T | undefined {
    return choices[Math.floor(this.#random() * choices.length)];
  }
}
