// Waits for the pauses that Spotify asks for, if they are short. Plugin thread.

import type { HttpAnswer, PluginHost } from "../../src/plugin-api/plugin.ts";

/** Such a pause is waited for within a load. */
const PAUSE_MS_MAX = 3000;

/** The answer; after a 429 with a short pause that of a second request. */
export async function patiently(
  { http, clock }: Pick<PluginHost, "http" | "clock">,
  send: () => Promise<HttpAnswer>,
  { signal, timeMsMax = PAUSE_MS_MAX }: { readonly signal: AbortSignal; readonly timeMsMax?: number },
): Promise<HttpAnswer> {
  const answer = await send();
  if (answer.status !== 429) return answer;
  const { retryAfterMs = Number.POSITIVE_INFINITY } = http.statusError(answer);
  if (retryAfterMs > Math.min(timeMsMax, PAUSE_MS_MAX)) return answer;
  await clock.sleep(retryAfterMs, signal);
  return send();
}
