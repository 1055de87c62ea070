// What the page asks the node over HTTP: whether somebody is logged in, logging in and out. In the browser.

import type { LoginOutcome, SessionAnswer } from "./live-connection.ts";

/** An answer that does not come is none. */
const TIMEOUT_MS = 10_000;
/** Of what the node says why. */
const REASON_LENGTH_MAX = 200;
/** What is waited when the node does not say how long. */
const RETRY_AFTER_S = 30;

/** Who is logged in, by the cookie that the browser holds. Never throws. */
export async function askSession(): Promise<SessionAnswer> {
  try {
    const answer = await fetch("/dashboard/session", {
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status } = answer;
    if (status === 200) return "in";
    // A proxy says 503 as well, when the node is gone.
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
      signal: AbortSignal.timeout(TIMEOUT_MS),
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
