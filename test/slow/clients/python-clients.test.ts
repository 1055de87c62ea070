// Real clients from PyPI, unmodified, each in a separate process, with a separate bot on one node; and one of them with
// songs of sites.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { describeSitesWith } from "../../integration/clients/site-tests.ts";
import { runScenario } from "../../integration/clients/story.ts";
import { makeSong } from "../../integration/clients/two-tone-song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { PythonClients } from "./python-clients.ts";

let python: PythonClients;
let env: TestEnvironment;

beforeAll(async () => {
  python = await PythonClients.install();
  env = await startTestEnvironment({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(async () => {
  await env.close();
  await python.remove();
});

it.concurrent.each([
  { name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" },
  { name: "lavalink", driver: "lavalink_driver.py", afterDrop: "starts over" },
  { name: "mafic", driver: "mafic_driver.py", afterDrop: "gives up" },
] as const)("$name works with the node, and the listener receives the music", (client) =>
  runScenario(env, python.client(client)),
);

describeSitesWith("wavelink", () =>
  python.client({ name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" }),
);

it("nothing reached Discord that it would refuse", () => {
  expect(() => env.discord.assertClean()).not.toThrow();
});
