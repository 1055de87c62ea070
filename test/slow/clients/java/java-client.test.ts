// The official client for Java from Maven Central, unmodified; Maven compiles its driver first.

import { execFileSync, spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../../lab/test-environment/test-environment.ts";
import { ProcessDriver } from "../../../integration/clients/process-driver.ts";
import { runScenario } from "../../../integration/clients/story.ts";
import { makeSong } from "../../../integration/clients/two-tone-song.ts";
import { startTestEnvironment } from "../../../support/start-test-environment.ts";

const CLASS_PATH = ["target/classes/", "target/dependency/*"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .join(delimiter);
const POM = fileURLToPath(new URL("pom.xml", import.meta.url));
const hasMaven = ["javac", "mvn"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
let env: TestEnvironment;

beforeAll(async () => {
  if (!hasMaven) return;
  execFileSync("mvn", ["--quiet", "--batch-mode", "--file", POM, "process-classes"]);
  env = await startTestEnvironment({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => env?.close());

// Needs a JDK, Maven and Maven Central.
it.skipIf(!hasMaven)("lavalink-client works with the node, and the listener receives the music", async () => {
  await runScenario(env, {
    name: "dev.arbjerg:lavalink-client",
    afterDrop: "resumes",
    create: (binding) => new ProcessDriver({ command: "java", args: ["-cp", CLASS_PATH, "JavaClient"] }, binding),
  });
  expect(() => env.discord.assertClean()).not.toThrow();
});
