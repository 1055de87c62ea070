import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

let server: ApiServer;
let client: TestClient;
let guildCount = 0;

beforeAll(async () => {
  server = await ApiServer.start();
  client = await server.connect();
});

afterAll(() => server.close());

const sessionPath = (): string => `/v4/sessions/${client.sessionId}`;
const HEADERS = { "Content-Type": "application/json" };

function patch(body: string, query = "") {
  return server.request("PATCH", `${sessionPath()}/players/${++guildCount}${query}`, { body, headers: HEADERS });
}

function list(item: string, count: number): string {
  return `[${new Array(count).fill(item).join(",")}]`;
}

describe("a body that is refused for its size", () => {
  const long = "x".repeat(70_000);
  const digits = "9".repeat(100_000);
  test.each([
    ["too many bands", `{"filters":{"equalizer":${list("{}", 257)}}}`, "filters.equalizer must hold at most 256 items"],
    ["very many bands", `{"filters":{"equalizer":${list("{}", 500_000)}}}`, "has too many values"],
    ["very many values", `{"track":{"userData":{"a":${list("1", 20_000)}}}}`, "at most 16384"],
    ["a number of many digits", `{"position":${digits}}`, "a number in the JSON has more than 400 characters"],
    ["brackets without end", "[".repeat(4_000_000), "nested too deeply"],
    [
      "a long token",
      `{"voice":{"token":"${long}","endpoint":"a","sessionId":"a"}}`,
      "voice.token must have at most 4096",
    ],
    ["a long identifier", `{"identifier":"${long}"}`, "identifier must have at most 65535 characters"],
    ["a very long text", `{"track":{"userData":{"a":"${"x".repeat(2_097_152)}"}}}`, "a text in the JSON has more than"],
    ["a long track", `{"track":{"encoded":"${"A".repeat(1_100_000)}"}}`, "track.encoded must have at most 1048608"],
    [
      "large userData",
      `{"track":{"userData":{"a":"${"x".repeat(262_144)}"}}}`,
      "track.userData must be at most 256 KiB",
    ],
  ])("the error of %s names the limit", async (_name, body, message) => {
    const answer = await patch(body, "?trace=true");
    expect([answer.status, answer.json.message]).toEqual([400, expect.stringContaining(message)]);
    expect(answer.body.length).toBeLessThan(10_000);
  });

  test.each([
    ["POST", "/v4/decodetracks", list("1", 60_000)],
    ["POST", "/v3/decodetracks", list("{}", 30_000)],
    ["POST", "/v4/decodetracks", list("1", 2_000_000)],
    ["PATCH", "/v4/sessions/x", `{"timeout":[${"[],".repeat(8000)}1]}`],
    ["PATCH", "/v4/sessions/x/players/1", `{"filters":{"equalizer":${list('{"band":"a","gain":{}}', 256)}}}`],
    ["PATCH", "/v4/sessions/x/players/1", `{"volume":"${"x".repeat(100_000)}"}`],
  ])("%s %s: the error of a body with very many mistakes names few", async (method, path, body) => {
    const answer = await server.request(method, `${path}?trace=true`, { body, headers: HEADERS });
    expect(answer.status).toBe(400);
    expect(answer.body.length).toBeLessThan(20_000);
  });

  // Each of these once took time by the square of its length: minutes.
  test.each([
    ["invalid digits", `{"volume":"${"9".repeat(2_000_000)}x"}`],
    ["an invalid decimal", `{"filters":{"volume":"${"9".repeat(2_000_000)}x"}}`],
    ["padding within", `{"track":{"encoded":"${"=".repeat(1_000_000)}A"}}`],
    ["a string of escapes that does not end", `"${'\\"'.repeat(2_000_000)}`],
  ])("%s: is refused in one pass", async (_name, body) => {
    expect((await patch(body)).status).toBe(400);
  });
});

describe("a number that is too large for a number", () => {
  const huge = ["1e400", `1${"0".repeat(330)}`, '"1e400"', `"${"9".repeat(330)}"`, "-1e400", `-1${"0".repeat(330)}`];
  const members = [
    ...["position", "endTime", "volume"].map((name) => (value: string) => `{"${name}":${value}}`),
    ...[
      "volume",
      "karaoke.level",
      "timescale.speed",
      "timescale.pitch",
      "rotation.rotationHz",
      "tremolo.frequency",
    ].map((path) => (value: string) => {
      const [filter, member] = path.split(".");
      return `{"filters":{"${filter}":${member === undefined ? value : `{"${member}":${value}}`}}}`;
    }),
    (value: string) => `{"filters":{"equalizer":[{"band":0,"gain":${value}}]}}`,
    (value: string) => `{"filters":{"equalizer":[{"band":${value}}]}}`,
    (value: string) => `{"filters":{"pluginFilters":{"tonearm":{"echo":{"delay":${value}}}}}}`,
  ];
  const bodies = members.flatMap((member) => huge.map((value) => member(value)));

  test.each(bodies.map((body) => [body.length > 80 ? `${body.slice(0, 80)}…` : body, body]))(
    "%s is refused",
    async (_name, body) => {
      expect((await patch(body)).status).toBe(400);
    },
  );

  test("a number too large for the session's timeout is refused, in both versions", async () => {
    for (const value of huge) {
      for (const version of ["v4", "v3"]) {
        const path = `/${version}/sessions/${client.sessionId}`;
        const answer = await server.request("PATCH", path, { body: `{"timeout":${value}}`, headers: HEADERS });
        expect(answer.status).toBe(400);
      }
    }
  });
});

describe("long lists", () => {
  test("long lists of encoded tracks are decoded, in their order", async () => {
    const tracks = Array.from({ length: 6000 }, (_, index) => buildTrack({ title: `Song ${index}` }).encoded);
    for (const version of ["v4", "v3"]) {
      const { status, json } = await server.request("POST", `/${version}/decodetracks`, { body: tracks });
      expect(status).toBe(200);
      expect(json.map(({ encoded }: { encoded: string }) => encoded)).toEqual(tracks);
      expect(json[5999].info.title).toBe("Song 5999");
    }
  });

  test("a long list of encoded tracks with an invalid one is refused before the answer starts", async () => {
    const tracks = new Array(6000).fill(buildTrack().encoded);
    const answer = await server.request("POST", "/v4/decodetracks", { body: [...tracks, "AAAA"] });
    expect([answer.status, answer.json.message]).toEqual([400, expect.stringContaining("cannot decode")]);
  });

  test("a long list of players is answered completely, whatever they contain", async () => {
    const many = await server.connect();
    const path = (guild: number) => `/v4/sessions/${many.sessionId}/players/${guild}`;
    // As deep as a body can be, and with a number that only our own writer supports.
    const nested = `${"[".repeat(197)}99999999999999999999${"]".repeat(197)}`;
    const userData = `{"deep":${nested},"text":"${"x".repeat(10_000)}"}`;
    const body = `{"track":{"encoded":"${buildTrack().encoded}","userData":${userData}}}`;
    for (let guild = 1; guild <= 30; guild++) {
      expect((await server.request("PATCH", path(guild), { body, headers: HEADERS })).status).toBe(200);
    }
    const { status, body: text, json } = await server.request("GET", `/v4/sessions/${many.sessionId}/players`);
    expect(status).toBe(200);
    expect(json.map(({ guildId }: { guildId: string }) => Number(guildId))).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 1),
    );
    expect(text.split(nested)).toHaveLength(31);
  });

  test("long answers that the client does not wait for are dropped, and the node continues", async () => {
    const socket = await openSocket();
    const body = JSON.stringify(new Array(6000).fill(buildTrack().encoded));
    socket.write(requestText("POST", "/v4/decodetracks", body));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    expect((await server.request("GET", "/v4/info")).status).toBe(200);
  });
});

describe("what a session stores", () => {
  test("the values that a session stores are bounded in total: more is refused, and the rest continues", async () => {
    const heavy = await server.connect();
    const session = server.sessions.get(heavy.sessionId)!; // it is connected
    const freeBytes = session.memory.limitBytes - session.memory.usedBytes;
    session.memory.take(freeBytes - 100_000, "the test");
    const encoded = buildTrack().encoded;
    const put = (length: number) =>
      server.request("PATCH", `/v4/sessions/${heavy.sessionId}/players/1`, {
        body: { track: { encoded, userData: { text: "x".repeat(length) } } },
      });
    expect((await put(20_000)).status).toBe(200);
    const refused = await put(150_000);
    expect(refused.json).toMatchObject({ status: 400, message: expect.stringContaining("the session needs 0.1 MB") });
    const { json } = await server.request("GET", `/v4/sessions/${heavy.sessionId}/players/1`);
    expect(json.track.userData.text).toHaveLength(20_000);
    expect((await put(30_000)).status).toBe(200);
    heavy.socket.close();
    await heavy.closed;
    await session.playersGone();
    expect(session.memory.usedBytes).toBe(0);
  });
});

describe("requests that are sent before the answer to the first", () => {
  test("pipelined requests are answered one by one, in their order, those with bodies too", async () => {
    const socket = await openSocket();
    const received = answersOf(socket);
    const bodies = Array.from({ length: 200 }, (_, index) =>
      JSON.stringify({ volume: index, junk: "x".repeat(index * 10) }),
    );
    const path = `${sessionPath()}/players/77`;
    socket.write(bodies.map((body) => requestText("PATCH", path, body)).join(""));
    const answers = await received(200);
    expect(answers.map(({ volume }) => volume)).toEqual(Array.from({ length: 200 }, (_, index) => index));
    socket.destroy();
  });

  test("pipelined requests end with their connection", async () => {
    const socket = await openSocket();
    socket.write(requestText("PATCH", `${sessionPath()}/players/78`, "{}").repeat(1000));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    expect((await server.request("GET", "/v4/info")).status).toBe(200);
  });
});

describe("large bodies", () => {
  test("a large body is not read before the client is known", async () => {
    const body = "x".repeat(17 * 1024);
    const strangers = { method: "POST", headers: HEADERS };
    const refused = await fetch(`http://127.0.0.1:${server.port}/v4/websocket`, { ...strangers, body });
    expect([refused.status, await refused.json()]).toMatchObject([413, { message: expect.stringContaining("16 KiB") }]);
    expect((await fetch(`http://127.0.0.1:${server.port}/v4/websocket`, { ...strangers, body: "x" })).status).toBe(401);
    expect((await patch(`{"volume":1,"x":"${body}"}`)).status).toBe(200);
  });

  test("large bodies beyond the total bound are refused until others are answered", async () => {
    const size = 4 * 1024 * 1024;
    const begun = requestText("POST", "/v4/decodetracks", "x".repeat(size - 1), size);
    const sockets = await Promise.all(Array.from({ length: 17 }, openSocket));
    // The end of the bodies is not sent: they are waited for.
    const answers = sockets.map(
      (socket) => new Promise((resolve) => socket.once("data", (data) => resolve(String(data)))),
    );
    for (const socket of sockets) socket.write(begun);
    const refused = await Promise.race(answers);
    expect(refused).toContain("HTTP/1.1 503");
    expect(refused).toContain("large request bodies");
    expect((await patch('{"volume":1}')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    let status = 503;
    while (status === 503) {
      ({ status } = await server.request("POST", "/v4/decodetracks", { body: "x".repeat(size - 1), headers: HEADERS }));
    }
    expect(status).toBe(400);
  });
});

describe("pings", () => {
  test("pings are answered", async () => {
    await client.flushed();
  });

  test("pings of a client that does not read are not all answered", async () => {
    const deaf = await server.connect();
    let pongCount = 0;
    deaf.socket.on("pong", () => pongCount++);
    deaf.socket.pause();
    const session = server.sessions.get(deaf.sessionId)!; // it is connected
    expect(session.isConnected).toBe(true);
    const count = 120_000;
    const data = "x".repeat(125);
    for (let index = 0; index < count; index++) {
      deaf.socket.ping(data);
      if (index % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    while (deaf.socket.bufferedAmount > 0) await new Promise((resolve) => setImmediate(resolve));
    deaf.socket.resume();
    await new Promise<void>((resolve) => {
      deaf.socket.on("pong", (payload) => String(payload) === "last" && resolve());
      const ask = setInterval(() => deaf.socket.ping("last"), 50);
      deaf.socket.on("pong", (payload) => String(payload) === "last" && clearInterval(ask));
    });
    expect(pongCount).toBeLessThan(count);
  });
});

test("requests that are sent by the thousand on one connection are answered in time, others between them", async () => {
  const COUNT = 2000;
  const socket = await openSocket();
  let answerCount = 0;
  let rest = "";
  const allAnswered = new Promise<void>((resolve) => {
    socket.setEncoding("latin1").on("data", (text: string) => {
      const parts = (rest + text).split("HTTP/1.1 200");
      answerCount += parts.length - 1;
      // Its end may be the start of the next one.
      rest = parts.at(-1)?.slice(1 - "HTTP/1.1 200".length) ?? "";
      if (answerCount === COUNT) resolve();
    });
  });
  socket.write(requestText("GET", "/version", "").repeat(COUNT));
  await new Promise((resolve) => socket.once("data", resolve));
  expect((await server.request("GET", "/version")).status).toBe(200);
  expect(answerCount).toBeLessThan(COUNT / 2);
  await allAnswered;
  socket.destroy();
});

function requestText(method: string, path: string, body: string, length = Buffer.byteLength(body)): string {
  const headers = [
    `Host: x`,
    `Authorization: ${PASSWORD}`,
    "Content-Type: application/json",
    `Content-Length: ${length}`,
  ];
  return `${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
}

async function openSocket(): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port: server.port });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return socket;
}

/** Waits for so many answers on the socket and gives their bodies, parsed. */
function answersOf(socket: Socket): (count: number) => Promise<ReturnType<JSON["parse"]>[]> {
  let text = "";
  let onData: () => void = () => undefined;
  socket.on("data", (chunk) => {
    text += String(chunk);
    onData();
  });
  return (count) =>
    new Promise((resolve) => {
      onData = () => {
        const bodies = text
          .split("\r\n\r\n")
          .slice(1)
          .map((part) => part.split("HTTP/1.1")[0] ?? "");
        if (bodies.length === count && bodies.at(-1)?.endsWith("}")) resolve(bodies.map((body) => JSON.parse(body)));
      };
    });
}
