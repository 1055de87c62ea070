// A node whose audio workers can be made to fail (fragile-audio.ts), as a process of its own. Reads its settings from the
// environment as `tonearm start` does; writes its log to standard output.

import { loadConfig } from "../../src/config/load-config.ts";
import { createNodeLogger } from "../../src/log-pino.ts";
import { createNode } from "../../src/node.ts";

const { config } = loadConfig({ args: [], cwd: "/nonexistent" });
const logger = createNodeLogger({
  level: "warn",
  format: "json",
  stream: { write: (line) => process.stdout.write(line) },
});
const node = await createNode(config, { logger, mediaEntry: new URL("./fragile-audio.js", import.meta.url) });
process.once("SIGTERM", () => void node.close().then(() => process.exit(0)));
