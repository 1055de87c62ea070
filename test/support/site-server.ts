// A folder of files over HTTP on loopback, as any host of static pages serves them: `/a/b` is `a/b.html`, and missing
// pages are 404.html.

import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

export interface SiteServer {
  /** `http://127.0.0.1:40000` */
  readonly origin: string;
  close(): void;
}

/** The file of `folder` that an address' path stands for, or undefined. */
export function siteFile(folder: string, path: string): string | undefined {
  const location = join(folder, normalize(`/${decodeURIComponent(path)}`));
  return [location, `${location}.html`, join(location, "index.html")].find(
    (file) => existsSync(file) && statSync(file).isFile(),
  );
}

export async function serveSite(folder: string): Promise<SiteServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const file = siteFile(folder, pathname);
    response.statusCode = file === undefined ? 404 : 200;
    response.setHeader("Content-Type", TYPES[extname(file ?? ".html")] ?? "application/octet-stream");
    response.end(readFileSync(file ?? join(folder, "404.html")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // listening on TCP: an object
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
