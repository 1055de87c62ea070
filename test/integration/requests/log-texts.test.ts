// What clients write reaches the log of a real node without control characters and without secrets, beside texts that
// stay as they are.

import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { Bot } from "../../../lab/test-environment/bot.ts";
import { LISTENING, type RunningNode, RunningNodes } from "../../support/running-node.ts";

const PASSWORD = "a password of tests";
const nodes = new RunningNodes();

afterEach(() => nodes.close());

async function running(...args: readonly string[]): Promise<{ node: RunningNode; url: string }> {
  const node = nodes.run(["start", "--server.port=0", `--lavalink.server.password=${PASSWORD}`, ...args]);
  const [, url = ""] = await node.until(LISTENING);
  return { node, url };
}

/** Opens a session with this client name, byte for byte. */
function openSession(url: string, clientName: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: PASSWORD,
      "User-Id": "100000000000000001",
      "Client-Name": clientName,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const sent = request(`${url}/v4/websocket`, { headers }, (response) =>
      reject(new Error(`status ${response.statusCode}`)),
    );
    sent.once("upgrade", (_response, socket) => {
      socket.destroy();
      resolve();
    });
    sent.once("error", reject);
    sent.end();
  });
}

test.each([
  ["text", []],
  ["JSON", ["--tonearm.log.format=json"]],
])("a control character of a client's name is not in the log as %s, and its letters are", async (_format, args) => {
  const { node, url } = await running(...args);
  await openSession(url, "bot\u009b31m\u0085red/1");
  await openSession(url, "J\u00fcrgen/1");
  await node.until(/J\u00fcrgen\/1/);
  expect(node.output()).toMatch(/bot.*31m.*red\/1/);
  expect(node.output()).not.toMatch(/[\u007f-\u009f]/);
});

test.each([
  ["blanks", " ".repeat(40)],
  ["tabs", "\t".repeat(40)],
  ["line breaks", "\r\n".repeat(20)],
])("a secret behind %s in a logged payload is redacted, and the rest of the payload is not", async (_what, gap) => {
  const { node, url } = await running("--logging.request.includePayload=true");
  const bot = await Bot.connect({ url, password: PASSWORD });
  const body = `{"volume"   :   55,"token"${gap}:${gap}"open-sesame-open"}`;
  const headers = { Authorization: PASSWORD, "Content-Type": "application/json" };
  await fetch(`${url}/v4/sessions/${bot.sessionId}/players/1`, { method: "PATCH", headers, body });
  bot.close();
  await node.until(/payload=.*volume/);
  expect(node.output()).toMatch(/volume.{0,6} {3}: {3}55/);
  expect(node.output()).not.toContain("open-sesame-open");
});
