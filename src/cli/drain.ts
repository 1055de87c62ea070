// `tonearm drain`: has the node that was started with the same configuration move its players to other machines of its
// cluster, before it is stopped, and prints what came of it as one line. Main thread of a separate process.

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { loadConfig } from "../config/load-config.ts";
import { drainedSchema } from "../control/protocol/node-drain-json.ts";
import type { HealthContext } from "./health.ts";
import { askOwnNode, ownNodeUrl } from "./own-node.ts";

const DEADLINE_S_DEFAULT = 60;
/** Beyond the deadline, for the answer. */
const ANSWER_MS = 10_000;
const ANSWER_LENGTH_MAX = 1000;

/**
 * Resolves with the exit status: 0 when no player is left on the node, 1 when some are, or the node does not answer.
 * @throws NodeError as `loadConfig` does
 */
export async function drainCommand(args: readonly string[], context: HealthContext): Promise<number> {
  const { seconds, rest } = readDeadline(args);
  const { server } = loadConfig({ args: rest, cwd: context.cwd }).config;
  if (server.port === 0) return fail("server.port is 0, so the port of the node is unknown", context);
  if (!/^\d{1,4}$/.test(seconds)) return fail("--deadline takes a number of seconds", context);
  if (server.isPasswordGenerated) return fail("no password is configured: set lavalink.server.password", context);
  const url = ownNodeUrl(server);
  try {
    const response = await askOwnNode(server, {
      method: "POST",
      path: `/v4/tonearm/drain?deadline=${seconds}`,
      // Its UTF-8 bytes as Latin-1 characters: a header can hold only those, and the node decodes them as UTF-8.
      headers: { authorization: Buffer.from(server.password.reveal()).toString("latin1") },
      timeoutMs: Number(seconds) * 1000 + ANSWER_MS,
    });
    if (response.statusCode !== 200) {
      response.destroy();
      return fail(`${url} answers ${response.statusCode}`, context);
    }
    const { moved, left } = drainedSchema.parse(JSON.parse(await textOf(response)));
    const outcome = `${moved} players have gone on at other machines, ${left} are left`;
    context.write(left === 0 ? `drained: ${outcome}\n` : `not drained: ${outcome}: they end with the node\n`);
    return left === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return fail(`${url} is not a node`, context);
    const reason = error instanceof Error && "code" in error ? String(error.code) : "no answer in time";
    return fail(`${url} does not answer (${reason})`, context);
  }
}

/** `--deadline S` or `--deadline=S`, which is none of the configuration. */
function readDeadline(args: readonly string[]): { readonly seconds: string; readonly rest: readonly string[] } {
  const index = args.findIndex((arg) => arg === "--deadline" || arg.startsWith("--deadline="));
  const arg = args[index];
  if (arg === undefined) return { seconds: String(DEADLINE_S_DEFAULT), rest: args };
  const isSplit = arg === "--deadline";
  const seconds = isSplit ? (args[index + 1] ?? "") : arg.slice("--deadline=".length);
  return { seconds, rest: args.toSpliced(index, isSplit ? 2 : 1) };
}

/** Whatever answers there, it is short. */
async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    if (text.length > ANSWER_LENGTH_MAX) throw new SyntaxError("the answer is too long for a node's");
  }
  return text;
}

function fail(reason: string, context: HealthContext): number {
  context.writeError(`not drained: ${reason}\n`);
  return 1;
}
