// Real clients from npm, unmodified, each with a separate bot on one node.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { kazagumo } from "./npm/kazagumo.ts";
import { lavacord } from "./npm/lavacord.ts";
import { lavalinkClient } from "./npm/lavalink-client.ts";
import { magmastream } from "./npm/magmastream.ts";
import { moonlink } from "./npm/moonlink.ts";
import { poru } from "./npm/poru.ts";
import { poruV4 } from "./npm/poru-v4.ts";
import { riffy } from "./npm/riffy.ts";
import { shoukaku } from "./npm/shoukaku.ts";
import { runScenario } from "./story.ts";
import { makeSong } from "./two-tone-song.ts";

const CLIENTS = [kazagumo, lavacord, lavalinkClient, magmastream, moonlink, poru, poruV4, riffy, shoukaku];
const home = process.cwd();
let folder: string;
let env: TestEnvironment;

beforeAll(async () => {
  // Some clients write files where the bot was started.
  folder = await mkdtemp(join(tmpdir(), "tonearm-clients-"));
  process.chdir(folder);
  env = await startTestEnvironment({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(async () => {
  await env.close();
  process.chdir(home);
  await rm(folder, { recursive: true, force: true });
});

// Some lose what comes at a bad moment (poru a failed request; lavacord a `ready` that is read with the handshake, which
// a busy machine makes likely): then the scenario runs again.
it.concurrent.each(CLIENTS)("$name works with the node, and the listener receives the music", { retry: 3 }, (client) =>
  runScenario(env, client),
);

it("nothing reached Discord that it would refuse", () => {
  expect(() => env.discord.assertClean()).not.toThrow();
});
