// Sends a request again whose pooled connection the server closed just as it was used. Audio, probe and plugin threads.

import { errors } from "undici";

/** Once more on a fresh connection; not a POST, which the server may have received. */
export async function resendStale<Answer>(method: string, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    if (method !== "POST" && error instanceof errors.SocketError && !isBadAnswer(error)) return send();
    throw error;
  }
}

/** The server did answer, with something that undici does not take: an unasked `100 Continue`, for one. */
export function isBadAnswer(error: unknown): boolean {
  return error instanceof errors.SocketError && /^bad (?:response|upgrade)$/.test(error.message);
}
