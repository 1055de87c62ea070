// An npm registry on loopback that has one package, this project as it would be published, and redirects requests for
// any other to the registry that is configured on this machine. So `npx tonearm` means what it will mean to a reader.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../support/project-files.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
}

export class PackageRegistry {
  readonly url: string;
  readonly #server: Server;
  readonly #upstream: string;
  readonly #manifest: Manifest;
  readonly #tarball: Buffer;

  private constructor(server: Server, parts: { readonly upstream: string; readonly tarball: Buffer }) {
    this.#server = server;
    this.#upstream = parts.upstream.replace(/\/$/, "");
    this.#tarball = parts.tarball;
    // Our own file.
    this.#manifest = JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, "utf8")) as Manifest;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP
    server.on("request", (request, response) => this.#answer(request, response));
  }

  /** Packs the project, which must be built; the tarball lies in `folder`. */
  static async open(folder: string): Promise<PackageRegistry> {
    const npm = (...args: string[]) => execFileSync("npm", args, { cwd: PROJECT_ROOT, encoding: "utf8" }).trim();
    const upstream = npm("config", "get", "registry");
    const fileName = npm("pack", "--ignore-scripts", "--silent", "--pack-destination", folder);
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new PackageRegistry(server, { upstream, tarball: readFileSync(join(folder, fileName)) });
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer({ url = "/" }: IncomingMessage, response: ServerResponse): void {
    const { name, version } = this.#manifest;
    const tarballPath = `/${name}/-/${name}-${version}.tgz`;
    if (url === `/${name}`) {
      const integrity = `sha512-${createHash("sha512").update(this.#tarball).digest("base64")}`;
      const dist = { tarball: this.url + tarballPath, integrity };
      const versions = { [version]: { ...this.#manifest, dist } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
    } else if (url === tarballPath) {
      response.end(this.#tarball);
    } else {
      response.writeHead(307, { location: this.#upstream + url }).end();
    }
  }
}
