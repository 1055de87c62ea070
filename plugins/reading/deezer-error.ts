// Reads the errors of Deezer's API, which come with status 200. Pure. Plugin threads.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { type Members, membersOf, trimmedText } from "./json.ts";

const QUOTA_PAUSE_MS = 5000;
const MESSAGE_LENGTH_MAX = 200;

/** The codes of its errors. */
const QUOTA = 4;
const SERVICE_BUSY = 700;
const NO_DATA = 800;
/** A login is needed: a private playlist, for instance. */
const NO_ACCESS = new Set([200, 300]);

/** Throws a SourceError if the answer is an error: `not-found` where there is no such item, `busy` for the quota. */
export function throwDeezerError(answer: Members): void {
  const error = membersOf(answer.error);
  if (Object.keys(error).length === 0) return;
  const type = trimmedText(error.type);
  const code = codeOf(error.code) ?? (type === "DataException" ? NO_DATA : undefined);
  const said = `${trimmedText(error.message) ?? type ?? "an error"}${code === undefined ? "" : ` (code ${code})`}`;
  const message = `Deezer answered: ${said.slice(0, MESSAGE_LENGTH_MAX)}`;
  if (code === NO_DATA) throw new SourceError("not-found", message);
  if (code === QUOTA) {
    const advice = "it allows 50 requests in 5 s from one address; try again in a few seconds";
    throw new SourceError("busy", `${message}; ${advice}`, { retryAfterMs: QUOTA_PAUSE_MS });
  }
  if (code === SERVICE_BUSY) throw new SourceError("busy", message);
  if (code !== undefined && NO_ACCESS.has(code))
    throw new SourceError("unavailable", `${message}; it may be private, or need a login`);
  throw new SourceError("changed", message);
}

/** A number, or its digits. */
function codeOf(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : trimmedText(value);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
