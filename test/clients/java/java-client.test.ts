// The official client for Java from Maven Central, unmodified. In a ring of its own, as it needs a JDK and Maven.

import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { startStage } from "../../support/start-stage.ts";
import { ProcessDriver } from "../process-driver.ts";
import { tellStory } from "../story.ts";
import { makeSong } from "../two-tone-song.ts";

/** What `npm run test:java-client` has built. */
const CLASS_PATH = ["target/classes/", "target/dependency/*"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .join(delimiter);
let stage: Stage;

beforeAll(async () => {
  stage = await startStage({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => stage.close());

it("lavalink-client understands the node, and the listener hears the music", async () => {
  await tellStory(stage, {
    name: "dev.arbjerg:lavalink-client",
    afterDrop: "resumes",
    create: (seat) => new ProcessDriver({ command: "java", args: ["-cp", CLASS_PATH, "JavaClient"] }, seat),
  });
  expect(() => stage.discord.assertClean()).not.toThrow();
});
