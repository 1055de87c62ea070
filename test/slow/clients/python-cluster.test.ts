// A real client from PyPI, unmodified, in a cluster whose machine ends.

import { afterAll, beforeAll } from "vitest";
import type { ClientBinding } from "../../integration/clients/client-driver.ts";
import { describeCluster } from "../../integration/clients/cluster-story.ts";
import { PythonClients } from "./python-clients.ts";

let python: PythonClients;

beforeAll(async () => {
  python = await PythonClients.install();
});
afterAll(() => python.remove());

const wavelink = { name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" } as const;

describeCluster([{ name: "wavelink", create: (binding: ClientBinding) => python.client(wavelink).create(binding) }]);
