// One plugin of the node, built in or a third party's: its runner, its sources as they are known, and how it is doing.
// Main thread.

import type { PluginManifest, WayReport } from "../../bridge/plugin-messages.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PluginJson, SourceJson } from "../protocol/sources-json.ts";
import type { PluginRunner } from "./plugin-runner.ts";
import { PluginSource } from "./plugin-source.ts";

/** Where its sources are asked: those that Lavalink has come before files, others behind them. */
export type PluginRank = "first" | "middle" | "last";

export interface InstalledPluginOptions {
  readonly name: string;
  readonly rank: PluginRank;
  readonly isBuiltIn: boolean;
  /** Of a built-in one it is known before its thread is started. */
  readonly manifest: PluginManifest | undefined;
  readonly clock: Clock;
  /** Makes its runner, which tells the plugin of each manifest. */
  readonly createRunner: (onManifest: (manifest: PluginManifest) => void) => PluginRunner;
}

export class InstalledPlugin {
  readonly rank: PluginRank;
  readonly runner: PluginRunner;
  readonly #options: InstalledPluginOptions;
  #manifest: PluginManifest | undefined;
  #sources: readonly PluginSource[] = [];

  constructor(options: InstalledPluginOptions) {
    this.rank = options.rank;
    this.#options = options;
    this.runner = options.createRunner((manifest) => this.#take(manifest));
    if (options.manifest !== undefined) this.#take(options.manifest);
  }

  /** As it names itself; until it has, as the operator has named it. */
  get name(): string {
    return this.#manifest?.name ?? this.#options.name;
  }

  get manifest(): PluginManifest | undefined {
    return this.#manifest;
  }

  /** Those that work: none while it is off. */
  get sources(): readonly PluginSource[] {
    return this.runner.state === "off" ? [] : this.#sources;
  }

  toJson(): PluginJson {
    const { state, trouble = null, lossCount, counts } = this.runner;
    return {
      ...{ name: this.name, version: this.#manifest?.version ?? null, isBuiltIn: this.#options.isBuiltIn, state, trouble },
      ...{ losses: lossCount, sources: this.#sources.map((source) => source.name), counts },
    };
  }

  sourcesJson(): SourceJson[] {
    const { state, trouble = null, ways } = this.runner;
    return this.#sources.map(({ name, loads, links }) => ({
      ...{ name, plugin: this.name, state, trouble },
      ...{ loads: loads.toJson(), links: links.toJson(), ways: ways.map(wayToJson) },
    }));
  }

  /** What its sources have counted so far is kept where it offers them again. */
  #take(manifest: PluginManifest): void {
    this.#manifest = manifest;
    const { clock } = this.#options;
    this.#sources = manifest.sources.map((source) => {
      const known = this.#sources.find(({ name }) => name === source.name);
      return new PluginSource(source, { runner: this.runner, clock, known });
    });
  }
}

function wayToJson({ lastError, closedUntilMs, ...way }: WayReport): SourceJson["ways"][number] {
  return { ...way, lastError: lastError ?? null, closedUntilMs: closedUntilMs ?? null };
}
