// A library that is loaded already, for decoders that would wait for it otherwise.

import { Loadable } from "../../src/media/decode/codec-modules.ts";

export async function loaded<T>(library: T): Promise<Loadable<T>> {
  const loadable = new Loadable(async () => library);
  await loadable.load();
  return loadable;
}
