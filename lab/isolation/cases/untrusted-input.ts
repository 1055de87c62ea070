// Attackers without the password, or with a connection only: unfinished requests, wrong passwords, upgrades, WebSockets
// that do not read.

import { WebSocket } from "ws";
import { sleep } from "../../sleep.ts";
import { type Attack, summary } from "../harness/attack.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";

/** A number of connections that each write this, and then wait without closing. */
function connects(
  name: string,
  what: string,
  count: number,
  text: string | ((index: number) => string),
  options: Partial<HostileCase> = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => async () => {
      let answered = 0;
      for (let index = 0; index < count; index++) {
        const socket = await attack.connect();
        socket.once("data", () => {
          answered += 1;
        });
        socket.write(typeof text === "string" ? text : text(index));
      }
      await sleep(attack.seconds * 1000);
      return `${count} connections, ${answered} of them answered`;
    },
  };
}

async function wrongPasswords(attack: Attack): Promise<string> {
  const endsAtMs = performance.now() + attack.seconds * 1000;
  const statuses: number[] = [];
  const tryPassword = async (): Promise<void> => {
    while (performance.now() < endsAtMs) {
      const { status } = await attack.http
        .get("/v4/info", { password: `guess ${attack.random()}` })
        .catch(() => ({ status: 0 })); // cut off, which is an answer too
      statuses.push(status);
    }
  };
  await Promise.all(Array.from({ length: 32 }, tryPassword));
  return summary(statuses);
}

/** WebSockets of the node, opened with the password; `onOpen` handles each. */
function opens(
  name: string,
  what: string,
  count: number,
  onOpen: (socket: WebSocket, attack: Attack) => void,
): HostileCase {
  return {
    name,
    what,
    arm: (attack) => async () => {
      const codes: number[] = [];
      for (let index = 0; index < count; index++) {
        const socket = new WebSocket(`${attack.http.url.replace("http", "ws")}/v4/websocket`, {
          headers: {
            Authorization: attack.http.password,
            "User-Id": String(690_000 + index),
            "Client-Name": "attacker/1",
          },
        });
        attack.onClose(() => socket.terminate());
        socket.on("error", () => undefined); // refused or cut off: `close` reports it
        socket.on("close", (code) => codes.push(code));
        socket.on("open", () => onOpen(socket, attack));
      }
      await sleep(attack.seconds * 1000);
      return `${count} sockets, closed: ${summary(codes) || "none"}`;
    },
  };
}

function everyMillisecond(socket: WebSocket, work: () => void): void {
  const timer = setInterval(() => (socket.readyState === socket.OPEN ? work() : clearInterval(timer)), 1);
}

const UPGRADE =
  "GET /v4/websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: " +
  "13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nUser-Id: 1\r\n";

export const untrustedInput: HostileLayer = {
  layer: "untrusted-input",
  cases: [
    connects("unfinished-heads", "500 requests whose header never ends", 500, "GET /version HTTP/1.1\r\nHost: x\r\nX-"),
    connects(
      "unfinished-bodies",
      "500 requests whose body never arrives",
      500,
      "PATCH /v4/sessions/x/players/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
        "4000000\r\n\r\n{",
    ),
    connects("silent-connections", "1,000 connections that send nothing", 1000, ""),
    connects(
      "idle-connections",
      "500 connections that stay open after an answer",
      500,
      "GET /version HTTP/1.1\r\nHost: x\r\n\r\n",
    ),
    connects(
      "pipelined",
      "20 connections of 5,000 requests each, answers unread",
      20,
      "GET /version HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5000),
    ),
    connects(
      "pipelined-upgrades",
      "200 upgrades behind a request that is not answered yet",
      200,
      "GET /v4/loadtracks?identifier=http%3A%2F%2F127.0.0.1%3A9%2F HTTP/1.1\r\nHost: x\r\n\r\n" +
        `${UPGRADE}\r\n`.repeat(50),
      { isQuick: true },
    ),
    connects(
      "h2c-upgrades",
      "200 upgrades to HTTP/2 behind a request",
      200,
      "GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET /version HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, " +
        "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    ),
    connects("http2-preface", "200 connections that speak HTTP/2 at once", 200, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    connects(
      "large-heads",
      "100 requests with headers of a megabyte",
      100,
      `GET /version HTTP/1.1\r\nHost: x\r\n${`X-Y: ${"z".repeat(1000)}\r\n`.repeat(1000)}\r\n`,
    ),
    connects(
      "many-headers",
      "100 requests of 20,000 headers",
      100,
      `GET /version HTTP/1.1\r\nHost: x\r\n${"a:b\r\n".repeat(20_000)}\r\n`,
    ),
    connects(
      "upgrades-without-password",
      "1,000 upgrades with a wrong password",
      1000,
      `${UPGRADE}Authorization: wrong\r\n\r\n`,
    ),
    connects("half-upgrades", "500 upgrades whose header never ends", 500, UPGRADE),
    connects(
      "chunked-endless",
      "50 bodies in chunks of one byte",
      50,
      "POST /v4/decodetracks HTTP/1.1\r\nHost: x\r\nAuthorization: wrong\r\nTransfer-Encoding: " +
        `chunked\r\n\r\n${"1\r\n[\r\n".repeat(20_000)}`,
    ),
    connects(
      "garbage",
      "200 connections that speak no HTTP",
      200,
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(1000),
    ),
    {
      name: "wrong-passwords",
      what: "wrong passwords, 32 at a time",
      isQuick: true,
      arm: (attack) => () => wrongPasswords(attack),
    },
    opens("sessions", "300 sessions of 300 users", 300, () => undefined),
    opens("socket-unread", "50 sockets that do not read and are sent their pongs", 50, (socket) => {
      socket.pause();
      everyMillisecond(socket, () => {
        for (let count = 0; count < 100 && socket.bufferedAmount < 2 ** 20; count++) socket.ping(Buffer.alloc(125));
      });
    }),
    opens("socket-flood", "20 sockets that send 64 kB of text as fast as it is accepted", 20, (socket) =>
      everyMillisecond(socket, () => (socket.bufferedAmount < 2 ** 22 ? socket.send("[".repeat(65_536)) : undefined)),
    ),
    opens("socket-large", "a message of 32 MiB on 10 sockets", 10, (socket) =>
      socket.send(Buffer.alloc(32 * 2 ** 20, 0x20)),
    ),
    opens("socket-fragments", "messages in fragments of one byte on 10 sockets", 10, (socket) =>
      everyMillisecond(socket, () => {
        for (let count = 0; count < 500 && socket.bufferedAmount < 2 ** 20; count++) socket.send("x", { fin: false });
      }),
    ),
    {
      name: "v3-equalizer",
      what: "op equalizer of v3 with 4 MiB of bands",
      arm: (attack) => {
        const bands = `{"op":"equalizer","guildId":"1","bands":[${"{},".repeat(1_390_000)}{}]}`;
        return async () => {
          const bot = await attack.openSession({ path: "/v3/websocket" }).catch(() => undefined); // a node without v3
          if (bot === undefined) return "no v3 here";
          for (let count = 0; count < 3; count++) bot.send(bands);
          await sleep(attack.seconds * 1000);
          return "sent three times";
        };
      },
    },
    {
      name: "v3-digits",
      what: "op volume of v3 with 4 million digits",
      arm: (attack) => async () => {
        const bot = await attack.openSession({ path: "/v3/websocket" }).catch(() => undefined); // a node without v3
        bot?.send(`{"op":"volume","guildId":"1","volume":${"9".repeat(4_000_000)}}`);
        await sleep(attack.seconds * 1000);
        return bot === undefined ? "no v3 here" : "sent";
      },
    },
  ],
};
