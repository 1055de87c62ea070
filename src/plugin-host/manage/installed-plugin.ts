// One plugin of the node, built in or a third party's: its runner, its sources as they are known, and how it is doing.
// Main thread.

import type { BackendReport, GivenOptions, PluginManifest } from "../../bridge/plugin-messages.ts";
import type { PluginJson, SourceJson } from "../../control/protocol/sources-json.ts";
import { NodeError, rootCause } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { PlainTreeMap } from "../../lib/plain-tree.ts";
import type { Json } from "../../plugin-api/plugin.ts";
import { pathsOf, withChanges } from "../../plugin-options/option-changes.ts";
import type { PluginRunner, PluginRunnerOptions } from "./plugin-runner.ts";
import { PluginSource } from "./plugin-source.ts";

/** Changes of one plugin's options that wait for the one before; each takes as long as the plugin's set-up. */
const WAITING_CHANGES_MAX = 16;
/** Same limit as for a link. */
const CALL_TIMEOUT_MS = 15_000;

/** Order of its sources: plugins for Lavalink's sources come before files, others after them. */
export type PluginRank = "first" | "middle" | "last";

interface InstalledPluginOptions {
  readonly name: string;
  readonly rank: PluginRank;
  readonly isBuiltIn: boolean;
  /** Known for a built-in plugin before its thread starts. */
  readonly manifest: PluginManifest | undefined;
  readonly clock: Clock;
  /** Its manifest is another one. */
  readonly onTaken?: () => void;
  /** Options for the name that it reports, with these changes. Never rejects. */
  readonly give: (name: string, changes: PlainTreeMap) => Promise<GivenOptions>;
  /** Creates its runner, which requests the options and reports each manifest. */
  readonly createRunner: (listener: Pick<PluginRunnerOptions, "onNamed" | "onManifest">) => PluginRunner;
}

export class InstalledPlugin {
  readonly rank: PluginRank;
  readonly runner: PluginRunner;
  readonly #options: InstalledPluginOptions;
  /** The name that its thread has said last, before it was set up. */
  saidName: string | undefined;
  #manifest: PluginManifest | undefined;
  #sources: readonly PluginSource[] = [];
  /** Changes of its options since the node started. May contain secrets. */
  #changes: PlainTreeMap = {};
  /** Never rejects. */
  #changing: Promise<unknown> = Promise.resolve();
  #waitingChanges = 0;

  constructor(options: InstalledPluginOptions) {
    this.rank = options.rank;
    this.#options = options;
    this.runner = options.createRunner({
      onNamed: (name) => options.give(name, this.#changes),
      onManifest: (manifest) => {
        this.#take(manifest);
        options.onTaken?.();
      },
    });
    if (options.manifest !== undefined) this.#take(options.manifest);
  }

  /** As it names itself; until it has, as the operator has named it. */
  get name(): string {
    return this.#manifest?.name ?? this.#options.name;
  }

  /** Two that start at the same time may say the same name before either is set up. */
  isNamed(name: string): boolean {
    return this.name === name || this.saidName === name;
  }

  get manifest(): PluginManifest | undefined {
    return this.#manifest;
  }

  /** Its working sources: none while it is off. */
  get sources(): readonly PluginSource[] {
    return this.runner.state === "off" ? [] : this.#sources;
  }

  /** Reloads it from disk, after pending changes. Rejects with `plugin-off`. */
  async reload(): Promise<void> {
    if (this.#waitingChanges > 0) await this.#changing;
    await this.runner.reload();
  }

  /**
   * Changes options until the node's next start: the plugin is set up again with them. Rejects, without a change, with
   * `plugin-options-wrong`, `plugin-off`, or `requests-busy`.
   */
  async change(changes: JsonObject): Promise<void> {
    if (this.#waitingChanges >= WAITING_CHANGES_MAX) {
      throw new NodeError("requests-busy", `${this.name}: too many changes of its options at once`);
    }
    this.#waitingChanges += 1;
    const changing = this.#changing.then(() => this.#change(changes));
    this.#changing = changing.catch(() => undefined);
    try {
      await changing;
    } finally {
      this.#waitingChanges -= 1;
    }
  }

  async #change(changes: JsonObject): Promise<void> {
    const all = withChanges(this.#changes, changes);
    try {
      await this.runner.reloadWith((name) => this.#options.give(name, all));
    } catch (error) {
      const cause = rootCause(error);
      throw cause instanceof NodeError && cause.code === "plugin-options-wrong" ? cause : error;
    }
    this.#changes = all;
  }

  /** The result of a call of the plugin. Rejects with the plugin's own error, `plugin-off`, `plugin-lost`. */
  async call(name: string, argument: Json): Promise<Json> {
    const { signal } = new AbortController();
    const request = { type: "call" as const, name, argument };
    const { value } = await this.runner.request(request, { signal, timeoutMs: CALL_TIMEOUT_MS });
    return value;
  }

  toJson(): PluginJson {
    const { state, trouble = null, lossCount, counts } = this.runner;
    return {
      name: this.name,
      version: this.#manifest?.version ?? null,
      isBuiltIn: this.#options.isBuiltIn,
      state,
      trouble,
      losses: lossCount,
      sources: this.#sources.map((source) => source.name),
      counts,
      changedOptions: pathsOf(this.#changes),
    };
  }

  sourcesJson(): SourceJson[] {
    const { state, trouble = null, backends } = this.runner;
    return this.#sources.map(({ name, loads, links }) => ({
      name,
      plugin: this.name,
      state,
      trouble,
      loads: loads.toJson(),
      links: links.toJson(),
      backends: backends.map(backendToJson),
    }));
  }

  /** Counters of its sources are preserved if the new manifest offers the sources again. */
  #take(manifest: PluginManifest): void {
    this.#manifest = manifest;
    const { clock } = this.#options;
    this.#sources = manifest.sources.map((source) => {
      const known = this.#sources.find(({ name }) => name === source.name);
      return new PluginSource(source, { runner: this.runner, clock, known });
    });
  }
}

function backendToJson({ lastError, openUntilMs, ...backend }: BackendReport): SourceJson["backends"][number] {
  return { ...backend, lastError: lastError ?? null, openUntilMs: openUntilMs ?? null };
}
