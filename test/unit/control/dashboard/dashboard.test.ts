import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Secret } from "../../../../src/config/keys/secret.ts";
import { Dashboard } from "../../../../src/control/dashboard/dashboard.ts";
import type { LiveMessage, StateMessage, ViewMessage } from "../../../../src/control/dashboard/live-messages.ts";
import { serveViews } from "../../../../src/control/dashboard/machine-views.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { systemRandom } from "../../../../src/lib/random.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { LogRing } from "../../../../src/log/log-ring.ts";
import { loadToJson } from "../../../../src/observability/status/node-load.ts";
import { type Answer, ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { clusterReport } from "../../../support/cluster-report.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { JoinedReports } from "../../../support/joined-reports.ts";
import { stateReport } from "../../../support/state-report.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OPERATOR = "the operator's password";
const VIEWER = "the viewer's password";
const VIEW: ViewMessage = {
  type: "view",
  filter: "",
  onlyTrouble: false,
  offset: 0,
  count: 200,
  focus: null,
  logLevel: null,
};

let joined: JoinedReports;
let reports: ReturnType<JoinedReports["of"]>;
let clock: FakeClock;
let server: ApiServer;
let sessions: Sessions;
let lines: unknown[];
let ring: LogRing;
let folder: string;
const pages: Page[] = [];

/** A dashboard on a server with the sessions of `server`. */
async function start(passwords = { operator: OPERATOR, viewer: VIEWER }): Promise<void> {
  const logger = createLogger((level, message, fields) => lines.push([level, message, fields]));
  const secretOf = (text: string) => (text === "" ? undefined : new Secret(text));
  const dashboard = new Dashboard({
    parts: {
      get sessions() {
        return sessions;
      },
      sources: {
        sourcesJson: () => [],
        pluginsJson: () => [],
        reload: async (name) => (name === "example" ? PLUGIN : undefined),
      },
      routePlanner: undefined,
      readLoad: () => loadToJson(LOAD),
      readState: () => stateReport(),
      readCluster: () => clusterReport(),
    },
    reports,
    passwords: { operator: secretOf(passwords.operator), viewer: secretOf(passwords.viewer) },
    clock,
    logger,
    log: ring,
    random: systemRandom,
    isSecure: false,
    version: "1.2.3",
    readBundle: async () => "# the bundle\n",
    folder: pathToFileURL(`${folder}/`),
  });
  server = await ApiServer.start({ dashboard });
  sessions = server.sessions;
}

const LOAD = {
  workers: [],
  hasSpare: false,
  complexity: 10,
  complexityMax: 10,
  movedCount: 0,
  refusedCount: 0,
  ...{ load: 0, loadPerPlayer: 0.01 },
  hasCapacity: true,
};
const PLUGIN = {
  name: "example",
  version: "1",
  isBuiltIn: false,
  state: "running" as const,
  trouble: null,
  losses: 0,
  sources: [],
  counts: {},
  changedOptions: [],
};

beforeEach(async () => {
  joined = new JoinedReports();
  reports = joined.of("own");
  clock = new FakeClock();
  lines = [];
  ring = new LogRing();
  folder = mkdtempSync(join(tmpdir(), "tonearm-page-"));
  for (const name of ["index.html", "app.js", "app.css", "icon.svg"]) writeFileSync(join(folder, name), `of ${name}`);
  await start();
});

afterEach(async () => {
  for (const page of pages.splice(0)) page.socket.terminate();
  await server.close();
  rmSync(folder, { recursive: true });
});

function logIn(password: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return server.request("POST", "/dashboard/login", { password: null, body: { password }, headers });
}

async function cookieOf(password: string): Promise<string> {
  const { headers } = await logIn(password);
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}

/** One open page. */
class Page {
  readonly messages: LiveMessage[] = [];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;
  readonly #checks = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("message", (data) => {
      this.messages.push(JSON.parse(String(data)));
      for (const check of this.#checks) check();
    });
  }

  say(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The next message of the type that `matches`, from now on. */
  next<Type extends LiveMessage["type"]>(
    type: Type,
    matches: (message: Extract<LiveMessage, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<LiveMessage, { type: Type }>> {
    const from = this.messages.length;
    return new Promise((resolve) => {
      const check = () => {
        const found = this.messages.slice(from).find((message): message is Extract<LiveMessage, { type: Type }> => {
          return message.type === type && matches(message as Extract<LiveMessage, { type: Type }>);
        });
        if (found === undefined) return;
        this.#checks.delete(check);
        resolve(found);
      };
      this.#checks.add(check);
    });
  }

  async see(view: Partial<ViewMessage>): Promise<StateMessage> {
    const state = this.next("state");
    this.say({ ...VIEW, ...view });
    return state;
  }

  async act(action: object, id = 1): Promise<string | null> {
    const done = this.next("done", (message) => message.id === id);
    this.say({ type: "act", id, action });
    return (await done).error;
  }
}

/** Undefined with the status where it is refused. */
function open(cookie: string, headers: Readonly<Record<string, string>> = {}): Promise<Page | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/dashboard/live`, { headers: { cookie, ...headers } });
  const page = new Page(socket);
  pages.push(page);
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (_request, { statusCode = 0 }) => resolve(statusCode));
    socket.on("open", () => resolve(page));
    socket.on("error", reject);
  });
}

async function opened(password = OPERATOR): Promise<Page> {
  const page = await open(await cookieOf(password));
  if (typeof page === "number") throw new Error(`refused with ${page}`);
  return page;
}

/** A bot with as many players as there are titles, in the guilds 1, 2 … */
async function play(titles: readonly string[], userId = "1"): Promise<TestClient> {
  const client = await server.connect({ "User-Id": userId });
  for (const [index, title] of titles.entries()) {
    const { encoded } = buildTrack({ title });
    const body = { track: { encoded, userData: { requester: { username: `fan of ${title}` } } } };
    await server.request("PATCH", `/v4/sessions/${client.sessionId}/players/${index + 1}`, { body });
  }
  return client;
}

describe("all machines", () => {
  const far = () => joined.of("far");

  /** Another machine with the players of this one: the sessions are the same. */
  function serveFar(): void {
    const parts = {
      get sessions() {
        return sessions;
      },
      sources: { sourcesJson: () => [], pluginsJson: () => [], reload: async () => undefined },
      routePlanner: undefined,
      readLoad: () => loadToJson(LOAD),
      readState: () => stateReport(),
      readCluster: () => clusterReport(),
    };
    const logger = createLogger((level, message, fields) => lines.push([level, message, fields]));
    serveViews(far(), { parts, clock, logger });
  }

  /** The first state with what the others have answered. */
  async function seeAll(page: Page, view: Partial<ViewMessage> = {}): Promise<StateMessage> {
    const state = page.next("state", ({ machines }) => machines !== null);
    page.say({ ...VIEW, ...view, allMachines: true });
    return state;
  }

  test("are asked only by pages about them, and the page gets the answers at once", async () => {
    serveFar();
    await play(["one", "two"]);
    const page = await opened();
    expect((await page.see({})).machines).toBeNull();
    expect(joined.asked).toEqual([]);

    const { machines, players } = await seeAll(page);

    expect(machines).toMatchObject([
      { id: "id-far", isThis: false, troubles: [], players: 2 },
      { id: "id-own", isThis: true, troubles: [], players: 2 },
    ]);
    // The same players: each is shown once.
    expect([players.total, players.rows.length]).toEqual([4, 2]);
    expect(joined.asked).toMatchObject([{ machine: "far", topic: "dashboard" }]);
  });

  test("are asked again with each state, and what one does not answer is said", async () => {
    serveFar();
    const page = await opened();
    await seeAll(page);
    joined.silent.set("far", "no answer");
    const isSilent = ({ machines }: StateMessage) => machines?.[0]?.troubles[0] === "does not answer: no answer";
    const silent = page.next("state", isSilent);
    while (!page.messages.some((message) => message.type === "state" && isSilent(message))) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    expect((await silent).players.total).toBe(0);
  });

  test("answer what the page filters and looks at", async () => {
    serveFar();
    const { sessionId } = await play(["one", "two"]);
    const page = await opened();
    const { players, focus } = await seeAll(page, { filter: "two", focus: { sessionId, guildId: "2" } });
    expect(players.rows.map(({ guildId }) => guildId)).toEqual(["2"]);
    expect(focus).toMatchObject({ guildId: "2" });
    expect(JSON.parse(joined.asked[0]?.request ?? "")).toMatchObject({ filter: "two", count: 200 });
  });

  test("that answer in another form are said to have another version", async () => {
    far().serve("dashboard", async () => JSON.stringify({ players: [] }));
    const { machines } = await seeAll(await opened());
    expect(machines?.[0]?.troubles).toEqual(["does not answer: its answer has another form: it has another version"]);
  });

  test("carry out what an operator does to a player of theirs, and say why not", async () => {
    serveFar();
    const { sessionId } = await play(["one"]);
    const page = await opened();
    const action = { kind: "pause", sessionId, guildId: "1", machineId: "id-far" };
    expect(await page.act(action)).toBeNull();
    expect(joined.asked).toMatchObject([{ machine: "far", topic: "act" }]);
    expect(sessions.get(sessionId)?.players.get("1")?.overview().isPaused).toBe(true);
    expect(lines).toContainEqual([
      "info",
      "dashboard action from another machine",
      expect.objectContaining({ guildId: "1" }),
    ]);
    expect(await page.act({ ...action, guildId: "9" }, 2)).toBe("the player is not there any more");
    expect(await page.act({ ...action, machineId: "id-own" }, 3)).toBeNull();
    expect(joined.asked.map(({ machine }) => machine)).toEqual(["far", "far"]);
  });

  test("take no action of a viewer, and none that is not about a player", async () => {
    serveFar();
    const page = await opened(VIEWER);
    const action = { kind: "pause", sessionId: "s", guildId: "1", machineId: "id-far" };
    expect(await page.act(action)).toBe("only operators may do this");
    expect(joined.asked).toEqual([]);
    await expect(reports.act("id-far", JSON.stringify({ kind: "drain", isOn: true }))).rejects.toThrow();
    expect(sessions.isDraining).toBe(false);
  });
});

describe("the page", () => {
  test.each([
    ["/dashboard", "of index.html", "text/html; charset=utf-8"],
    ["/dashboard/", "of index.html", "text/html; charset=utf-8"],
    ["/dashboard/app.js", "of app.js", "text/javascript; charset=utf-8"],
    ["/dashboard/app.css", "of app.css", "text/css; charset=utf-8"],
    ["/dashboard/icon.svg", "of icon.svg", "image/svg+xml"],
  ])("%s is served without a login, with a policy that forbids everything else", async (path, body, type) => {
    const answer = await server.request("GET", path, { password: null });
    expect([answer.status, answer.body, answer.headers["content-type"]]).toEqual([200, body, type]);
    const policy = String(answer.headers["content-security-policy"]);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toContain("unsafe");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  });

  test("no other file of the folder is served", async () => {
    writeFileSync(join(folder, "secret.txt"), "x");
    for (const path of ["/dashboard/secret.txt", "/dashboard/..%2fsecret.txt", "/dashboard/app.js/x"]) {
      expect((await server.request("GET", path, { password: null })).status).toBe(404);
    }
  });
});

describe("logging in", () => {
  test("a login sets a cookie that scripts and other sites do not get, and that contains the role", async () => {
    const answer = await logIn(OPERATOR);
    expect(answer.status).toBe(204);
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^tonearm=operator\.\d+\.[\w-]+\.[\w-]+; Path=\/dashboard; Max-Age=43200; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    for (const [password, role] of [
      [OPERATOR, "operator"],
      [VIEWER, "viewer"],
    ] as const) {
      const headers = { cookie: `other=1; ${await cookieOf(password)}` };
      const session = await server.request("GET", "/dashboard/session", { password: null, headers });
      expect([session.status, session.json]).toEqual([200, { role }]);
    }
  });

  test("neither the node's password opens the dashboard, nor the dashboard's the node", async () => {
    expect((await logIn(PASSWORD)).status).toBe(403);
    expect((await server.request("GET", "/v4/info", { password: OPERATOR })).status).toBe(403);
    const headers = { cookie: await cookieOf(OPERATOR) };
    expect((await server.request("GET", "/v4/info", { password: null, headers })).status).toBe(401);
  });

  test("after many wrong passwords the right one is accepted, and the session makes the browser known", async () => {
    for (let count = 0; count < 10; count++) expect((await logIn("wrong")).status).toBe(403);
    const answers = [logIn("wrong"), logIn(OPERATOR)].map((answer) =>
      answer.then(({ status, headers }) => ({ status, cookie: headers["set-cookie"]?.[0]?.split(";")[0] ?? "" })),
    );
    let isOver = false;
    void Promise.all(answers).then(() => {
      isOver = true;
    });
    while (!isOver) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
    const [wrong, right] = await Promise.all(answers);
    expect([wrong?.status, right?.status]).toEqual([403, 204]);
    const headers = { cookie: right?.cookie ?? "" };
    const session = await server.request("GET", "/dashboard/session", { password: null, headers });
    expect(session.headers["set-cookie"]?.[0]).toMatch(/^tonearm-browser=.*; Path=\/dashboard\/login; .*HttpOnly/);
    expect(JSON.stringify(lines)).not.toContain(OPERATOR);
  });

  test("a cookie is good until its time is up or the password is another, also after a restart", async () => {
    const cookie = await cookieOf(OPERATOR);
    const statusOf = async (text: string) =>
      (await server.request("GET", "/dashboard/session", { password: null, headers: { cookie: text } })).status;
    expect(await statusOf(cookie)).toBe(200);
    expect(await statusOf(cookie.replace("operator", "viewer"))).toBe(401);
    expect(await statusOf(cookie.replace(/\.\d+\./, ".99999999999."))).toBe(401);
    expect(await statusOf(`${cookie.slice(0, -2)}AA`)).toBe(401);
    await server.close();
    await start();
    expect(await statusOf(cookie)).toBe(200);
    await server.close();
    await start({ operator: "another", viewer: VIEWER });
    expect(await statusOf(cookie)).toBe(401);
    await server.close();
    await start({ operator: "", viewer: VIEWER });
    expect([await statusOf(cookie), (await logIn("")).status]).toEqual([401, 403]);
    await server.close();
    await start();
    clock.advance(12 * 60 * 60 * 1000);
    expect(await statusOf(cookie)).toBe(401);
  });

  test("requests from other sites are refused", async () => {
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.example" }]) {
      expect((await logIn(OPERATOR, headers)).status).toBe(403);
      expect(await open(await cookieOf(OPERATOR), headers)).toBe(403);
    }
    // Behind a proxy that changes the host.
    const own = { "sec-fetch-site": "same-origin", origin: "https://music.example" };
    expect((await logIn(OPERATOR, own)).status).toBe(204);
  });

  test("a page behind a proxy with HTTPS gets a cookie for HTTPS", async () => {
    const headers = { origin: "https://music.example", "sec-fetch-site": "same-origin" };
    expect((await logIn(OPERATOR, headers)).headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
    const out = await server.request("POST", "/dashboard/logout", { password: null, headers });
    expect(out.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
  });

  test("logging out takes the cookie away", async () => {
    const { headers } = await server.request("POST", "/dashboard/logout", { password: null });
    expect(headers["set-cookie"]?.[0]).toMatch(/^tonearm=; Path=\/dashboard; Max-Age=0;/);
  });

  test("the support bundle is for operators", async () => {
    const ask = async (cookie: string) =>
      server.request("GET", "/dashboard/support", { password: null, headers: { cookie } });
    expect((await ask("")).status).toBe(401);
    expect((await ask(await cookieOf(VIEWER))).status).toBe(403);
    const answer = await ask(await cookieOf(OPERATOR));
    expect([answer.status, answer.body]).toEqual([200, "# the bundle\n"]);
    expect(answer.headers["content-disposition"]).toContain("attachment");
  });
});

describe("live", () => {
  test("a client that is not logged in gets no live data", async () => {
    expect(await open("")).toBe(401);
    expect(await open("tonearm=operator.99999999999.x.y")).toBe(401);
  });

  test("the socket sends the login, then the state at once and every second, and nothing without a viewer", async () => {
    await play(["one", "two"]);
    const timers = clock.pendingCount;
    const page = await opened(VIEWER);
    const first = await page.see({});
    expect(page.messages[0]).toEqual({ type: "hello", role: "viewer", version: "1.2.3", intervalMs: 1000 });
    expect(first.players).toMatchObject({ total: 2, matching: 2 });
    expect(first.players.rows.map(({ track }) => [track?.title, track?.requester])).toEqual([
      ["one", "fan of one"],
      ["two", "fan of two"],
    ]);
    expect(first.sessions).toMatchObject([{ userId: "1", key: null, isConnected: true, players: 2, playing: 2 }]);
    expect(first.cluster).toEqual({ status: { kind: "joined" }, machineCount: 2 });
    const next = page.next("state");
    clock.advance(1000);
    expect((await next).atMs).toBe(clock.epochMs());
    // The next look, and whether the page still answers.
    expect(clock.pendingCount).toBe(timers + 2);
    page.socket.close();
    await page.closed;
    await expect.poll(() => clock.pendingCount).toBe(timers);
  });

  test("the socket filters by the known fields of a player, and sends a page of many", async () => {
    await play(["Blue Monday", "Red Rain", "blue in green"]);
    await play(["other"], "222");
    const page = await opened();
    const titles = async (view: Partial<ViewMessage>) => {
      const { players } = await page.see(view);
      return [players.matching, ...players.rows.map(({ track }) => track?.title)];
    };
    expect(await titles({ filter: "BLUE" })).toEqual([2, "Blue Monday", "blue in green"]);
    expect(await titles({ filter: "fan of red" })).toEqual([1, "Red Rain"]);
    expect(await titles({ filter: "222" })).toEqual([1, "other"]);
    expect(await titles({ offset: 1, count: 2 })).toEqual([4, "Red Rain", "blue in green"]);
    expect(await titles({ onlyTrouble: true })).toEqual([0]);
  });

  test("the state says since when and from where a session is, and that it was resumed", async () => {
    const headers = { "User-Agent": "bot".repeat(100), "X-Forwarded-For": "10.0.0.1, 203.0.113.9" };
    const client = await server.connect(headers);
    const page = await opened();
    const sinceMs = expect.any(Number);
    const origin = { address: "127.0.0.1", forwardedFor: "203.0.113.9", userAgent: "bot".repeat(100).slice(0, 200) };
    expect((await page.see({})).sessions[0]?.connection).toEqual({ sinceMs, isResumed: false, ...origin });
    await server.request("PATCH", `/v4/sessions/${client.sessionId}`, { body: { resuming: true, timeout: 60 } });
    client.socket.terminate();
    await expect.poll(() => sessions.all()[0]?.isWaiting).toBe(true);
    expect((await page.see({})).sessions[0]).toMatchObject({ isConnected: false, connection: origin });
    await server.connect({ "Session-Id": client.sessionId, "User-Agent": "other" });
    const back = { isResumed: true, forwardedFor: null, userAgent: "other" };
    expect((await page.see({})).sessions[0]).toMatchObject({ isConnected: true, connection: back });
  });

  test("a page gets the node's last hour once, with one sample a minute", async () => {
    const startMs = clock.epochMs();
    for (let minute = 0; minute < 3; minute++) clock.advance(60_000);
    const page = await opened();
    await page.see({});
    await page.see({});
    const histories = page.messages.filter((message) => message.type === "history");
    expect(histories.map(({ samples }) => samples.map(({ atMs }) => atMs - startMs))).toEqual([
      [60_000, 120_000, 180_000],
    ]);
  });

  test("the socket filters by the link of a track, but never by a secret in it", async () => {
    const client = await server.connect();
    const uri = "https://fan:pass1234@radio.example/night%20song.mp3?token=abcd1234";
    const { encoded } = buildTrack({ uri, identifier: uri });
    await server.request("PATCH", `/v4/sessions/${client.sessionId}/players/1`, { body: { track: { encoded } } });
    const page = await opened(VIEWER);
    const matching = async (filter: string) => (await page.see({ filter })).players.matching;
    expect([await matching("RADIO.example"), await matching("night song")]).toEqual([1, 1]);
    expect([await matching("pass1"), await matching("abcd"), await matching("other.example")]).toEqual([0, 0, 0]);
    const { focus } = await page.see({ focus: { sessionId: client.sessionId, guildId: "1" } });
    expect(JSON.stringify(focus)).not.toMatch(/pass1234|abcd1234/);
  });

  test("the state names the source of a track without its credentials", async () => {
    const client = await server.connect();
    const { encoded } = buildTrack({ uri: "https://fan:pass1234@radio.example/live?token=abcd1234" });
    await server.request("PATCH", `/v4/sessions/${client.sessionId}/players/1`, { body: { track: { encoded } } });
    const { players } = await (await opened(VIEWER)).see({});
    expect(players.rows[0]?.track?.uri).toBe("https://<redacted>@radio.example/live?token=<redacted>");
  });

  test("the socket sends the diagnosis of the focused player", async () => {
    const { sessionId } = await play(["one"]);
    const page = await opened();
    expect((await page.see({ focus: { sessionId, guildId: "1" } })).focus).toMatchObject({ guildId: "1" });
    expect((await page.see({ focus: { sessionId, guildId: "9" } })).focus).toBeNull();
  });

  test("the socket sends the log from a level on, the buffered and the new lines", async () => {
    const keep = (level: "info" | "error", written: string) => ring.keep({ epochMs: clock.epochMs(), level, written });
    keep("info", "early");
    keep("error", "trouble");
    const page = await opened();
    const first = page.next("log");
    await page.see({ logLevel: "warn" });
    expect((await first).lines.map(({ text }) => text)).toEqual(["trouble"]);
    const second = page.next("log");
    keep("info", "not this");
    keep("error", "more trouble");
    clock.advance(1000);
    expect((await second).lines).toEqual([{ atMs: expect.any(Number), level: "error", text: "more trouble" }]);
  });

  test("the socket closes for a viewer that sends invalid messages, or too many", async () => {
    for (const message of [
      "no JSON",
      "{}",
      JSON.stringify({ ...VIEW, count: 201 }),
      JSON.stringify({ ...VIEW, x: 1 }),
    ]) {
      const page = await opened();
      page.socket.send(message);
      expect(await page.closed).toBe(1007);
    }
    const page = await opened();
    for (let count = 0; count < 61; count++) page.say(VIEW);
    expect(await page.closed).toBe(1008);
  });

  test("the dashboard accepts sixteen viewers, however many connect at once, and refuses the next with a reason", async () => {
    const cookie = await cookieOf(VIEWER);
    const answers = await Promise.all(Array.from({ length: 20 }, () => open(cookie)));
    expect(answers.filter((answer) => answer === 503)).toHaveLength(4);
    const ask = () => server.request("GET", "/dashboard/session", { password: null, headers: { cookie } });
    const full = await ask();
    expect([full.status, full.body]).toEqual([503, expect.stringMatching(/^16 dashboard pages are open/)]);
    const page = answers.find((answer) => answer instanceof Page)!; // sixteen are
    page.socket.close();
    await page.closed;
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  test("an operator gets a place when viewers have taken all, that of the oldest page", async () => {
    const cookie = await cookieOf(VIEWER);
    const pages: Page[] = [];
    for (let count = 0; count < 16; count++) pages.push((await open(cookie)) as Page); // not full yet
    expect(await open(await cookieOf(OPERATOR))).toBeInstanceOf(Page);
    expect(await pages[0]!.closed).toBe(1001);
    expect(await open(cookie)).toBe(503);
  });

  test("the socket closes when the login expires", async () => {
    const cookie = await cookieOf(OPERATOR);
    clock.advance(12 * 60 * 60 * 1000 - 1500);
    const page = (await open(cookie)) as Page; // it is let in
    const next = page.next("state");
    clock.advance(1000);
    await next;
    clock.advance(1000);
    expect(await page.closed).toBe(1008);
  });

  test("the socket buffers no pongs for a viewer that does not read", async () => {
    const page = await opened();
    let pongCount = 0;
    page.socket.on("pong", () => pongCount++).pause();
    const count = 120_000;
    for (let index = 0; index < count; index++) {
      page.socket.ping("x".repeat(125));
      if (index % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    while (page.socket.bufferedAmount > 0) await new Promise((resolve) => setImmediate(resolve));
    page.socket.resume();
    await expect.poll(() => page.act({ kind: "freeAllAddresses" })).toBeNull();
    page.socket.ping("last");
    await new Promise<void>((resolve) => {
      page.socket.on("pong", (data) => String(data) === "last" && resolve());
    });
    expect(pongCount).toBeGreaterThan(0);
    expect(pongCount).toBeLessThan(count);
  });
});

describe("an operator", () => {
  test("an operator pauses, resumes, skips and stops, and the client gets the events", async () => {
    const client = await play(["one", "two"]);
    const page = await opened();
    const at = (guildId: string) => ({ sessionId: client.sessionId, guildId });
    const rowOf = async (guildId: string) => (await page.see({})).players.rows.find((row) => row.guildId === guildId);
    expect(await page.act({ kind: "pause", ...at("1") })).toBeNull();
    expect((await rowOf("1"))?.isPaused).toBe(true);
    expect(await page.act({ kind: "resume", ...at("1") })).toBeNull();
    expect((await rowOf("1"))?.isPaused).toBe(false);
    expect(await page.act({ kind: "skip", ...at("1") })).toBeNull();
    expect(await page.act({ kind: "stop", ...at("2") })).toBeNull();
    await client.flushed();
    const ends = client.messages.filter(({ type }) => type === "TrackEndEvent");
    expect(ends.map(({ guildId, reason }) => [guildId, reason])).toEqual([
      ["1", "finished"],
      ["2", "stopped"],
    ]);
    expect((await rowOf("2"))?.track).toBeNull();
    expect(await page.act({ kind: "stop", ...at("9") })).toBe("the player is not there any more");
  });

  test("an operator reloads plugins, and frees addresses if there are any", async () => {
    const page = await opened();
    expect(await page.act({ kind: "reloadPlugin", name: "example" })).toBeNull();
    expect(await page.act({ kind: "reloadPlugin", name: "other" })).toBe("there is no such plugin");
    expect(await page.act({ kind: "freeAddress", address: "/192.0.2.7" })).toContain("none of the configured blocks");
  });

  test("an operator drains the node: new sessions and players are refused, and current ones continue", async () => {
    const client = await play(["one"]);
    const page = await opened();
    expect(await page.act({ kind: "drain", isOn: true })).toBeNull();
    expect((await page.see({})).isDraining).toBe(true);
    const { answer } = await server.handshake({ headers: { Authorization: PASSWORD, "User-Id": "2" } });
    expect([answer.status, answer.body]).toEqual([
      503,
      "the node is draining: it accepts no new sessions; use another node",
    ]);
    const players = `/v4/sessions/${client.sessionId}/players`;
    expect((await server.request("PATCH", `${players}/2`, { body: {} })).status).toBe(503);
    expect((await server.request("PATCH", `${players}/1`, { body: { volume: 50 } })).status).toBe(200);
    expect(await page.act({ kind: "drain", isOn: false })).toBeNull();
    expect((await server.request("PATCH", `${players}/2`, { body: {} })).status).toBe(200);
  });

  test("an action leaves a line in the log with its kind and target", async () => {
    const page = await opened();
    await page.act({ kind: "drain", isOn: true });
    expect(lines).toContainEqual(["info", "dashboard action", { kind: "drain", isOn: true }]);
  });

  test("an operator may act; a viewer may not", async () => {
    const { sessionId } = await play(["one"]);
    const page = await opened(VIEWER);
    expect(await page.act({ kind: "pause", sessionId, guildId: "1" })).toBe("only operators may do this");
    expect((await page.see({})).players.rows[0]?.isPaused).toBe(false);
  });
});
