// Who may use a route: what is answered to clients without the right password, key or role. Main thread; used by the
// REST server and the WebSocket endpoint.

import type { FastifyReply } from "fastify";
import { NodeError } from "../../errors.ts";
import type { Access, Identity } from "../access/identity.ts";
import type { Asker } from "../api/route.ts";
import type { Recognition } from "./authentication.ts";

/** Finds out who asks. */
type Recognize = (asker: Asker) => Recognition | Promise<Recognition>;

/** What is answered, without a body, to clients that are not recognised. */
export const REFUSED_STATUSES = { missing: 401, wrong: 403, refused: 429 } as const;

/**
 * Sends 401, 403 or 429, all empty, where the password is missing, wrong, or wrong too often: undefined.
 * @throws NodeError "key-limit" where the client's key asks too often
 */
export function recognized(recognition: Recognition, reply: FastifyReply): Identity | undefined {
  if (recognition.kind === "known") return recognition.identity;
  if (recognition.kind === "rateLimited") {
    reply.header("Retry-After", Math.ceil(recognition.waitMs / 1000));
    throw new NodeError("key-limit", rateLimitText(recognition));
  }
  // Another try has to connect again.
  if (recognition.kind === "refused") reply.header("Connection", "close");
  reply.code(REFUSED_STATUSES[recognition.kind]).send();
  return undefined;
}

/** The message for a client whose key exceeds its rate limit. */
export function rateLimitText({ name }: { readonly name: string }): string {
  return `the key ${name} exceeds its requestsPerSecond; wait for Retry-After`;
}

/** The error for a client whose role may not use the route. */
export function notFor({ name, role }: Identity, access: Access): NodeError {
  return new NodeError("key-forbidden", `the key ${name} has the role ${role}; this request needs the role ${access}`);
}

/** Treats the text behind `Bearer` as if it stood alone. */
export function withoutBearer(recognize: Recognize): Recognize {
  return ({ headers, socket }) => {
    const [, password] = /^Bearer +(.+)$/i.exec(headers.authorization ?? "") ?? [];
    return recognize({
      headers: password === undefined ? headers : { ...headers, authorization: password },
      socket,
    });
  };
}
