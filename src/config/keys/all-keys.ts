// The list of all keys, and reading their values. No other module lists keys. Main thread, at start; its types also
// describe the settings that audio workers receive (bridge/worker-settings.ts).

import { clusterKeys } from "./cluster.ts";
import type { Key, ReadKey } from "./key.ts";
import { operatorKeys } from "./operator.ts";
import { outgoingKeys } from "./outgoing.ts";
import { playingKeys } from "./playing.ts";
import { pluginKeys } from "./plugins.ts";
import type { Secret } from "./secret.ts";
import { serverKeys } from "./server.ts";
import { sourceKeys } from "./sources.ts";
import { stateKeys } from "./state.ts";
import { keysWithoutEffect } from "./without-effect.ts";

/** The values of all keys, in our own units and by our own names: checked, with every default filled in. */
export type KeyValues = ReturnType<typeof readAllKeys>;

/** Read-only at every depth, except within a `Secret`. */
export type DeepReadonly<T> = T extends Secret<unknown> ? T : { readonly [Name in keyof T]: DeepReadonly<T[Name]> };

/** Calls `read` for every key, in the order of the example file, always the same keys. */
export function readAllKeys(read: ReadKey) {
  const values = {
    ...serverKeys(read),
    ...sourceKeys(read),
    ...pluginKeys(read),
    ...outgoingKeys(read),
    ...playingKeys(read),
    ...stateKeys(read),
    ...clusterKeys(read),
    ...operatorKeys(read),
  };
  for (const key of keysWithoutEffect()) read(key);
  return values;
}

/** All keys, in the order of the example file. */
export const ALL_KEYS: readonly Key<unknown>[] = listKeys();

function listKeys(): Key<unknown>[] {
  const keys: Key<unknown>[] = [];
  readAllKeys((key) => {
    keys.push(key);
    return key.defaultValue;
  });
  return keys;
}
