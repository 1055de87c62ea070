// What the target of a request says: its path and its query (protocol-v4.md section 1.1). Main thread; for the REST
// server.

import { badRequest } from "../api/api-error.ts";

/** The part of a target before its query, as it was sent. */
export function pathOf(target: string): string {
  return target.split(/[?#]/, 1)[0] ?? "/";
}

/** `/v4/info;a=b` is `/v4/info`. */
export function withoutPathParameters(target: string): string {
  const path = pathOf(target);
  return path.includes(";") ? path.replaceAll(/;[^/]*/g, "") + target.slice(path.length) : target;
}

/** Query parameters, decoded; repeated ones joined with a comma. */
export function queryOf(target: string): ReadonlyMap<string, string> {
  const start = target.indexOf("?");
  const query = new Map<string, string>();
  if (start < 0) return query;
  for (const [name, value] of new URLSearchParams(target.slice(start + 1))) {
    const before = query.get(name);
    query.set(name, before === undefined ? value : `${before},${value}`);
  }
  return query;
}

/**
 * As `queryOf`.
 * @throws ApiError 400 for a `%` that escapes nothing: the client certainly meant something else
 */
export function checkedQueryOf(target: string): ReadonlyMap<string, string> {
  const isStray = /%(?![0-9A-Fa-f]{2})/.test(target.slice(pathOf(target).length));
  if (isStray) throw badRequest("a % in the query is not followed by two hexadecimal digits");
  return queryOf(target);
}

/** Whether error objects are to hold the stack of their cause. */
export function isTraced(target: string): boolean {
  const trace = queryOf(target).get("trace");
  return trace !== undefined && trace.toLowerCase() !== "false";
}
