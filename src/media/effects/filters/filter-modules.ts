// The filters of plugins in an audio worker: imports their modules, once each and before they are used, and makes the
// definitions by which a track's chain creates them. guarded-filter.ts contains their faults. Audio thread.

import type { FilterModule, PlayerId } from "../../../bridge/commands.ts";
import type { Heartbeat } from "../../../bridge/heartbeat.ts";
import { moduleSettingsIn } from "../../../filters/filter-settings.ts";
import type { FilterFactory } from "../../../plugin-api/plugin.ts";
import type { FilterDefinition } from "./filter-definition.ts";
import { type CpuMeter, type FilterFault, GuardedFilter, systemCpuMeter } from "./guarded-filter.ts";

/** A module that has been imported, or cannot be. */
interface LoadedModule {
  readonly name: string;
  readonly url: string;
  readonly create: FilterFactory;
}

/** Reports a filter that was removed from its track. */
export type OnFilterFault = (name: string, fault: FilterFault) => void;

interface FilterModulesOptions {
  /** The worker's: says which player's filter runs, for when the thread is lost. */
  readonly heartbeat: Pick<Heartbeat, "enter" | "leave">;
  /** For tests. */
  readonly importModule?: (url: string) => Promise<unknown>;
  readonly meter?: CpuMeter;
}

/** One per worker. */
export class FilterModules {
  readonly #heartbeat: FilterModulesOptions["heartbeat"];
  readonly #importModule: (url: string) => Promise<unknown>;
  readonly #meter: CpuMeter;
  #loaded: readonly LoadedModule[] = [];
  /** Counts calls of `set`: an import that a newer one has overtaken counts for nothing. */
  #setCount = 0;
  /** Filters that were set before their modules were there can be made now. */
  onLoaded = (): void => undefined;

  constructor({ heartbeat, importModule = (url) => import(url), meter = systemCpuMeter() }: FilterModulesOptions) {
    this.#heartbeat = heartbeat;
    this.#importModule = importModule;
    this.#meter = meter;
  }

  /** Replaces all. Filters in use stay as they are until filters are set again. */
  set(modules: readonly FilterModule[]): void {
    this.#setCount += 1;
    const number = this.#setCount;
    void Promise.all(modules.map((module) => this.#load(module))).then((loaded) => {
      if (number !== this.#setCount) return;
      this.#loaded = loaded;
      this.onLoaded();
    });
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
    return () => this.#loaded.map(definitionOf);
  }

  #define(
    { name, create }: LoadedModule,
    { playerId, onFault }: { readonly playerId: PlayerId; readonly onFault: OnFilterFault },
  ): FilterDefinition {
    const heartbeat = this.#heartbeat;
    return {
      name,
      create: (filters, previous) => {
        const settings = moduleSettingsIn(filters, name);
        if (settings === undefined) return undefined;
        const before = previous instanceof GuardedFilter ? previous : undefined;
        return new GuardedFilter(
          { create, settings, playerId, heartbeat, meter: this.#meter, onFault: (fault) => onFault(name, fault) },
          before,
        );
      },
    };
  }

  /** A module that cannot be imported is a filter that fails at once. Never rejects. */
  async #load({ name, url }: FilterModule): Promise<LoadedModule> {
    const known = this.#loaded.find((module) => module.name === name && module.url === url);
    if (known !== undefined) return known;
    try {
      const module = (await this.#importModule(url)) as { readonly default: FilterFactory }; // the plugin's thread checked it
      return { name, url, create: module.default };
    } catch (error) {
      const create = (): never => {
        throw error;
      };
      return { name, url, create };
    }
  }
}
