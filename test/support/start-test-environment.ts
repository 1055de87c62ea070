// A whole node between a fake Discord and a fake web site, for scenarios. The main thread's code runs from the sources,
// the other threads from dist (test/support/build-once.ts compiles it first).

import { TestEnvironment, type TestEnvironmentOptions } from "../../lab/test-environment/test-environment.ts";

export const MEDIA_ENTRY = new URL("../../dist/node/src/media/main.js", import.meta.url);
export const PROBE_ENTRY = new URL("../../dist/node/src/media/probe-main.js", import.meta.url);
const PLUGIN_ENTRY = new URL("../../dist/node/src/plugin-host/runtime/main.js", import.meta.url);
export const BUILTIN_FOLDER = new URL("../../dist/node/plugins/", import.meta.url);
export const PACER_ENTRY = new URL("../../dist/node/src/media/pacer-main.js", import.meta.url);
const CODEC_ENTRY = new URL("../../dist/node/src/media/codec-main.js", import.meta.url);

/** The thread entries of a node in a test run. */
export const TEST_ENTRIES = {
  mediaEntry: MEDIA_ENTRY,
  probeEntry: PROBE_ENTRY,
  codecEntry: CODEC_ENTRY,
  pacerEntry: PACER_ENTRY,
  pluginEntry: PLUGIN_ENTRY,
};

export function startTestEnvironment(options: TestEnvironmentOptions = {}): Promise<TestEnvironment> {
  return TestEnvironment.start({
    ...TEST_ENTRIES,
    plugins: { builtinFolder: BUILTIN_FOLDER },
    ...options,
  });
}
