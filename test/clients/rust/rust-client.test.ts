// lavalink-rs from crates.io, unmodified. In a ring of its own, as it has to be compiled first.

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { startStage } from "../../support/start-stage.ts";
import { ProcessDriver } from "../process-driver.ts";
import { tellStory } from "../story.ts";
import { makeSong } from "../two-tone-song.ts";

/** What `npm run test:rust-client` has built. */
const PROGRAM = fileURLToPath(new URL("target/debug/rust-client", import.meta.url));
let stage: Stage;

beforeAll(async () => {
  stage = await startStage({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => stage.close());

it("lavalink-rs understands the node, and the listener hears the music", async () => {
  await tellStory(stage, {
    name: "lavalink-rs",
    afterDrop: "resumes",
    create: (seat) => new ProcessDriver({ command: PROGRAM, args: [] }, seat),
  });
  expect(() => stage.discord.assertClean()).not.toThrow();
});
