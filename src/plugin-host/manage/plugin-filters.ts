// The filters that plugins offer: their modules for audio workers, the checks of their settings, and those that have
// been removed from players because of faults. Main thread; one for the node.

import type { FilterModule } from "../../bridge/commands.ts";
import type { FilterManifest } from "../../bridge/plugin-messages.ts";
import type { Member, ObjectFilter } from "../../filters/filter-entry.ts";
import type { FilterFaultReport, ModuleFilter, ModuleFilters } from "../../filters/module-filters.ts";
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

type LoggedKey = FilterFaultReport["reason"] | "leftOut";

/** What has happened with one version of a filter. */
interface History {
  workerLosses: number;
  /** What is in the log. */
  readonly logged: Set<LoggedKey>;
}

export class PluginFilters implements ModuleFilters {
  readonly #list: () => readonly OfferedFilters[];
  readonly #logger: Logger;
  readonly #entries = new WeakMap<FilterSettingsSchema, ObjectFilter>();
  /** By the URLs of their modules, of which each version has its own. */
  readonly #histories = new Map<string, History>();
  /** One of `modules` is refused from now on. */
  onRefused = (): void => undefined;

  constructor({ list, logger }: { readonly list: () => readonly OfferedFilters[]; readonly logger: Logger }) {
    this.#list = list;
    this.#logger = logger;
  }

  /** For audio workers; also those of plugins that are off, as players may still have them. */
  get modules(): readonly FilterModule[] {
    return [...this.#byName].map(([name, { filter }]) => {
      const refusal = this.#refusalOf(filter);
      return { name, url: filter.module, ...(refusal !== undefined && { refusal }) };
    });
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
    return { plugin, entry: this.#entryOf(filter), trouble: this.#refusalOf(filter) ?? trouble };
  }

  /** A client has set it while it cannot be used. */
  onLeftOut(name: string): void {
    const found = this.#byName.get(name);
    const reason = this.find(name)?.trouble;
    if (found === undefined || reason === undefined || !this.#isNews(found.filter, "leftOut")) return;
    const text = "filter of a plugin left out where a client sets it: reload its plugin once the reason is gone";
    this.#logger.warn(`${text}; further ones are not logged`, { plugin: found.plugin, filter: name, reason });
  }

  /** A player has lost a filter. */
  onFault({ filter: name, reason, message, guildId }: FilterFaultReport): void {
    const found = this.#byName.get(name);
    if (found === undefined) return;
    const { plugin, filter } = found;
    if (reason === "workerLost") this.#countLoss(filter);
    if (!this.#isNews(filter, reason)) return;
    const text = "filter of a plugin removed from a player; further faults of this kind are not logged";
    this.#logger.error(text, { plugin, filter: name, reason, message, guildId });
  }

  #countLoss(filter: FilterManifest): void {
    const history = this.#historyOf(filter);
    history.workerLosses += 1;
    if (history.workerLosses === WORKER_LOSSES_MAX) this.onRefused();
  }

  #refusalOf({ module }: FilterManifest): string | undefined {
    const { workerLosses = 0 } = this.#histories.get(module) ?? {};
    if (workerLosses < WORKER_LOSSES_MAX) return undefined;
    return `it has stopped ${WORKER_LOSSES_MAX} audio workers; it can be set again once its module has changed and its plugin is reloaded`;
  }

  /** True the first time. */
  #isNews(filter: FilterManifest, key: LoggedKey): boolean {
    const { logged } = this.#historyOf(filter);
    if (logged.has(key)) return false;
    logged.add(key);
    return true;
  }

  /** Forgets those of modules that no plugin offers any more. */
  #historyOf({ module }: FilterManifest): History {
    const offered = new Set(this.#list().flatMap(({ filters }) => filters.map((filter) => filter.module)));
    for (const url of this.#histories.keys()) if (!offered.has(url)) this.#histories.delete(url);
    const history = this.#histories.get(module) ?? { workerLosses: 0, logged: new Set() };
    this.#histories.set(module, history);
    return history;
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
