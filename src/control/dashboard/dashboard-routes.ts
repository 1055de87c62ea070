// The dashboard over HTTP: its page, logging in and out, and the support bundle. Main thread. Nothing here takes the
// node's password or keys, and nothing of the API takes the dashboard's.

import { readFile } from "node:fs/promises";
import { z } from "zod";
import { ApiError } from "../api/api-error.ts";
import type { RestAnswer, RestRequest, RestRoute } from "../api/route.ts";
import type { DashboardRole } from "./live-messages.ts";
import { VIEWERS_MAX } from "./live-socket.ts";
import type { Logins } from "./logins.ts";
import { isSameSite } from "./same-site.ts";

const PAGE_PATH = "/dashboard";
const FILES = {
  "index.html": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;
type FileName = keyof typeof FILES;

const PASSWORD_LENGTH_MAX = 1024;
const loginBody = z.object({ password: z.string().max(PASSWORD_LENGTH_MAX) }).meta({ id: "DashboardLogin" });

/** Headers of every file of the page: nothing from other sites, nothing inline, no framing. */
const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-cache",
} as const;
/** Headers of answers that belong to one user. */
const OWN_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;

export interface DashboardRoutesOptions {
  readonly logins: Logins;
  /** As many pages are open as may be. */
  readonly isFull: (role: DashboardRole) => boolean;
  /** Where the built page lies. */
  readonly folder: URL;
  /** The support bundle, as text. */
  readonly readBundle: () => Promise<string>;
}

/** `/dashboard` and all below it but the WebSocket. */
export function dashboardRoutes(options: DashboardRoutesOptions): readonly RestRoute[] {
  const names = Object.keys(FILES) as FileName[]; // it is a literal
  return [
    pageRoute(PAGE_PATH, "index.html", options),
    pageRoute(`${PAGE_PATH}/`, "index.html", options),
    ...names.map((name) => pageRoute(`${PAGE_PATH}/${name}`, name, options)),
    {
      method: "POST",
      path: `${PAGE_PATH}/login`,
      access: "open",
      isBodySecret: true,
      handle: (request) => logIn(request, options),
    },
    {
      method: "POST",
      path: `${PAGE_PATH}/logout`,
      access: "open",
      handle: ({ headers }) => {
        refuseOthers(headers);
        return {
          kind: "empty",
          status: 204,
          headers: { ...OWN_HEADERS, "Set-Cookie": options.logins.logOut(headers) },
        };
      },
    },
    {
      method: "GET",
      path: `${PAGE_PATH}/session`,
      access: "open",
      handle: (request) => answerSession(request, options),
    },
    {
      method: "GET",
      path: `${PAGE_PATH}/support`,
      access: "open",
      handle: (request) => answerBundle(request, options),
    },
  ];
}

function pageRoute(path: string, name: FileName, { folder }: DashboardRoutesOptions): RestRoute {
  return {
    method: "GET",
    path,
    access: "open",
    handle: async () => ({
      kind: "text",
      status: 200,
      contentType: FILES[name],
      headers: PAGE_HEADERS,
      text: await readFile(new URL(name, folder), "utf8"),
    }),
  };
}

async function logIn(request: RestRequest, { logins }: DashboardRoutesOptions): Promise<RestAnswer> {
  refuseOthers(request.headers);
  const { password } = request.body(loginBody);
  const outcome = await logins.logIn(password, request.asker);
  if (outcome === "wrong") return { kind: "empty", status: 403, headers: OWN_HEADERS };
  if (outcome === "refused") {
    return { kind: "empty", status: 429, headers: { ...OWN_HEADERS, "Retry-After": "5", Connection: "close" } };
  }
  return { kind: "empty", status: 204, headers: { ...OWN_HEADERS, "Set-Cookie": outcome.cookie } };
}

/**
 * Answers who is logged in, and has the browser be known from now on. A browser does not show the page why its
 * WebSocket was refused, so the reason is here.
 */
async function answerSession(
  { headers }: RestRequest,
  { logins, isFull }: DashboardRoutesOptions,
): Promise<RestAnswer> {
  const login = await logins.loginOf(headers);
  if (login === undefined) return { kind: "empty", status: 401, headers: OWN_HEADERS };
  if (!isFull(login.role)) {
    const cookie = await logins.rememberBrowser(login, headers);
    const text = JSON.stringify({ role: login.role });
    const more = { ...OWN_HEADERS, "Set-Cookie": cookie };
    return { kind: "text", status: 200, contentType: "application/json", text, headers: more };
  }
  const text = `${VIEWERS_MAX} dashboard pages are open, which is the limit; close one of them`;
  return { kind: "text", status: 503, contentType: "text/plain;charset=UTF-8", text, headers: OWN_HEADERS };
}

async function answerBundle(
  { headers }: RestRequest,
  { logins, readBundle }: DashboardRoutesOptions,
): Promise<RestAnswer> {
  refuseOthers(headers);
  const role = (await logins.loginOf(headers))?.role;
  if (role !== "operator") return { kind: "empty", status: role === undefined ? 401 : 403, headers: OWN_HEADERS };
  const disposition = 'attachment; filename="tonearm-support.txt"';
  const text = await readBundle();
  const more = { ...OWN_HEADERS, "Content-Disposition": disposition };
  return { kind: "text", status: 200, contentType: "text/markdown; charset=utf-8", text, headers: more };
}

/** Cookies go along with what other sites ask for, where browsers let them. */
function refuseOthers(headers: RestRequest["headers"]): void {
  if (!isSameSite(headers)) throw new ApiError(403, "this is for the dashboard's own page");
}
