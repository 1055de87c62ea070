// Sends a request again whose pooled connection the server closed just as it was used. Audio, probe and plugin threads.

import { errors } from "undici";

/** Once more on a fresh connection; not a POST, which the server may have received. */
export async function resendStale<Answer>(method: string, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    if (method !== "POST" && error instanceof errors.SocketError) return send();
    throw error;
  }
}
