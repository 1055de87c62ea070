// The built-in sources; those of sites are plugins. Main thread.

import { HttpSource } from "./http/source.ts";
import { LocalSource } from "./local/source.ts";
import type { Prober, Source } from "./source.ts";

interface OwnSourcesOptions {
  readonly isEnabled: { readonly http: boolean; readonly local: boolean };
  /** Folders below which local files may be read, absolute real paths. */
  readonly localRoots: readonly string[];
  readonly probe: Prober;
}

/**
 * The enabled built-in sources. Sources of plugins are asked between the two groups; `http` takes the remaining
 * identifiers.
 */
export function createOwnSources({ isEnabled, localRoots, probe }: OwnSourcesOptions): {
  readonly local: readonly Source[];
  readonly http: readonly Source[];
} {
  return {
    local: isEnabled.local ? [new LocalSource({ probe, roots: localRoots })] : [],
    http: isEnabled.http ? [new HttpSource(probe)] : [],
  };
}
