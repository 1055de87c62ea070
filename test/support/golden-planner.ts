// The recordings of the route planner in test/fixtures/golden/routeplanner.jsonl: each with its own configuration.

import { type LoadedConfig, loadConfig } from "../../src/config/load-config.ts";
import { type GoldenStep, readRecorded } from "./golden.ts";

interface GoldenPlannerCase {
  readonly name: string;
  /** The part of the configuration that differed from Lavalink's example. */
  readonly config: string;
  /** False where the recorded node refused to start; there are no steps then. */
  readonly isStarted: boolean;
  readonly steps: readonly GoldenStep[];
}

export function readPlannerCases(): readonly GoldenPlannerCase[] {
  return readRecorded("routeplanner.jsonl").map(({ name, config, filters, started, steps = [] }) => ({
    name,
    // `filters` are replacements of lines in the filters of the example, all enabled.
    config: `lavalink:\n  server:\n    filters:\n${(filters ?? []).map(filterLine).join("")}${config}`,
    isStarted: started,
    steps,
  }));
}

export function loadPlannerConfig(text: string, env: Readonly<Record<string, string>> = {}): LoadedConfig {
  return loadConfig({ args: [], env, cwd: "/", readFile: (path) => (path === "/application.yml" ? text : undefined) });
}

/** Loads a track, which requires a whole node. */
export function needsMedia({ request }: GoldenStep): boolean {
  return request.path.startsWith("/v4/loadtracks");
}

function filterLine([, changed]: readonly [string, string]): string {
  return `      ${changed.trim()}\n`;
}
