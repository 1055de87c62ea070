// Asks the node that runs with this configuration for its part of the support bundle. Any program could answer on that
// port, so the response is not trusted and is bounded in size and time. Main thread, `tonearm support`.

import type { IncomingMessage } from "node:http";
import type { NodeConfig } from "../../config/node-config.ts";
import { messageOf } from "../../lib/message-of.ts";
import { NODE_BUNDLE_HEADING } from "../../observability/support-bundle/node-bundle.ts";
import { askOwnNode } from "../own-node.ts";

const TIMEOUT_MS = 5000;
const ANSWER_SIZE_MAX_BYTES = 256 * 1024;
/** The node's part of the bundle, or the reason why it is missing. */
export type NodeAnswer = { readonly text: string } | { readonly reason: string };

/** Never rejects; ends within five seconds. `key` is the key of the pseudonyms for ids. */
export async function askNode(server: NodeConfig["server"], key: string): Promise<NodeAnswer> {
  const { address, port } = server;
  if (server.isPasswordGenerated) {
    return {
      reason: "no password is configured here, and the node generated one at its start: set lavalink.server.password",
    };
  }
  if (port === 0) return { reason: "server.port is 0 here, which is any free port: set the one that the node has" };
  try {
    const response = await askOwnNode(server, {
      path: `/v4/tonearm/support?key=${key}`,
      // The password's UTF-8 bytes as Latin-1 characters: a header can hold only those, and the node decodes them as
      // UTF-8.
      headers: { authorization: Buffer.from(server.password.reveal()).toString("latin1") },
      timeoutMs: TIMEOUT_MS,
    });
    return readAnswer(response.statusCode ?? 0, await textOf(response));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    const why = code ?? messageOf(error);
    const advice = code === "ECONNREFUSED" ? "nothing listens there" : "is server.address the node's?";
    return { reason: `${address}, port ${port}: ${why}; ${advice}` };
  }
}

function readAnswer(status: number, text: string): NodeAnswer {
  if (status === 200 && text.startsWith(`# ${NODE_BUNDLE_HEADING}\n`)) return { text };
  const reasons: Readonly<Record<number, string>> = {
    403: "it answered 403: its password differs from this configuration",
    404: "it answered 404: it is older than this command, or not a Tonearm node",
    429: "it answered 429: too many requests or wrong passwords; wait a minute",
  };
  return { reason: reasons[status] ?? `the program that answers is not a Tonearm node (status ${status})` };
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > ANSWER_SIZE_MAX_BYTES) throw new Error("the answer is too long for a node's");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
