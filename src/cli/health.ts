// `tonearm health`: asks the node that was started with the same configuration whether it serves, for a container
// engine or another supervisor, and prints the result as one line. Main thread of a separate process that starts every
// half minute, so it loads only the configuration. It asks `GET /version`, which needs no password, and checks only
// that the main thread answers: a node that is busy or has lost a worker recovers without a restart.

import type { IncomingMessage } from "node:http";
import { loadConfig } from "../config/load-config.ts";
import type { NodeConfig } from "../config/node-config.ts";
import { HEALTH_AGENT, HEALTH_PATH, NODE_HEADER } from "../control/server/health-check.ts";
import { askOwnNode, ownNodeUrl } from "./own-node.ts";
import type { StartContext } from "./start.ts";

/** A main thread that does not answer for this long cannot keep audio playing either. */
const ANSWER_TIMEOUT_MS = 4000;

/** The process environment of the command. */
export interface HealthContext extends Pick<StartContext, "cwd" | "write"> {
  writeError(text: string): void;
  /** Default 4000. */
  readonly timeoutMs?: number;
}

/**
 * Resolves with the exit status: 0 when the node answers, 1 when it does not or is another program.
 * @throws NodeError as `loadConfig` does
 */
export async function healthCommand(args: readonly string[], context: HealthContext): Promise<number> {
  const { server } = loadConfig({ args, cwd: context.cwd }).config;
  if (server.port === 0) return fail("server.port is 0, so it cannot be known where the node listens", context);
  const url = ownNodeUrl(server);
  let answer: IncomingMessage;
  try {
    answer = await ask(server, context.timeoutMs ?? ANSWER_TIMEOUT_MS);
  } catch (error) {
    if (server.tls?.clientAuth === "need" && /^ERR_SSL_/.test(reasonOf(error))) {
      context.write(`healthy: ${url} asks for a certificate, which this command has none of\n`);
      return 0;
    }
    return fail(`${url} does not answer (${reasonOf(error)})`, context);
  }
  const { statusCode: status = 0, headers } = answer;
  if (headers[NODE_HEADER] === undefined) return fail(`${url} is no Lavalink or Tonearm node`, context);
  if (status !== 200) return fail(`${url} answers ${status}`, context);
  context.write(`healthy: ${url} answers\n`);
  return 0;
}

function fail(reason: string, context: HealthContext): number {
  context.writeError(`unhealthy: ${reason}\n`);
  return 1;
}

/** Resolves with the head of the response; the body is not read. Rejects when there is no response in time. */
async function ask(server: NodeConfig["server"], timeoutMs: number): Promise<IncomingMessage> {
  const headers = { "User-Agent": HEALTH_AGENT };
  const answer = await askOwnNode(server, { path: HEALTH_PATH, headers, timeoutMs });
  answer.destroy();
  return answer;
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === "AbortError") return "no answer in time";
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
