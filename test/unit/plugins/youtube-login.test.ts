import { beforeEach, describe, expect, test } from "vitest";
import type { Host } from "../../../plugins/youtube/chosen-clients.ts";
import { Login } from "../../../plugins/youtube/login.ts";
import type { CacheOptions, HttpRequest, JsonMembers } from "../../../src/plugin-api/plugin.ts";
import { MemoryCache } from "../../../src/plugin-host/runtime/host/memory-cache.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const DEVICE = {
  device_code: "the-device-code",
  user_code: "ABCD-EFGH",
  verification_url: "https://www.google.com/device",
  expires_in: 1800,
  interval: 5,
};
const TOKENS = { access_token: "the-access", refresh_token: "the-refresh", expires_in: 3600 };
const OAUTH = { enabled: true, refreshToken: undefined, skipInitialization: false };

let answers: object[];
let posted: { readonly url: string; readonly body: unknown }[];
let pausesMs: number[];
let onSleep: () => void;
let lines: unknown[][];
let cacheClock: FakeClock;
/** Caches that outlast a life of the plugin. */
let persisted: Map<string, MemoryCache<unknown>>;

beforeEach(() => {
  answers = [];
  posted = [];
  pausesMs = [];
  onSleep = () => undefined;
  lines = [];
  cacheClock = new FakeClock();
  persisted = new Map();
});

/** In a new life of the plugin, which `signal` ends. */
function loginWith(oauth: Partial<Host["options"]["oauth"]> = {}, signal = new AbortController().signal): Login {
  const log = (...line: unknown[]) => void lines.push(line);
  const host = {
    options: { oauth: { ...OAUTH, clientId: "the-id", clientSecret: "the-app-secret", ...oauth } },
    signal,
    log: { info: log, warn: log },
    clock: {
      now: () => 0,
      sleep: async (delayMs: number) => {
        pausesMs.push(delayMs);
        onSleep();
        signal.throwIfAborted();
      },
    },
    cache: (name: string, options: CacheOptions) => {
      const cache = persisted.get(name) ?? new MemoryCache<unknown>(options, cacheClock);
      if (options.persist) persisted.set(name, cache);
      return cache;
    },
    backend: () => ({ run: (work: () => Promise<unknown>) => work() }),
    http: {
      request: (url: string, { body }: HttpRequest) => {
        posted.push({ url, body });
        return Promise.resolve({ status: 200, text: JSON.stringify(answers.shift() ?? {}) });
      },
    },
  };
  return new Login(host as unknown as Host); // only the members used
}

const paths = () => posted.map(({ url }) => url.replace("https://www.youtube.com/o/oauth2/", ""));

test("the operator is shown a login code without a refresh token, and it is polled until it is entered", async () => {
  answers = [DEVICE, { error: "authorization_pending" }, { error: "slow_down" }, TOKENS, TOKENS];
  const login = loginWith();
  await login.begin();
  expect(lines[0]).toEqual([
    expect.stringContaining("open the address"),
    { address: "https://www.google.com/device", code: "ABCD-EFGH" },
  ]);
  expect(pausesMs).toEqual([5000, 5000, 10_000]);
  expect(await login.accessToken(new AbortController().signal)).toBe("the-access");
  expect(paths()).toEqual(["device/code", "token", "token", "token", "token"]);
  expect(posted.at(-1)?.body).toMatchObject({ refresh_token: "the-refresh", grant_type: "refresh_token" });
});

test("no token and no secret is logged", async () => {
  answers = [DEVICE, TOKENS];
  await loginWith().begin();
  expect(JSON.stringify(lines)).not.toMatch(/the-(access|refresh|app-secret|device-code)/);
});

test.each([
  ["turned down", [DEVICE, { error: "access_denied" }], "YouTube answered access_denied"],
  ["not given", [{ error: "invalid_client" }], "YouTube gave no code to log in with"],
  [
    "given for another site",
    [{ ...DEVICE, verification_url: "https://example.org/" }],
    "YouTube gave no code to log in with",
  ],
  ["given for no time", [{ ...DEVICE, expires_in: 0 }], "the code has expired"],
])("a code that is %s leaves the node without a login", async (_, script, reason) => {
  answers = [...script];
  const login = loginWith();
  await login.begin();
  expect(lines.at(-1)).toEqual([expect.stringContaining("continuing without"), { reason }]);
  expect(await login.accessToken(new AbortController().signal)).toBeUndefined();
});

test("a code that is not entered is given up when it expires", async () => {
  answers = [DEVICE, ...Array.from({ length: 500 }, (): JsonMembers => ({ error: "authorization_pending" }))];
  await loginWith().begin();
  expect(pausesMs).toHaveLength(360);
});

test.each([
  ["it is off", { enabled: false }],
  ["it shall be skipped", { skipInitialization: true }],
  ["there is a refresh token", { refreshToken: "there" }],
])("the operator is not asked to log in where %s", async (_, oauth) => {
  await loginWith(oauth).begin();
  expect([posted, lines]).toEqual([[], []]);
});

describe("a login", () => {
  const signal = new AbortController().signal;

  test("a login outlasts the plugin's thread: the operator is not asked again", async () => {
    answers = [DEVICE, TOKENS, TOKENS];
    await loginWith().begin();
    lines = [];
    const next = loginWith();
    await next.begin();
    expect([lines, next.refreshToken]).toEqual([[], "the-refresh"]);
    expect(await next.accessToken(signal)).toBe("the-access");
    expect(paths()).toEqual(["device/code", "token", "token"]);
  });

  test("a login is not used if another one is configured, or logins are off", async () => {
    answers = [DEVICE, TOKENS];
    await loginWith().begin();
    expect(loginWith({ refreshToken: "set" }).refreshToken).toBe("set");
    const off = loginWith({ enabled: false, refreshToken: "set" });
    expect([off.refreshToken, await off.accessToken(signal)]).toEqual([undefined, undefined]);
  });

  test("a login is forgotten on request", async () => {
    answers = [DEVICE, TOKENS];
    const login = loginWith();
    await login.begin();
    login.forgetLogin();
    expect([login.refreshToken, loginWith().refreshToken]).toEqual([undefined, undefined]);
  });

  test("a code shown by an earlier thread is polled by the next one", async () => {
    const life = new AbortController();
    onSleep = () => life.abort(new Error("the thread ends"));
    answers = [DEVICE];
    await loginWith({}, life.signal).begin();
    expect(lines).toHaveLength(1);
    onSleep = () => undefined;
    answers = [TOKENS];
    const next = loginWith();
    await next.begin();
    expect(next.refreshToken).toBe("the-refresh");
    expect(paths()).toEqual(["device/code", "token"]);
    expect(lines[1]).toEqual(lines[0]);
    // The code is used up.
    next.forgetLogin();
    answers = [DEVICE, TOKENS];
    await loginWith().begin();
    expect(paths().filter((path) => path === "device/code")).toHaveLength(2);
  });

  test("a code that was denied is replaced by a new one in the next thread", async () => {
    answers = [DEVICE, { error: "access_denied" }, DEVICE, TOKENS];
    await loginWith().begin();
    await loginWith().begin();
    expect(paths()).toEqual(["device/code", "token", "device/code", "token"]);
  });

  test("a refresh token that YouTube replaces is the new one from then on, instead of the configured one", async () => {
    answers = [{ ...TOKENS, refresh_token: "the-next" }];
    const oauth = { refreshToken: "set" };
    await loginWith(oauth).accessToken(signal);
    expect([loginWith(oauth).refreshToken, loginWith().refreshToken]).toEqual(["the-next", undefined]);
  });

  test("a refresh token that is refused is logged once, and not shown", async () => {
    answers = [{ error: "invalid_grant" }, { error: "invalid_grant" }];
    const login = loginWith({ refreshToken: "not-good" });
    await expect(login.accessToken(signal)).rejects.toThrow("(invalid_grant); log in again");
    await expect(login.accessToken(signal)).rejects.toThrow("(invalid_grant); log in again");
    expect(lines).toEqual([
      [
        expect.stringContaining("login refused"),
        { reason: expect.stringContaining("refresh token of oauth (invalid_grant)") },
      ],
    ]);
    expect(JSON.stringify(lines)).not.toContain("not-good");
  });

  test("a refresh token is exchanged for YouTube's raw answer, and nothing of it is stored", async () => {
    answers = [{ ...TOKENS, scope: "tv", token_type: "Bearer", more: 1 }, { error: "invalid_grant" }];
    const login = loginWith();
    const token = { access_token: "the-access", expires_in: 3600, scope: "tv", token_type: "Bearer" };
    expect(await login.exchange("any", signal)).toEqual(token);
    expect(login.refreshToken).toBeUndefined();
    await expect(login.exchange("wrong", signal)).rejects.toThrow("did not accept the refresh token");
    expect(posted.map(({ body }) => (body as { refresh_token: string }).refresh_token)).toEqual(["any", "wrong"]);
  });
});
