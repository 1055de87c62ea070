// All sources of the node in the order in which they are asked, those of plugins and its own, and how they are doing.
// Main thread; asked by the track loader and the routes.

import type { PluginJson, SourceJson } from "../../control/protocol/sources-json.ts";
import type { Source } from "../../control/sources/source.ts";
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Json } from "../../plugin-api/plugin.ts";
import { CountedSource } from "./counted-source.ts";
import type { PluginRank } from "./installed-plugin.ts";
import type { Plugins } from "./plugins.ts";

/** The sources that are part of the node, each if it is enabled. */
interface OwnSources {
  readonly local: readonly Source[];
  readonly http: readonly Source[];
}

export class NodeSources {
  readonly #plugins: Plugins;
  readonly #local: readonly CountedSource[];
  readonly #http: readonly CountedSource[];

  constructor(plugins: Plugins, { own, clock }: { readonly own: OwnSources; readonly clock: Clock }) {
    const counted = (source: Source): CountedSource => new CountedSource(source, clock);
    this.#plugins = plugins;
    this.#local = own.local.map(counted);
    this.#http = own.http.map(counted);
  }

  list(): readonly Source[] {
    return this.#inOrder<Source>(
      (rank) => this.#plugins.sources(rank),
      (source) => source,
    );
  }

  sourcesJson(): SourceJson[] {
    return this.#inOrder(
      (rank) => this.#plugins.sourcesJson(rank),
      (source) => source.toJson(),
    );
  }

  pluginsJson(): PluginJson[] {
    return this.#plugins.pluginsJson();
  }

  /** As in Plugins. */
  reload(name: string): Promise<PluginJson | undefined> {
    return this.#plugins.reload(name);
  }

  /** As in Plugins. */
  change(name: string, changes: JsonObject): Promise<PluginJson | undefined> {
    return this.#plugins.change(name, changes);
  }

  /** As in Plugins. */
  call(plugin: string, name: string, argument: Json): Promise<Json | undefined> {
    return this.#plugins.call(plugin, name, argument);
  }

  /** protocol-v4.md section 6.3. */
  #inOrder<Item>(ofPlugins: (rank: PluginRank) => readonly Item[], ofOwn: (source: CountedSource) => Item): Item[] {
    return [
      ...ofPlugins("first"),
      ...this.#local.map(ofOwn),
      ...ofPlugins("middle"),
      ...ofPlugins("last"),
      ...this.#http.map(ofOwn),
    ];
  }
}
