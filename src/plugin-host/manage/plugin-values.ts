// The values of plugins that outlast their threads: persisted ones of this machine, and those that the machines of a
// cluster share. Main thread; part of plugins.ts.

import type { GivenOptions, Learnt, PersistedValue, PluginEvent, Portable } from "../../bridge/plugin-messages.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PlainTree, PlainTreeMap } from "../../lib/plain-tree.ts";
import type { Logger } from "../../log/log.ts";
import { PersistedStore } from "./persisted-store.ts";

/** What the machines of a cluster share: src/control/cluster/shared-knowledge.ts. */
export interface SharedValues {
  /** Values of a plugin are shared under the same scope only: its options are the same. */
  scopeOf(plugin: string, ...options: readonly unknown[]): string;
  /** What is known by now. */
  valuesOf(plugin: string, scope: string): readonly PersistedValue[];
  /** A plugin of this machine has a new value. */
  set(plugin: string, portable: Portable, value: PersistedValue): void;
  /** A plugin of this machine has deleted that value, as its site refuses it. */
  refuse(plugin: string, scope: string, value: Pick<PersistedValue, "cache" | "key" | "json">): void;
  /** Another machine has found something out about a value of that plugin. */
  onLearnt: (plugin: string, learnt: Learnt) => void;
  close(): void;
}

interface PluginValuesOptions {
  /** As in PersistedStore. */
  readonly folder: string | undefined;
  /** Undefined: the node is alone. */
  readonly shared: SharedValues | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The threads of that plugin are to know what another machine has found out. */
  readonly onLearnt: (name: string, learnt: Learnt) => void;
}

interface PluginSetUp {
  readonly options: PlainTree | undefined;
  readonly changes: PlainTreeMap;
}

export class PluginValues {
  readonly #options: PluginValuesOptions;
  readonly #persisted: PersistedStore;
  /** Under which each plugin shares values now, by its name. */
  readonly #scopes = new Map<string, string>();

  constructor(options: PluginValuesOptions) {
    this.#options = options;
    this.#persisted = new PersistedStore(options);
    const { shared } = options;
    if (shared !== undefined) shared.onLearnt = (name, learnt) => this.#learn(name, learnt);
  }

  /** Those that a new thread of the plugin begins with. Never rejects. */
  async open(
    name: string,
    { options, changes }: PluginSetUp,
  ): Promise<Pick<Extract<GivenOptions, { readonly problem?: undefined }>, "persisted" | "shared">> {
    const { shared } = this.#options;
    const { all: persisted } = await this.#persisted.open(name);
    if (shared === undefined) return { persisted };
    const scope = shared.scopeOf(name, options, changes);
    this.#scopes.set(name, scope);
    return { persisted, shared: { scope, values: shared.valuesOf(name, scope) } };
  }

  /** A thread of the plugin has set a value, or has one no more. */
  onEvent(name: string, event: Extract<PluginEvent, { readonly type: "persist" | "forget" }>): void {
    const { shared } = this.#options;
    const persisted = this.#persisted.get(name);
    if (event.type === "persist") {
      const { value, portable } = event;
      if (portable?.isPersisted !== false) persisted?.persist(value);
      if (portable !== undefined) shared?.set(name, portable, value);
      return;
    }
    const { cache, key, refused } = event;
    persisted?.forget(event);
    if (refused !== undefined) shared?.refuse(name, refused.scope, { cache, key, json: refused.json });
  }

  /** Writes pending values. */
  async close(): Promise<void> {
    this.#options.shared?.close();
    await this.#persisted.close();
  }

  #learn(name: string, learnt: Learnt): void {
    // The options of the plugin are different there.
    if (learnt.scope !== this.#scopes.get(name)) return;
    const persisted = this.#persisted.get(name);
    if (learnt.kind === "refused") persisted?.forgetValue(learnt);
    else if (learnt.isPersisted) persisted?.persist(learnt.value);
    this.#options.onLearnt(name, learnt);
  }
}
