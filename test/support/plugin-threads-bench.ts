// Built-in plugins with known manifests whose threads do what a test says.

import type { PluginManifest } from "../../src/bridge/plugin-messages.ts";
import { silentLogger } from "../../src/log/log.ts";
import { Plugins } from "../../src/plugin-host/manage/plugins.ts";
import type { FakeClock } from "./fake-clock.ts";
import { type FakePluginThread, FakePluginThreads } from "./fake-plugin-threads.ts";

export class PluginThreadsBench {
  readonly threads: FakePluginThreads;
  readonly plugins: Plugins;

  /** One plugin for each manifest, in that order. */
  constructor(clock: FakeClock, manifests: readonly PluginManifest[]) {
    this.threads = new FakePluginThreads(clock);
    this.plugins = new Plugins({
      entry: new URL("file:///plugin"),
      threads: this.threads,
      clock,
      logger: silentLogger,
      dataFolder: undefined,
      plans: manifests.map((manifest) => ({
        name: manifest.name,
        rank: "middle",
        isBuiltIn: true,
        isRequired: false,
        isReloadedOnChange: false,
        problem: undefined,
        optionsOf: () => ({}),
        manifest,
        settings: {
          module: manifest.name,
          allow: [],
          hosts: {},
          http: { userAgent: "x", proxyUrl: undefined, connectTimeoutMs: 1, socketTimeoutMs: 1 },
          ownProxyUrl: undefined,
          ownUserAgent: undefined,
          routing: undefined,
        },
      })),
    });
  }

  /** The thread of that plugin, the last one; throws where it has none. */
  threadOf(name: string): FakePluginThread {
    const thread = this.threads.started.findLast(({ start }) => start.settings.module === name);
    if (thread === undefined) throw new Error(`${name} has no thread`);
    return thread;
  }
}
