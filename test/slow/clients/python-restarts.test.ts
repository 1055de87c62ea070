// Real clients from PyPI, unmodified, whose node is restarted: what each does by its own code.

import { afterAll, beforeAll } from "vitest";
import type { ClientBinding } from "../../integration/clients/client-driver.ts";
import { describeRestarts } from "../../integration/clients/restart-story.ts";
import { PythonClients } from "./python-clients.ts";

let python: PythonClients;

beforeAll(async () => {
  python = await PythonClients.install();
});
afterAll(() => python.remove());

const driven = (name: string, driver: string) => ({
  name,
  create: (binding: ClientBinding) => python.client({ name, driver, afterDrop: "resumes" }).create(binding),
});

describeRestarts([
  { ...driven("wavelink", "wavelink_driver.py"), afterRestart: "resumes" },
  // It does not name its session, but moves its players into the new one.
  { ...driven("lavalink", "lavalink_driver.py"), afterRestart: "starts over" },
  // It names a session only in a new process of the bot, and leaves channels without a player in the new session
  // (`Node.sync_players`).
  { ...driven("mafic", "mafic_driver.py"), afterRestart: "leaves the channel" },
]);
