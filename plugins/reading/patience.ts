// Waits for the pauses that sites ask for, if they are short. Plugin threads.

import type { HttpAnswer, PluginHost } from "../../src/plugin-api/plugin.ts";

/** Such a pause is waited for within a load. */
const PAUSE_MS_MAX = 3000;

interface PatienceOptions {
  readonly signal: AbortSignal;
  /** The longest pause, below 3 s. */
  readonly timeMsMax?: number;
  /** The pause where the site does not say how long it should be. Default: none, and the first answer is returned. */
  readonly pauseMs?: number;
}

/** The answer; after a 429 with a short pause that of a second request. */
export async function patiently(
  { http, clock }: Pick<PluginHost, "http" | "clock">,
  send: () => Promise<HttpAnswer>,
  { signal, timeMsMax = PAUSE_MS_MAX, pauseMs = Number.POSITIVE_INFINITY }: PatienceOptions,
): Promise<HttpAnswer> {
  const answer = await send();
  if (answer.status !== 429) return answer;
  const { retryAfterMs = pauseMs } = http.statusError(answer);
  if (retryAfterMs > Math.min(timeMsMax, PAUSE_MS_MAX)) return answer;
  await clock.sleep(retryAfterMs, signal);
  return send();
}
