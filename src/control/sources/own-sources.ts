// The sources that are part of the node itself; those of sites are plugins. Main thread.

import { HttpSource } from "./http/source.ts";
import { LocalSource } from "./local/source.ts";
import type { Prober, Source } from "./source.ts";

interface OwnSourcesOptions {
  readonly isEnabled: { readonly http: boolean; readonly local: boolean };
  /** Folders below which local files may be read, absolute real paths. */
  readonly localRoots: readonly string[];
  readonly probe: Prober;
}

/** Those that are switched on. Between them, sources of plugins are asked; `http` takes what nobody else wants. */
export function createOwnSources({ isEnabled, localRoots, probe }: OwnSourcesOptions): {
  readonly local: readonly Source[];
  readonly http: readonly Source[];
} {
  return {
    local: isEnabled.local ? [new LocalSource({ probe, roots: localRoots })] : [],
    http: isEnabled.http ? [new HttpSource(probe)] : [],
  };
}
