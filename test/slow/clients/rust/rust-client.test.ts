// lavalink-rs from crates.io, unmodified; cargo compiles its driver first.

import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../../lab/test-environment/test-environment.ts";
import { ProcessDriver } from "../../../integration/clients/process-driver.ts";
import { runScenario } from "../../../integration/clients/story.ts";
import { makeSong } from "../../../integration/clients/two-tone-song.ts";
import { startTestEnvironment } from "../../../support/start-test-environment.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const PROGRAM = `${FOLDER}target/debug/rust-client`;
const hasCargo = spawnSync("cargo", ["--version"]).status === 0;
let env: TestEnvironment;

beforeAll(async () => {
  if (!hasCargo) return;
  execFileSync("cargo", ["build", "--quiet", "--locked", "--manifest-path", `${FOLDER}Cargo.toml`]);
  env = await startTestEnvironment({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => env?.close());

// Needs cargo and crates.io.
it.skipIf(!hasCargo)("lavalink-rs works with the node, and the listener receives the music", async () => {
  await runScenario(env, {
    name: "lavalink-rs",
    afterDrop: "resumes",
    create: (binding) => new ProcessDriver({ command: PROGRAM, args: [] }, binding),
  });
  expect(() => env.discord.assertClean()).not.toThrow();
});
