import { EventEmitter } from "node:events";
import { beforeEach, expect, test } from "vitest";
import { Secret } from "../../../../src/config/keys/secret.ts";
import type { Sender } from "../../../../src/control/access/failed-logins.ts";
import { Logins } from "../../../../src/control/dashboard/logins.ts";
import { systemRandom } from "../../../../src/lib/random.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";

/** From one wrong password to the next attempt, when there were too many. */
const DELAY_MS = 250;
const WRONG_MAX = 10;

let clock: FakeClock;
let logins: Logins;
let lastPort = 0;

beforeEach(async () => {
  clock = new FakeClock();
  const passwords = { operator: new Secret("operate"), viewer: new Secret("view") };
  logins = new Logins({ passwords, clock, random: systemRandom, logger: silentLogger, isSecure: false });
  // From here on no signature takes time.
  await Promise.all([logins.rememberBrowser({ role: "operator" }, {}), logins.rememberBrowser({ role: "viewer" }, {})]);
});

/** Each from a new connection. */
function sender(cookie?: string): Sender {
  const socket = Object.assign(new EventEmitter(), { remoteAddress: "192.0.2.1", remotePort: ++lastPort });
  return { headers: cookie === undefined ? {} : { cookie }, socket: socket as unknown as Sender["socket"] };
}

/** The outcome, and how long it took. */
async function timed(password: string, cookie?: string): Promise<{ outcome: string; tookMs: number }> {
  const startMs = clock.now();
  let outcome: string | undefined;
  void logins.logIn(password, sender(cookie)).then((done) => {
    outcome = typeof done === "string" ? done : "right";
  });
  for (;;) {
    await settle();
    if (outcome !== undefined) return { outcome, tookMs: clock.now() - startMs };
    clock.advance(10);
  }
}

/** One more above the limit: the next of the same address has to wait. */
async function guessTooOften(): Promise<void> {
  for (let count = 0; count < WRONG_MAX + 1; count++) await timed("wrong");
}

test.each([4, 64])(
  "beside %d parallel guesses the right password takes seconds, and four guesses a second are checked",
  async (parallel) => {
    let isOver = false;
    let guessCount = 0;
    const guess = async () => {
      while (!isOver) {
        expect(await logins.logIn("wrong", sender())).toBe("wrong");
        guessCount++;
      }
    };
    for (let count = 0; count < parallel; count++) void guess();
    await settle();
    for (let times = 0; times < 3; times++) {
      const { outcome, tookMs } = await timed("operate");
      expect(outcome).toBe("right");
      expect(tookMs).toBeLessThanOrEqual((parallel + 1) * DELAY_MS);
    }
    expect(guessCount).toBeLessThanOrEqual(WRONG_MAX + clock.now() / DELAY_MS + 1);
    expect(guessCount).toBeGreaterThan(clock.now() / DELAY_MS - 1);
    isOver = true;
  },
);

test("a browser that was logged in is accepted at once while others guess, also a month later", async () => {
  const browser = await cookieOf(logins.rememberBrowser({ role: "operator" }, {}));
  const login = await cookieOf(logins.logIn("operate", sender()).then((done) => (done as { cookie: string }).cookie));
  await guessTooOften();
  expect(await timed("operate", login)).toEqual({ outcome: "right", tookMs: 0 });
  clock.advance(30 * 24 * 60 * 60 * 1000);
  await guessTooOften();
  expect(await timed("operate", browser)).toEqual({ outcome: "right", tookMs: 0 });
  clock.advance(150 * 24 * 60 * 60 * 1000);
  await guessTooOften();
  expect((await timed("operate", browser)).tookMs).toBeGreaterThan(0);
});

test("a known browser passes others only with the password of its role, and only with few guesses", async () => {
  const browser = await cookieOf(logins.rememberBrowser({ role: "operator" }, {}));
  for (const cookie of [`${browser.slice(0, -3)}AAA`, browser.replace("operator", "viewer"), "tonearm-browser="]) {
    await guessTooOften();
    expect((await timed("operate", cookie)).tookMs).toBeGreaterThan(0);
  }
  await guessTooOften();
  expect((await timed("view", browser)).tookMs).toBeGreaterThan(0);
  for (let count = 0; count < WRONG_MAX; count++) await timed("wrong", browser);
  expect((await timed("operate", browser)).tookMs).toBeGreaterThan(0);
  clock.advance(5000);
  await guessTooOften();
  expect((await timed("operate", browser)).tookMs).toBe(0);
});

test("the cookie by which a browser is known is no login", async () => {
  const browser = await cookieOf(logins.rememberBrowser({ role: "operator" }, {}));
  expect(browser).toMatch(/^tonearm-browser=browser-operator\./);
  for (const cookie of [browser, browser.replace("-browser=", "="), browser.replace("-browser=browser-", "=")]) {
    expect(await logins.loginOf({ cookie })).toBeUndefined();
  }
});

async function cookieOf(header: Promise<string>): Promise<string> {
  return (await header).split(";")[0] ?? "";
}
