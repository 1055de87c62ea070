// The WebSocket: who may open it, which message is the first, and what happens to frames from the client.

import { type Check, checksOf } from "../workbench/check.ts";
import { aBoolean, exactly, expectMatch, matching, oneOf, where } from "../workbench/expectation.ts";
import { expectStatus, STATS } from "../workbench/shapes.ts";
import type { Workbench } from "../workbench/workbench.ts";

/** Headers of a well-behaved client, without the named ones. */
function headers(bench: Workbench, changes: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const all = { Authorization: bench.http.password, "User-Id": "1", "Client-Name": "kit/1", ...changes };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Handshake headers and the status they get. */
const HANDSHAKES: readonly (readonly [
  name: string,
  changes: Readonly<Record<string, string | undefined>>,
  status: number,
])[] = [
  ["a handshake with every header", {}, 101],
  ["no Client-Name", { "Client-Name": undefined }, 101],
  ["a Client-Name of any form", { "Client-Name": "a b c" }, 101],
  ["a negative User-Id", { "User-Id": "-5" }, 101],
  ["an Origin, as browsers send it,", { Origin: "http://example.com" }, 403],
  ["an empty Session-Id", { "Session-Id": "" }, 101],
  ["no password", { Authorization: undefined }, 401],
  ["a wrong password", { Authorization: "wrong password" }, 401],
  ["no User-Id", { "User-Id": undefined }, 400],
  ["an empty User-Id", { "User-Id": "" }, 400],
  ["User-Id 0", { "User-Id": "0" }, 400],
];

export const webSocketChecks: readonly Check[] = [
  ...HANDSHAKES.flatMap(([name, changes, status]) =>
    checksOf("websocket", [
      [
        `${name} is ${status}`,
        "sheet 4.1",
        async (bench) => {
          const reply = await bench.handshake(headers(bench, changes));
          expectMatch([reply.status, reply.text], [status, ""], "status and body");
        },
      ],
    ]),
  ),
  ...checksOf("websocket", [
    [
      "a User-Id that is not a number gets no session",
      "sheet 4.1",
      async (bench) => {
        const reply = await bench.handshake(headers(bench, { "User-Id": "abc" }));
        expectMatch(reply.status, oneOf(400, 101), "status"); // published: 101 and then a close with 1011
      },
    ],
    [
      "the handshake says Session-Resumed: false and the API version",
      "sheet 4.1",
      async (bench) => {
        const reply = await bench.handshake(headers(bench, {}));
        expectMatch(reply.headers, { "session-resumed": "false", "lavalink-api-version": "4" }, "headers");
      },
    ],
    [
      "a refused handshake has the API version too",
      "sheet 1.1",
      async (bench) => {
        const reply = await bench.handshake(headers(bench, { Authorization: "wrong password" }));
        expectMatch(reply.headers["lavalink-api-version"], "4", "header");
      },
    ],
    [
      "compression is not forced upon a client",
      "sheet 4.1",
      async (bench) => {
        const reply = await bench.handshake(headers(bench, {}));
        expectMatch(reply.headers["sec-websocket-protocol"], undefined, "sub-protocol");
      },
    ],
    [
      "GET without an upgrade is 400",
      "sheet 4.1",
      async ({ http }) => {
        const reply = await http.get("/v4/websocket", { headers: { "User-Id": "1", "Client-Name": "kit/1" } });
        expectMatch([reply.status, reply.text], [400, 'Can "Upgrade" only to "WebSocket".'], "answer");
      },
    ],
    [
      "POST opens nothing",
      "sheet 4.1; recording ws-path-post",
      async ({ http }) => expectMatch((await http.request("POST", "/v4/websocket")).status, oneOf(400, 405), "status"),
    ],
    [
      "a trailing slash is another path",
      "recording trailing-slash",
      async (bench) => expectStatus(await bench.handshake(headers(bench, {}), "/v4/websocket/"), 404),
    ],
    [
      "ready has op, resumed and a session id of 16 letters and digits",
      "sheet 4.3",
      async (bench) => {
        const session = await bench.session();
        const ready = session.messages.find(({ op }) => op === "ready");
        const sessionId = matching(/^[a-z0-9]{16}$/);
        expectMatch(ready, exactly({ op: "ready", resumed: false, sessionId }), "ready");
      },
    ],
    [
      "stats come at once, with every member",
      "sheet 4.3 and 4.5",
      async (bench) => {
        const session = await bench.session();
        const stats = await session.until(({ op }) => op === "stats", "stats");
        const frameStats = where("frame counters or null", (value) => value === null || typeof value === "object");
        expectMatch(stats, exactly({ op: "stats", frameStats, ...STATS }), "stats");
      },
    ],
    [
      "only ready and stats are sent without a request",
      "sheet 4.3",
      async (bench) => {
        const session = await bench.session();
        await session.until(({ op }) => op === "stats", "stats");
        await session.ping();
        expectMatch(session.messages.map(({ op }) => op).sort(), ["ready", "stats"], "messages");
      },
    ],
    [
      "each connection has its own session",
      "sheet 4.2",
      async (bench) => {
        const [first, second] = [await bench.session(), await bench.session()];
        expectMatch(
          second.sessionId,
          where("another id", (id) => id !== first.sessionId),
          "sessionId",
        );
        await first.ping();
      },
    ],
    ["a ping gets a pong", "sheet 4.1", async (bench) => (await bench.session()).ping()],
    [
      "text from the client is ignored",
      "sheet 2.11",
      async (bench) => {
        const session = await bench.session();
        for (const text of ['{"op":"play","guildId":"1"}', "{", "", "x".repeat(9000)]) session.send(text);
        await session.ping();
        expectStatus(await bench.http.get(`/v4/sessions/${session.sessionId}/players`), 200);
      },
    ],
    [
      "a binary frame closes with 1003",
      "sheet 4.2",
      async (bench) => {
        const session = await bench.session();
        session.send(Buffer.from([1, 2, 3]));
        expectMatch(await session.closed(), { code: 1003, reason: "Binary messages not supported" }, "close");
      },
    ],
    [
      "every message is one JSON object with an op",
      "sheet 4.3",
      async (bench) => {
        const player = await bench.player();
        await player.update({ filters: { volume: 0.5 } });
        await player.session.ping();
        for (const { op } of player.session.messages) expectMatch(op, oneOf("ready", "stats", "playerUpdate", "event"));
      },
    ],
    [
      "resumed is false in the first ready of a session",
      "sheet 4.3",
      async (bench) => {
        const { messages } = await bench.session();
        const ready = messages.find(({ op }) => op === "ready");
        expectMatch(ready?.resumed, aBoolean, "resumed");
        expectMatch(ready?.resumed, false, "resumed");
      },
    ],
  ]),
];
