// A whole node with the plugin of docs/plugins.md before its stand-in, and more plugins where a test has some.

import { fileURLToPath } from "node:url";
import { EXAMPLE_HOST, startExampleSite } from "../../lab/sites/example.ts";
import type { SiteServer } from "../../lab/sites/site-server.ts";
import type { Stage } from "../../lab/stage/stage.ts";
import { startStage } from "./start-stage.ts";

const EXAMPLE = fileURLToPath(new URL("../../plugins/example/plugin.mjs", import.meta.url));

export interface ExampleStageOptions {
  /** In place of the one in the repository. */
  readonly path?: string;
  /** Further configuration, as environment variables; plugins from TONEARM_PLUGINS_1 on. */
  readonly config?: Readonly<Record<string, string>>;
}

export interface ExampleStage {
  readonly site: SiteServer;
  readonly stage: Stage;
  close(): Promise<void>;
}

export async function startExampleStage({ path = EXAMPLE, config }: ExampleStageOptions = {}): Promise<ExampleStage> {
  const site = await startExampleSite();
  const stage = await startStage({
    config: {
      TONEARM_PLUGINS_0_PATH: path,
      TONEARM_PLUGINS_0_REQUIRED: "true",
      TONEARM_HOSTS_MUSIC_EXAMPLE_ORG: `${site.url}/${EXAMPLE_HOST}`,
      ...config,
    },
  });
  return {
    ...{ site, stage },
    async close() {
      await stage.close();
      await site.close();
    },
  };
}
