// lavalink-rs from crates.io, unmodified; cargo compiles its driver first.

import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../../lab/stage/stage.ts";
import { ProcessDriver } from "../../../integration/clients/process-driver.ts";
import { tellStory } from "../../../integration/clients/story.ts";
import { makeSong } from "../../../integration/clients/two-tone-song.ts";
import { startStage } from "../../../support/start-stage.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const PROGRAM = `${FOLDER}target/debug/rust-client`;
const hasCargo = spawnSync("cargo", ["--version"]).status === 0;
let stage: Stage;

beforeAll(async () => {
  if (!hasCargo) return;
  execFileSync("cargo", ["build", "--quiet", "--locked", "--manifest-path", `${FOLDER}Cargo.toml`]);
  stage = await startStage({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => stage?.close());

// Needs cargo and crates.io.
it.skipIf(!hasCargo)("lavalink-rs understands the node, and the listener hears the music", async () => {
  await tellStory(stage, {
    name: "lavalink-rs",
    afterDrop: "resumes",
    create: (seat) => new ProcessDriver({ command: PROGRAM, args: [] }, seat),
  });
  expect(() => stage.discord.assertClean()).not.toThrow();
});
