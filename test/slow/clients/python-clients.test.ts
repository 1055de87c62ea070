// Real clients from PyPI, unmodified, each in a process of its own, with a bot of its own on one node; and one of them
// with songs of sites.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { describeSitesWith } from "../../integration/clients/site-tests.ts";
import { tellStory } from "../../integration/clients/story.ts";
import { makeSong } from "../../integration/clients/two-tone-song.ts";
import { startStage } from "../../support/start-stage.ts";
import { PythonClients } from "./python-clients.ts";

let python: PythonClients;
let stage: Stage;

beforeAll(async () => {
  python = await PythonClients.install();
  stage = await startStage({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(async () => {
  await stage.close();
  await python.remove();
});

it.concurrent.each([
  { name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" },
  { name: "lavalink", driver: "lavalink_driver.py", afterDrop: "starts over" },
  { name: "mafic", driver: "mafic_driver.py", afterDrop: "gives up" },
] as const)("$name understands the node, and the listener hears the music", (client) =>
  tellStory(stage, python.client(client)),
);

describeSitesWith("wavelink", () =>
  python.client({ name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" }),
);

it("nothing reached Discord that it would refuse", () => {
  expect(() => stage.discord.assertClean()).not.toThrow();
});
