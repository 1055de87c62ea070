// The filters that plugins offer: their modules for audio workers, the checks of their settings, and those that have
// been removed from players because of faults. Main thread; one for the node.

import type { FilterModule } from "../../bridge/commands.ts";
import type { FilterManifest } from "../../bridge/plugin-messages.ts";
import type { Member, ObjectFilter } from "../../filters/filter-entry.ts";
import type { FilterFaultReport, ModuleFilter } from "../../filters/module-filters.ts";
import type { Logger } from "../../log/log.ts";
import type { FilterSetting, FilterSettingsSchema } from "../../plugin-api/plugin.ts";

/** Workers lost to one filter, after which it is refused. Each loss is a gap for all players of that worker. */
const WORKER_LOSSES_MAX = 3;

/** What one plugin offers. */
export interface OfferedFilters {
  readonly plugin: string;
  readonly filters: readonly FilterManifest[];
  /** Why the plugin is off. */
  readonly trouble: string | undefined;
}

export class PluginFilters {
  readonly #list: () => readonly OfferedFilters[];
  readonly #logger: Logger;
  readonly #entries = new WeakMap<FilterSettingsSchema, ObjectFilter>();
  /** Faults that are in the log, by module and reason: one line for each version of a filter. */
  readonly #logged = new Set<string>();
  /** Workers lost, by module. */
  readonly #losses = new Map<string, number>();

  constructor({ list, logger }: { readonly list: () => readonly OfferedFilters[]; readonly logger: Logger }) {
    this.#list = list;
    this.#logger = logger;
  }

  /** For audio workers; also those of plugins that are off, as players may still have them. */
  get modules(): readonly FilterModule[] {
    return [...this.#byName].map(([name, { filter }]) => ({ name, url: filter.module }));
  }

  /** Those that clients can set, for `/v4/info`. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter((name) => this.find(name)?.trouble === undefined);
  }

  /** Undefined: no plugin has it. */
  find(name: string): ModuleFilter | undefined {
    const found = this.#byName.get(name);
    if (found === undefined) return undefined;
    const { plugin, filter, trouble } = found;
    const losses = this.#losses.get(filter.module) ?? 0;
    const lossText = `it has stopped ${losses} audio workers; it can be set again once its plugin is reloaded`;
    return { plugin, entry: this.#entryOf(filter), trouble: losses < WORKER_LOSSES_MAX ? trouble : lossText };
  }

  /** A player has lost a filter. */
  onFault({ filter: name, reason, message, guildId }: FilterFaultReport): void {
    const found = this.#byName.get(name);
    if (found === undefined) return;
    const { plugin, filter } = found;
    if (reason === "workerLost") this.#losses.set(filter.module, (this.#losses.get(filter.module) ?? 0) + 1);
    const key = `${reason} ${filter.module}`;
    if (this.#logged.has(key)) return;
    this.#logged.add(key);
    const text = "filter of a plugin removed from a player; further faults of this kind are not logged";
    this.#logger.error(text, { plugin, filter: name, reason, message, guildId });
  }

  /** Of two plugins with a filter of one name, the first has it. */
  get #byName(): ReadonlyMap<string, { plugin: string; filter: FilterManifest; trouble: string | undefined }> {
    const all = this.#list().flatMap(({ plugin, filters, trouble }) =>
      filters.map((filter) => [filter.name, { plugin, filter, trouble }] as const),
    );
    return new Map(all.toReversed());
  }

  #entryOf({ settings }: FilterManifest): ObjectFilter {
    const entry = this.#entries.get(settings) ?? entryOf(settings);
    this.#entries.set(settings, entry);
    return entry;
  }
}

/** The settings as an entry of the filter table, so that they are checked as all filters are. */
function entryOf(settings: FilterSettingsSchema): ObjectFilter {
  const members = Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, memberOf(setting)]));
  return { kind: "object", members, isOff: () => false };
}

function memberOf(setting: FilterSetting): Member {
  const { meaning } = setting;
  switch (setting.type) {
    case "flag":
      return { defaultValue: setting.default, meaning };
    case "choice":
      return { defaultValue: setting.default, choices: setting.names, meaning };
    default: {
      const { default: defaultValue, min, max } = setting;
      return { numberType: setting.type === "integer" ? "integer" : "double", defaultValue, min, max, meaning };
    }
  }
}
