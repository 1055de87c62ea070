// Values that plugins keep for the guilds of a session, which outlive the plugins' threads. Counted in the memory of the
// session. Main thread; one per session.

import type { ByteBudget } from "../../lib/byte-budget.ts";

/** For the maps and names of a value. */
const VALUE_SIZE_BYTES = 200;

export interface KeptValue {
  readonly guildId: string;
  readonly plugin: string;
  readonly json: string;
}

export class KeptValues {
  readonly #memory: ByteBudget;
  readonly #onChanged: (guildId: string, plugin: string) => void;
  /** JSON by plugin, by guild. */
  readonly #byGuild = new Map<string, Map<string, string>>();

  /** `onChanged`: a value was set or removed. */
  constructor(memory: ByteBudget, onChanged: (guildId: string, plugin: string) => void = () => undefined) {
    this.#memory = memory;
    this.#onChanged = onChanged;
  }

  /** Whether anything is kept for the guild. */
  has(guildId: string): boolean {
    return this.#byGuild.has(guildId);
  }

  get isEmpty(): boolean {
    return this.#byGuild.size === 0;
  }

  /** All of them. */
  *list(): Iterable<KeptValue> {
    for (const [guildId, ofGuild] of this.#byGuild) {
      for (const [plugin, json] of ofGuild) yield { guildId, plugin, json };
    }
  }

  get(guildId: string, plugin: string): string | undefined {
    return this.#byGuild.get(guildId)?.get(plugin);
  }

  /** Undefined removes it. Throws `memory-exhausted`. */
  set(guildId: string, plugin: string, json: string | undefined): void {
    if (this.#put(guildId, plugin, json)) this.#onChanged(guildId, plugin);
  }

  /** False: it was so before. */
  #put(guildId: string, plugin: string, json: string | undefined): boolean {
    if (json === this.get(guildId, plugin)) return false;
    const ofGuild = this.#byGuild.get(guildId) ?? new Map<string, string>();
    const moreBytes = sizeOf(json) - sizeOf(ofGuild.get(plugin));
    if (moreBytes > 0) this.#memory.take(moreBytes, "a plugin's value");
    else this.#memory.release(-moreBytes);
    if (json === undefined) ofGuild.delete(plugin);
    else ofGuild.set(plugin, json);
    if (ofGuild.size === 0) this.#byGuild.delete(guildId);
    else this.#byGuild.set(guildId, ofGuild);
    return true;
  }

  /** Removes all of a guild. */
  drop(guildId: string): void {
    for (const plugin of this.#pluginsOf(guildId)) this.set(guildId, plugin, undefined);
  }

  /** As `drop`, without a word: all of it goes on elsewhere. */
  release(guildId: string): void {
    for (const plugin of this.#pluginsOf(guildId)) this.#put(guildId, plugin, undefined);
  }

  #pluginsOf(guildId: string): readonly string[] {
    return [...(this.#byGuild.get(guildId)?.keys() ?? [])];
  }
}

function sizeOf(json: string | undefined): number {
  return json === undefined ? 0 : json.length * 2 + VALUE_SIZE_BYTES;
}
