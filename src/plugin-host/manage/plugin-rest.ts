// The REST routes of plugins: which there are, and how they are served. Main thread; asked by the REST server.

import type { RouteManifest, ServeReply } from "../../bridge/plugin-extensions.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { InstalledPlugin } from "./installed-plugin.ts";

const SERVE_TIMEOUT_MS = 15_000;

/** A request whose query and body are checked. */
interface ServedRequest extends WorkOptions {
  readonly segments: Readonly<Record<string, string>>;
  readonly query: object;
  readonly body: object;
  /** The sources that the client may use. Undefined: all. */
  readonly allowed: AllowedSources | undefined;
}

/** A route of a plugin. */
interface OfferedRoute {
  readonly manifest: RouteManifest;
  /** Rejects with the plugin's own error, `plugin-off`, `plugin-lost`, `load-busy`, `load-timeout`. */
  serve(request: ServedRequest): Promise<ServeReply>;
}

/** One for the node. */
export class PluginRest {
  readonly #listPlugins: () => readonly InstalledPlugin[];

  /** `listPlugins`: those that are not off, in their order. */
  constructor(listPlugins: () => readonly InstalledPlugin[]) {
    this.#listPlugins = listPlugins;
  }

  /** All there are at this moment. */
  list(): readonly OfferedRoute[] {
    return this.#listPlugins().flatMap(({ runner, manifest }) => {
      return (manifest?.routes ?? []).map((route) => ({
        manifest: route,
        serve: ({ signal, allowed, ...request }: ServedRequest) => {
          const { method, path, access } = route;
          const command = {
            type: "serve" as const,
            route: { method, path, access },
            sources: allowed?.names,
            ...request,
          };
          return runner.request(command, { signal, timeoutMs: SERVE_TIMEOUT_MS });
        },
      }));
    });
  }
}
