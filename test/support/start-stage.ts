// A whole node between a fake Discord and a fake web site, for scenarios. The main thread's code runs from the sources,
// the other threads from dist (test/support/build-once.ts compiles it first).

import { Stage, type StageOptions } from "../../lab/stage/stage.ts";

export const MEDIA_ENTRY = new URL("../../dist/node/src/media/main.js", import.meta.url);
export const LOOKUP_ENTRY = new URL("../../dist/node/src/media/lookup-main.js", import.meta.url);
const PLUGIN_ENTRY = new URL("../../dist/node/src/plugin-thread/main.js", import.meta.url);
export const BUILTIN_FOLDER = new URL("../../dist/node/plugins/", import.meta.url);
export const PACER_ENTRY = new URL("../../dist/node/src/media/pacer-main.js", import.meta.url);
const CODEC_ENTRY = new URL("../../dist/node/src/media/codec-main.js", import.meta.url);

/** What the threads of a node in a test run. */
export const STAGE_ENTRIES = {
  mediaEntry: MEDIA_ENTRY,
  lookupEntry: LOOKUP_ENTRY,
  codecEntry: CODEC_ENTRY,
  pacerEntry: PACER_ENTRY,
  pluginEntry: PLUGIN_ENTRY,
};

export function startStage(options: StageOptions = {}): Promise<Stage> {
  return Stage.start({
    ...STAGE_ENTRIES,
    plugins: { builtinFolder: BUILTIN_FOLDER },
    ...options,
  });
}
