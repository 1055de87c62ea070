// The filters of plugins in an audio worker: imports their modules, once each and before they are used, and makes the
// definitions by which a track's chain creates them. guarded-filter.ts contains their faults. Audio thread.

import { isDeepStrictEqual } from "node:util";
import type { FilterModule, PlayerId } from "../../../bridge/commands.ts";
import type { Heartbeat } from "../../../bridge/heartbeat.ts";
import { moduleSettingsIn } from "../../../filters/filter-settings.ts";
import { FILTER_IMPORT_MS_MAX } from "../../../filters/module-filters.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../log/log.ts";
import type { FilterFactory } from "../../../plugin-api/plugin.ts";
import { FilterBudget } from "./filter-budget.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { type CpuMeter, type FilterFault, GuardedFilter, systemCpuMeter } from "./guarded-filter.ts";

/** A module that does not end importing counts as failed then. */
const IMPORT_MS_MAX = 10_000;

/** A module that has been imported, or cannot be. */
interface LoadedModule {
  readonly name: string;
  readonly create: FilterFactory;
}

/** One of those that were set last. */
interface Entry {
  readonly module: FilterModule;
  /** While it is being imported: the version before, if any. */
  loaded: LoadedModule | undefined;
}

/** Reports a filter that was removed from its track. */
export type OnFilterFault = (name: string, fault: FilterFault) => void;

interface FilterModulesOptions {
  /** The worker's: says which player's filter runs, for when the thread is lost. */
  readonly heartbeat: Pick<Heartbeat, "enter" | "leave">;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
  /** For tests. */
  readonly importModule?: (url: string) => Promise<unknown>;
  readonly meter?: CpuMeter;
}

/** One per worker. */
export class FilterModules {
  readonly #heartbeat: FilterModulesOptions["heartbeat"];
  readonly #clock: Clock;
  readonly #logger: FilterModulesOptions["logger"];
  readonly #importModule: (url: string) => Promise<unknown>;
  readonly #meter: CpuMeter;
  readonly #budget: FilterBudget;
  #entries: readonly Entry[] = [];
  /** The filter of that name is another one, or is there now, or has gone: it takes effect when filters are set. */
  onChanged = (_name: string): void => undefined;

  constructor({
    heartbeat,
    clock,
    logger,
    importModule = (url) => import(url),
    meter = systemCpuMeter(),
  }: FilterModulesOptions) {
    this.#heartbeat = heartbeat;
    this.#clock = clock;
    this.#logger = logger;
    this.#importModule = importModule;
    this.#meter = meter;
    this.#budget = new FilterBudget(meter.nowMs);
  }

  /** Replaces all. Filters in use stay as they are until filters are set again. */
  set(modules: readonly FilterModule[]): void {
    const before = this.#entries;
    this.#entries = modules.map((module) => {
      const known = before.find((entry) => isDeepStrictEqual(entry.module, module));
      return known ?? this.#begin(module, before.find((entry) => entry.module.name === module.name)?.loaded);
    });
    const names = new Set(modules.map(({ name }) => name));
    for (const { module } of before) if (!names.has(module.name)) this.onChanged(module.name);
  }

  /** The definitions for the filters of one track's chain. */
  definitionsFor(playerId: PlayerId, onFault: OnFilterFault): () => readonly FilterDefinition[] {
    // By their module: the same one at each call, so that a filter continues with the state of the one before.
    const made = new WeakMap<LoadedModule, FilterDefinition>();
    const definitionOf = (module: LoadedModule): FilterDefinition => {
      const definition = made.get(module) ?? this.#define(module, { playerId, onFault });
      made.set(module, definition);
      return definition;
    };
    return () => this.#entries.flatMap(({ loaded }) => (loaded === undefined ? [] : [definitionOf(loaded)]));
  }

  #define(
    { name, create }: LoadedModule,
    { playerId, onFault }: { readonly playerId: PlayerId; readonly onFault: OnFilterFault },
  ): FilterDefinition {
    const shared = { heartbeat: this.#heartbeat, meter: this.#meter, budget: this.#budget };
    return {
      name,
      create: (filters, previous) => {
        const settings = moduleSettingsIn(filters, name);
        if (settings === undefined) return undefined;
        const before = previous instanceof GuardedFilter ? previous : undefined;
        return new GuardedFilter(
          { create, settings, playerId, ...shared, onFault: (fault) => onFault(name, fault) },
          before,
        );
      },
    };
  }

  #begin(module: FilterModule, loaded: LoadedModule | undefined): Entry {
    const entry = { module, loaded };
    void this.#load(module).then((loaded) => {
      entry.loaded = loaded;
      if (this.#entries.includes(entry)) this.onChanged(module.name);
    });
    return entry;
  }

  /** A module that cannot be imported is a filter that fails at once. Never rejects. */
  async #load({ name, url, refusal }: FilterModule): Promise<LoadedModule> {
    try {
      if (refusal !== undefined) throw new Error(refusal);
      const module = (await this.#import(name, url)) as { readonly default: FilterFactory }; // the plugin's thread checked it
      return { name, create: module.default };
    } catch (error) {
      const create = (): never => {
        throw error;
      };
      return { name, create };
    }
  }

  async #import(name: string, url: string): Promise<unknown> {
    const startMs = this.#meter.cpuMs();
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`importing its module took more than ${IMPORT_MS_MAX} ms`);
      timer = this.#clock.after(IMPORT_MS_MAX, () => reject(error));
    });
    try {
      const module = await Promise.race([this.#importModule(url), late]);
      this.#report(name, this.#meter.cpuMs() - startMs);
      return module;
    } finally {
      timer?.cancel();
    }
  }

  /** `usedMs`: CPU time of the thread meanwhile, a part of which may have gone into audio. */
  #report(filter: string, usedMs: number): void {
    if (usedMs <= FILTER_IMPORT_MS_MAX) return;
    this.#logger.warn(
      `importing the module of the filter ${filter} held up audio for up to ${Math.round(usedMs)} ms, and may take ` +
        `${FILTER_IMPORT_MS_MAX}: it, and what it imports, should compute tables in create, or lazily`,
    );
  }
}
