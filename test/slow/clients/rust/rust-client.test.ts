// The whole scenario with lavalink-rs.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../../lab/test-environment/test-environment.ts";
import { runScenario } from "../../../integration/clients/story.ts";
import { makeSong } from "../../../integration/clients/two-tone-song.ts";
import { startTestEnvironment } from "../../../support/start-test-environment.ts";
import { compileRustClient, hasCargo, rustClient } from "./rust-client.ts";

let env: TestEnvironment;

beforeAll(async () => {
  if (!hasCargo) return;
  compileRustClient();
  env = await startTestEnvironment({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(() => env?.close());

it.skipIf(!hasCargo)("lavalink-rs works with the node, and the listener receives the music", async () => {
  await runScenario(env, rustClient);
  expect(() => env.discord.assertClean()).not.toThrow();
});
