// The page's HTTP requests to the node: query the login, log in, log out. In the browser.

import type { LoginOutcome, SessionAnswer } from "./live-connection.ts";

/** A request without an answer after this time has failed. */
const TIMEOUT_MS = 10_000;
/** A login waits behind wrong passwords from its address: 26 s at most. */
const LOGIN_TIMEOUT_MS = 30_000;
/** Characters of the node's reason that are shown at most. */
const REASON_LENGTH_MAX = 200;
/** The wait when the node does not name one. */
const RETRY_AFTER_S = 30;

/** Asks the node who is logged in according to the browser's cookie. Never throws. */
export async function askSession(): Promise<SessionAnswer> {
  try {
    const answer = await fetch("/dashboard/session", {
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status } = answer;
    if (status === 200) return "in";
    // A proxy also answers 503 when the node is down.
    if (status === 503 && answer.headers.has("Lavalink-Api-Version")) {
      return { reason: (await answer.text()).slice(0, REASON_LENGTH_MAX) };
    }
    return status === 401 ? "out" : "gone";
  } catch {
    // No node, or no network to it.
    return "gone";
  }
}

/** Never throws. */
export async function logIn(password: string): Promise<LoginOutcome> {
  try {
    const { status, headers } = await fetch("/dashboard/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ password }),
      signal: AbortSignal.timeout(LOGIN_TIMEOUT_MS),
    });
    if (status === 204) return { kind: "in" };
    if (status === 403) return { kind: "wrong" };
    if (status === 429) return { kind: "tooMany", waitS: Number(headers.get("Retry-After")) || RETRY_AFTER_S };
    return { kind: "failed", reason: `the node answered with ${status}` };
  } catch {
    // No node, or no network to it.
    return { kind: "failed", reason: "the node does not answer" };
  }
}

/** Has the node forget the cookie. Never throws; false: it may still be good. */
export async function logOut(): Promise<boolean> {
  try {
    const { ok } = await fetch("/dashboard/logout", { method: "POST", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return ok;
  } catch {
    // No node, or no network to it.
    return false;
  }
}
