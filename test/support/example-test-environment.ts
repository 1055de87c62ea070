// A whole node with the plugin of docs/plugins.md before its stand-in, and more plugins where a test has some.

import { fileURLToPath } from "node:url";
import { EXAMPLE_HOST, startExampleSite } from "../../lab/sites/example.ts";
import type { SiteServer } from "../../lab/sites/site-server.ts";
import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";
import { startTestEnvironment } from "./start-test-environment.ts";

const EXAMPLE = fileURLToPath(new URL("../../plugins/example/plugin.mjs", import.meta.url));

interface ExampleTestEnvironmentOptions {
  /** Replaces the one in the repository. */
  readonly path?: string;
  /** Further configuration, as environment variables; plugins from TONEARM_PLUGINS_1 on. */
  readonly config?: Readonly<Record<string, string>>;
}

export interface ExampleTestEnvironment {
  readonly site: SiteServer;
  readonly env: TestEnvironment;
  close(): Promise<void>;
}

export async function startExampleTestEnvironment({
  path = EXAMPLE,
  config,
}: ExampleTestEnvironmentOptions = {}): Promise<ExampleTestEnvironment> {
  const site = await startExampleSite();
  const env = await startTestEnvironment({
    config: {
      TONEARM_PLUGINS_0_PATH: path,
      TONEARM_PLUGINS_0_REQUIRED: "true",
      TONEARM_HOSTS_MUSIC_EXAMPLE_ORG: `${site.url}/${EXAMPLE_HOST}`,
      ...config,
    },
  });
  return {
    site,
    env,
    async close() {
      await env.close();
      await site.close();
    },
  };
}
