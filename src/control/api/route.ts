// What a route is: the requests it accepts, the parts of them that it gets, and its answers. Main thread; the routes
// are in the files ending in -routes.ts, control/server serves them.

import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { z } from "zod";
import type { Owner } from "../../lib/owners.ts";
import type { LogFields } from "../../log/log.ts";
import type { Access, Identity } from "../access/identity.ts";
import { ApiError } from "./api-error.ts";
import type { ListAnswer, WrittenAnswer } from "./list-answer.ts";

/** `ANY` takes every method. */
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ANY";

/** A request whose path, method and client are checked. Valid until its handler has answered. */
export interface RestRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The `:name` segments of the path, decoded. */
  readonly segments: Readonly<Record<string, string>>;
  /** Query parameters, decoded; repeated ones joined with a comma. */
  readonly query: ReadonlyMap<string, string>;
  /** The client's account, and the client as far as a request tells: shares are counted by both. */
  readonly owner: Owner;
  /** The identity of the client; `NOBODY` on a route that is open to everyone. */
  readonly identity: Identity;
  /** Aborted when the client disconnects before it has its answer. */
  readonly signal: AbortSignal;
  /** The raw credentials, for routes that check the password themselves. */
  readonly asker: Asker;
  /** Reads the body, or throws the published 400 or 415. */
  body<Schema extends z.ZodType>(schema: Schema): z.output<Schema>;
}

/** The answer of a handler: JSON (status 200 by default), nothing, or text of a type. Failures are thrown. */
export type RestAnswer = (
  | { readonly kind: "json"; readonly value: unknown; readonly status?: number }
  | ListAnswer
  | WrittenAnswer
  | { readonly kind: "empty"; readonly status: number; readonly headers?: AnswerHeaders }
  | {
      readonly kind: "text";
      readonly text: string;
      readonly contentType: string;
      readonly status: number;
      readonly headers?: AnswerHeaders;
    }
) & {
  /** Fields for the request's line in the log. */
  readonly logged?: LogFields;
};

/** Further headers of an answer. */
type AnswerHeaders = Readonly<Record<string, string>>;

/** 200 with `value` as JSON; bigints as their digits. */
export function json(value: unknown): RestAnswer {
  return { kind: "json", value };
}

/**
 * One path and method. A handler throws `ApiError` for a status of its choice; any other `NodeError` becomes one by its
 * fault.
 */
export interface RestRoute {
  readonly method: Method;
  readonly path: string;
  /** Default: `client`. */
  readonly access?: Access;
  /** Also accepts the password or key behind `Bearer`: some programs can send it in no other form. */
  readonly takesBearer?: boolean;
  /** Whatever is in its body may be a secret, whatever it is called: it is not logged. */
  readonly isBodySecret?: boolean;
  /** Its answer is a JSON array of the players of a session: those of other machines are added to it. */
  readonly isPlayerList?: boolean;
  /**
   * With `?machines=all` every machine of the cluster is asked, and the answer lists what each says. The function makes
   * what the answer has besides, of the answers there are; `isComplete`: of all machines that have anything to say.
   */
  readonly ofMachines?: (answers: readonly unknown[], options: { readonly isComplete: boolean }) => object;
  /** For `Lavalink-Api-Version`. Default: 4. */
  readonly apiVersion?: "3";
  /** For the OpenAPI document. Routes without are not in it. */
  readonly description?: RouteDescription;
  handle(request: RestRequest): RestAnswer | Promise<RestAnswer>;
}

/** The parts of a request that identify the client. */
export interface Asker {
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
}

/** The input and output of a route. Anything that follows from its path and password is left out. */
export interface RouteDescription {
  readonly summary: string;
  readonly query?: readonly QueryParameter[];
  readonly body?: z.ZodType;
  /** By status: the schema of the JSON, text, or nothing. A schema without an `id` stands as its `meta` says. */
  readonly answers: Readonly<Record<number, z.ZodType | "text" | "empty">>;
  /** Statuses of error objects, in addition to those of paths and bodies. */
  readonly errors?: readonly number[];
}

/** Of routes that can answer for all machines. */
export const MACHINES_PARAMETER: QueryParameter = {
  name: "machines",
  meaning: "`all`: what each machine of the cluster answers. Default: this machine.",
  type: "string",
};

/**
 * Whether that query is about all machines.
 * @throws ApiError 400 for a value that is not known
 */
export function isOfMachines(query: ReadonlyMap<string, string>): boolean {
  const value = query.get(MACHINES_PARAMETER.name);
  if (value === undefined || value === "all") return value !== undefined;
  throw new ApiError(400, `'${MACHINES_PARAMETER.name}' can only be 'all'`);
}

export interface QueryParameter {
  readonly name: string;
  readonly meaning: string;
  readonly type: "string" | "boolean" | "integer" | "number";
  readonly isRequired?: boolean;
}
