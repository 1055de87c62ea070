// The sources that come with the node, in the order in which they are asked (protocol-v4.md section 6.3). Main thread.

import { HttpSource } from "./http/source.ts";
import { LocalSource } from "./local/source.ts";
import type { Prober, Source } from "./source.ts";

export interface BuiltinSourcesOptions {
  readonly isEnabled: { readonly http: boolean; readonly local: boolean };
  /** Folders below which local files may be read, absolute real paths. */
  readonly localRoots: readonly string[];
  readonly probe: Prober;
}

/** Those that are switched on. Whichever knows an identifier first answers for it. */
export function createBuiltinSources({ isEnabled, localRoots, probe }: BuiltinSourcesOptions): readonly Source[] {
  const sources: Source[] = [];
  if (isEnabled.local) sources.push(new LocalSource({ probe, roots: localRoots }));
  if (isEnabled.http) sources.push(new HttpSource(probe));
  return sources;
}
