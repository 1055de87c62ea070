// Passwords that are guessed beside somebody who knows them, from one address.

import { Agent, request } from "node:http";
import { sleep } from "../../sleep.ts";
import type { Attack } from "../harness/attack.ts";
import { beside } from "../harness/beside.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { manyTimes } from "./many-times.ts";

/** Every tenth guess is the right password: accepted, it shows that guesses are checked. */
const RIGHT_EVERY = 10;
/** Hundred guesses are free, and then a few in a second: this many of the right ones may be among those checked. */
const ACCEPTED_MAX = 40;
/** The page itself gives up then. */
const LOGIN_MS_MAX = 10_000;
/** For a browser that was logged in before. */
const KNOWN_LOGIN_MS_MAX = 1500;
const LOOPS = 4;

/** Requests with the password, all over one connection. */
function keptConnection(attack: Attack, localAddress: string): () => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  attack.onClose(() => agent.destroy());
  return () =>
    new Promise((resolve, reject) => {
      const headers = { Authorization: attack.password };
      request(`${attack.http.url}/v4/info`, { agent, headers, localAddress }, (response) => {
        response.resume();
        response.once("close", () => resolve(String(response.statusCode)));
      })
        .once("error", reject)
        .end();
    });
}

const keyGuesses: HostileCase = {
  name: "key-guesses",
  what: "a client with a key guesses the main password, from the address of honest clients",
  node: "shared",
  arm: (attack) => {
    const localAddress = "127.0.0.3";
    const [greedy, honest] = [attack.as("greedy", { localAddress }), attack.as("honest", { localAddress })];
    const ask = keptConnection(attack, localAddress);
    const twin = async () => {
      const [withKey, withPassword] = await Promise.all([honest.answerTo("GET", "/v4/info"), ask()]);
      return `key ${withKey}, password ${withPassword}`;
    };
    const strike = async () => {
      let accepted = 0;
      const made = await manyTimes(attack, 100_000, async (index) => {
        if (index % 50 === 0) await greedy.answerTo("GET", "/v4/info");
        const password = index % RIGHT_EVERY === 0 ? attack.password : `guess ${index}`;
        const { status } = await greedy.http.get("/v4/info", { password, signal: attack.signal });
        if (status === 200) accepted += 1;
      });
      if (accepted > ACCEPTED_MAX) {
        attack.problems.push(
          `${accepted} of ${Math.ceil(made / RIGHT_EVERY)} right guesses among others were accepted`,
        );
      }
      return `${made} guesses, ${accepted} accepted`;
    };
    return () => beside(attack, { honest: twin, expected: "key 200, password 200", strike });
  },
};

interface Login {
  readonly status: number;
  readonly ms: number;
  /** Of all cookies that were set. */
  readonly cookie: string;
}

async function logIn(client: Attack, password: string, cookie?: string): Promise<Login> {
  const startedMs = performance.now();
  const headers = { "Content-Type": "application/json", ...(cookie === undefined ? {} : { Cookie: cookie }) };
  const options = { body: JSON.stringify({ password }), headers, password: null, signal: client.signal };
  const reply = await client.http.request("POST", "/dashboard/login", options);
  const set = reply.headers["set-cookie"] ?? [];
  return {
    status: reply.status,
    ms: performance.now() - startedMs,
    cookie: set.map((text) => text.split(";")[0]).join("; "),
  };
}

/** Logins of somebody who knows the password while others at the same address guess it. */
function loginCase(
  name: string,
  what: string,
  options: { readonly localAddress: string; readonly isKnown: boolean; readonly msMax: number },
): HostileCase {
  return {
    name,
    what,
    node: "shared",
    seconds: 14,
    arm: async (attack) => {
      const client = attack.as(undefined, { localAddress: options.localAddress });
      const { dashboardPassword } = attack.context;
      const first = await logIn(client, dashboardPassword);
      if (first.status !== 204) throw new Error(`the right password is answered with ${first.status}`);
      return async () => {
        let isOver = false;
        let guesses = 0;
        const loop = async (): Promise<void> => {
          for (; !isOver; guesses++) await logIn(client, `guess ${guesses}`).catch(() => undefined);
        };
        const loops = Array.from({ length: LOOPS }, loop);
        await sleep(1500);
        const { status, ms } = await logIn(client, dashboardPassword, options.isKnown ? first.cookie : undefined);
        isOver = true;
        if (status !== 204) attack.problems.push(`the right password is answered with ${status}`);
        if (ms > options.msMax) attack.problems.push(`the right password takes ${ms.toFixed(0)} ms`);
        void Promise.all(loops); // guesses that are still held end with the attack
        return `${guesses} guesses; the right password: ${status} after ${ms.toFixed(0)} ms`;
      };
    },
  };
}

export const logins: HostileLayer = {
  layer: "login",
  cases: [
    keyGuesses,
    loginCase("login-guesses", "guesses at the dashboard from the address of a new browser", {
      localAddress: "127.0.0.4",
      isKnown: false,
      msMax: LOGIN_MS_MAX,
    }),
    loginCase("login-guesses-known", "the same, of a browser that was logged in before", {
      localAddress: "127.0.0.7",
      isKnown: true,
      msMax: KNOWN_LOGIN_MS_MAX,
    }),
  ],
};
