import { beforeEach, expect, test } from "vitest";
import type { Host } from "../../../plugins/youtube/chosen-clients.ts";
import { Login } from "../../../plugins/youtube/login.ts";
import type { HttpRequest, JsonMembers } from "../../../src/plugin-api/plugin.ts";
import { MemoryCache } from "../../../src/plugin-thread/host/memory-cache.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const DEVICE = {
  ...{ device_code: "the-device-code", user_code: "ABCD-EFGH", verification_url: "https://www.google.com/device" },
  ...{ expires_in: 1800, interval: 5 },
};
const TOKENS = { access_token: "the-access", refresh_token: "the-refresh", expires_in: 3600 };
const OAUTH = { enabled: true, refreshToken: undefined, skipInitialization: false };

let answers: object[];
let posted: { readonly url: string; readonly body: unknown }[];
let pausesMs: number[];
let lines: unknown[][];

beforeEach(() => {
  answers = [];
  posted = [];
  pausesMs = [];
  lines = [];
});

function loginWith(oauth: Partial<Host["options"]["oauth"]> = {}): Login {
  const log = (...line: unknown[]) => void lines.push(line);
  const host = {
    options: { oauth: { ...OAUTH, clientId: "the-id", clientSecret: "the-app-secret", ...oauth } },
    signal: new AbortController().signal,
    log: { info: log, warn: log },
    clock: { now: () => 0, sleep: (delayMs: number) => Promise.resolve(void pausesMs.push(delayMs)) },
    cache: () => new MemoryCache({ ttlMs: 1, entriesMax: 1 }, new FakeClock()),
    way: () => ({ take: (work: () => Promise<unknown>) => work() }),
    http: {
      request: (url: string, { body }: HttpRequest) => {
        posted.push({ url, body });
        return Promise.resolve({ status: 200, text: JSON.stringify(answers.shift() ?? {}) });
      },
    },
  };
  return new Login(host as unknown as Host); // only what is used
}

const paths = () => posted.map(({ url }) => url.replace("https://www.youtube.com/o/oauth2/", ""));

test("without a refresh token the operator is told a code, and asked for until it is entered", async () => {
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

test("no token and no secret is told to anybody", async () => {
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
  expect(lines.at(-1)).toEqual([expect.stringContaining("going on without"), { reason }]);
  expect(await login.accessToken(new AbortController().signal)).toBeUndefined();
});

test("a code that nobody enters is given up with its time", async () => {
  answers = [DEVICE, ...Array.from({ length: 500 }, (): JsonMembers => ({ error: "authorization_pending" }))];
  await loginWith().begin();
  expect(pausesMs).toHaveLength(360);
});

test.each([
  ["it is off", { enabled: false }],
  ["it shall be skipped", { skipInitialization: true }],
  ["there is a refresh token", { refreshToken: "there" }],
])("nobody is asked to log in where %s", async (_, oauth) => {
  await loginWith(oauth).begin();
  expect([posted, lines]).toEqual([[], []]);
});
