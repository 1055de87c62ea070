// Real clients from npm, unmodified, whose node is restarted: what each does by its own code.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { kazagumo } from "./npm/kazagumo.ts";
import { lavacord } from "./npm/lavacord.ts";
import { lavalinkClient } from "./npm/lavalink-client.ts";
import { magmastream } from "./npm/magmastream.ts";
import { moonlink } from "./npm/moonlink.ts";
import { poru } from "./npm/poru.ts";
import { poruV4 } from "./npm/poru-v4.ts";
import { riffy } from "./npm/riffy.ts";
import { repeatedShoukaku, shoukaku } from "./npm/shoukaku.ts";
import { describeRestarts } from "./restart-story.ts";

const home = process.cwd();
let folder: string;

beforeAll(async () => {
  // Some clients write files where the bot was started.
  folder = await mkdtemp(join(tmpdir(), "tonearm-clients-"));
  process.chdir(folder);
});
afterAll(async () => {
  process.chdir(home);
  await rm(folder, { recursive: true, force: true });
});

describeRestarts([
  { ...lavalinkClient, afterRestart: "resumes" },
  { ...magmastream, afterRestart: "resumes" },
  { ...moonlink, afterRestart: "resumes" },
  { ...riffy, afterRestart: "resumes" },
  // `Node.connect` of shoukaku tries again when a first try fails, but throws the first failure when a later one has
  // succeeded, and closes that connection. While a node starts, the first always fails.
  { ...shoukaku, afterRestart: "gives up" },
  { ...kazagumo, afterRestart: "gives up" },
  { ...repeatedShoukaku, afterRestart: "resumes" },
  // These do not name their session when they connect again. They have not turned resuming on, so it is not stored.
  { ...lavacord, afterRestart: "finds nothing" },
  { ...poru, afterRestart: "finds nothing" },
  { ...poruV4, afterRestart: "finds nothing" },
]);
