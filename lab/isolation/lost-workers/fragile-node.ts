// A node whose audio workers can be struck (fragile-audio.ts), in a separate process. Started by lost-workers.ts;
// reports over IPC its address, its log lines about lost workers, and the struck player.

import { BroadcastChannel } from "node:worker_threads";
import { loadConfig } from "../../../src/config/load-config.ts";
import { createLogger } from "../../../src/log/log.ts";
import { createNode } from "../../../src/node.ts";
import { STRUCK_CHANNEL } from "./strikes.ts";

export type FragileNodeMessage =
  | { readonly kind: "listens"; readonly url: string }
  | { readonly kind: "struck"; readonly playerId: number }
  | { readonly kind: "log"; readonly message: string; readonly fields: Readonly<Record<string, unknown>> };

function report(message: FragileNodeMessage): void {
  process.send?.(message);
}

const [, , password = "", workers = "2"] = process.argv;
const { config } = loadConfig({
  args: [],
  cwd: "/nonexistent",
  env: {
    SERVER_ADDRESS: "127.0.0.1",
    SERVER_PORT: "0",
    LAVALINK_SERVER_PASSWORD: password,
    TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
    TONEARM_VOICE_GATEWAY_SCHEME: "ws",
    TONEARM_STATE_ENABLED: "false",
    TONEARM_WORKERS_COUNT: workers,
  },
});
const struck = new BroadcastChannel(STRUCK_CHANNEL);
struck.onmessage = (event) => report({ kind: "struck", playerId: (event as { data: number }).data }); // numbers only
const logger = createLogger((level, message, fields) => {
  // An error does not survive the transfer unchanged; its message has the details.
  if (level === "error") report({ kind: "log", message, fields: { ...fields, error: undefined } });
});
const node = await createNode(config, { logger, mediaEntry: new URL("./fragile-audio.js", import.meta.url) });
process.on("disconnect", () => void node.close().finally(() => process.exit()));
report({ kind: "listens", url: `http://${node.address.host}:${node.address.port}` });
