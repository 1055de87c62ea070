// Keys and TLS on the real command, in a separate process: `tonearm keys` creates, changes and removes keys while the
// node runs, and a real client library connects over TLS.

import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { quantile } from "../../../lab/report/statistics.ts";
import { Certificates } from "../../support/certificates.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { BIN, LISTENING, type RunningNode, RunningNodes } from "../../support/running-node.ts";

const PASSWORD = "the one password";
const CONFIG = `lavalink.server.password: ${PASSWORD}\ntonearm.keys.file: keys.yml\nserver.port: 0\n`;
/** The node looks every two seconds, twice; the rest is for a machine that has much else to do. */
const SOON = { timeout: 50_000, interval: 200 };

const nodes = new RunningNodes();
const sockets: WebSocket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
  nodes.close();
});

async function start(config = CONFIG): Promise<{ node: RunningNode; url: string; port: number }> {
  const node = nodes.run(["start"], { config });
  const [, url = ""] = await node.until(LISTENING);
  return { node, url, port: Number(new URL(url).port) };
}

/** The output of `tonearm keys …` in the folder of the node. */
function keys({ cwd }: RunningNode, ...args: string[]): string {
  return execFileSync(process.execPath, [BIN, "keys", ...args], { cwd, env: {}, encoding: "utf8" });
}

function keyIn(output: string): string {
  return /is {2}(tonearm_\S+)/.exec(output)?.[1] ?? "";
}

async function statusOf(url: string, authorization: string): Promise<number> {
  return (await fetch(`${url}/v4/info`, { headers: { authorization } })).status;
}

async function connect(port: number, authorization: string): Promise<WebSocket> {
  const headers = { authorization, "user-id": "1" };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v4/websocket`, { headers });
  sockets.push(socket);
  await once(socket, "message");
  return socket;
}

test("a key is added, changed and removed while the node runs, without an effect on other clients", async () => {
  const { node, url, port } = await start();
  const operator = await connect(port, PASSWORD);
  const first = keyIn(keys(node, "add", "music-bot"));
  expect(await statusOf(url, "not a key")).toBe(403);
  await vi.waitFor(async () => expect(await statusOf(url, first)).toBe(200), SOON);
  const bot = await connect(port, first);

  const second = keyIn(keys(node, "rotate", "music-bot"));
  await vi.waitFor(async () => expect(await statusOf(url, second)).toBe(200), SOON);
  expect(await statusOf(url, first)).toBe(200);
  const closed = once(bot, "close");
  keys(node, "retire", "music-bot");
  expect((await closed)[0]).toBe(1008);
  expect([await statusOf(url, first), await statusOf(url, second)]).toEqual([403, 200]);

  const again = await connect(port, second);
  const ended = once(again, "close");
  keys(node, "remove", "music-bot");
  expect((await ended)[0]).toBe(1008);
  expect(await statusOf(url, second)).toBe(403);
  expect(operator.readyState).toBe(WebSocket.OPEN);
  for (const key of [first, second]) expect(node.output()).not.toContain(key);
});

test("a mistake in the key file stops the start and is reported with its line", async () => {
  const cwd = nodes.folder();
  writeFileSync(join(cwd, "keys.yml"), "bot:\n  role: admin\n");
  const node = nodes.run(["start"], { config: CONFIG, cwd });
  expect(await node.exited).toBe(1);
  expect(node.output()).toMatch(/keys\.yml:2:9: expected role to be one of client, viewer, operator, found "admin"/);
});

/** A client by the library's own means; `secure` is all that TLS needs of it. */
const CLIENT = `
import { Connector, Shoukaku } from "shoukaku";
class Nobody extends Connector {
  getId() { return "1"; }
  sendPacket() {}
  listen() {
    const url = "127.0.0.1:" + process.env.PORT;
    this.ready([{ name: "node", url, auth: process.env.KEY, secure: true }]);
  }
}
const shoukaku = new Shoukaku(new Nobody({}), []);
shoukaku.on("ready", async (name) => {
  console.log((await shoukaku.nodes.get(name).rest.getLavalinkInfo()).sourceManagers.join());
  process.exit(0);
});
shoukaku.on("error", (_name, error) => console.error(error));
`;

test("shoukaku connects over TLS with a key", async () => {
  const certificates = new Certificates();
  certificates.make("node");
  const [certificate, key] = [certificates.path("node.crt"), certificates.path("node.key")];
  const tls = `server.ssl: { certificate: ${certificate}, certificate-private-key: ${key} }\n`;
  const { node, port } = await start(CONFIG + tls);
  const botKey = keyIn(keys(node, "add", "music-bot"));
  await node.until(/client keys changed keys=music-bot/);
  const env = { PORT: String(port), KEY: botKey, NODE_EXTRA_CA_CERTS: certificate, PATH: process.env.PATH };
  const options = { cwd: PROJECT_ROOT, env };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", CLIENT], options);
  expect(stdout).toMatch(/,http\n$/);
  certificates.remove();
});

test("wrong passwords from one address do not slow another down", async () => {
  const { port } = await start();
  expect(await statusOf(`http://127.0.0.1:${port}`, PASSWORD)).toBe(200);
  const flooded: number[] = [];
  const flood = async (password: string) => {
    const floods = Array.from({ length: 16 }, () => askOften(port, { from: "127.0.0.1", password, count: 10 }));
    for (const answers of await Promise.all(floods)) flooded.push(...answers.map(({ status }) => status));
  };
  /** Milliseconds that another client waits for an answer at the same time: the median of sixty. */
  const other = async (password: string) => {
    const asking = { from: "127.0.0.2", password: PASSWORD, count: 60 };
    const [answers] = await Promise.all([askOften(port, asking), flood(password)]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const waits = answers.map(({ ms }) => ms);
    return quantile(waits, 0.5);
  };
  // Right and wrong passwords alternate, so that other load of the machine affects both alike.
  const [right, wrong] = [await other(PASSWORD), await other("wrong")];
  // Ten a second are checked; the others wait.
  expect(flooded.filter((status) => status === 403)).toHaveLength(160);
  expect(Math.min(wrong / right, (await other("wrong")) / (await other(PASSWORD)))).toBeLessThan(2);
  expect(await statusOf(`http://127.0.0.1:${port}`, PASSWORD)).toBe(200);
});

interface Asking {
  readonly from: string;
  readonly password: string;
  readonly count: number;
}

/** One after the other. */
async function askOften(port: number, { from, password, count }: Asking): Promise<{ status: number; ms: number }[]> {
  const agent = new Agent({ keepAlive: true, localAddress: from });
  const answers: { status: number; ms: number }[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    const asking = request({ host: "127.0.0.1", port, path: "/v4/info", agent, headers: { authorization: password } });
    asking.end();
    const [response] = await once(asking, "response");
    response.resume();
    await once(response, "end");
    answers.push({ status: response.statusCode, ms: performance.now() - startMs });
  }
  agent.destroy();
  return answers;
}
