// The sockets of the tests of the outbound guard: a permitted web site that redirects to the target in its query, by
// every means a server has, and canaries that listen where no connection may arrive.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Not an address of HOSTILE_TARGETS, so that it alone can be permitted. Only Linux has all of 127.0.0.0/8. */
export const SITE_ADDRESS = "127.55.66.77";

const MEDIA_HEAD = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n";
const MASTER_HEAD = "#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n";

/** The means by which a server can refer to `target`; each is a path of the site. */
const PAGES: Readonly<Record<string, (target: string) => string>> = {
  m3u: (target) => `#EXTM3U\n#EXTINF:1,Song\n${target}\n`,
  pls: (target) => `[playlist]\nFile1=${target}\n`,
  plain: (target) => `${target}\n`,
  variant: (target) => `${MASTER_HEAD}#EXT-X-STREAM-INF:BANDWIDTH=96000\n${target}\n`,
  rendition: (target) =>
    `${MASTER_HEAD}#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,URI="${target}"\n` +
    `#EXT-X-STREAM-INF:BANDWIDTH=96000,RESOLUTION=1x1,AUDIO="a"\n${target}\n`,
  segment: (target) => `${MEDIA_HEAD}#EXTINF:1,\n${target}\n#EXT-X-ENDLIST\n`,
  map: (target) => `${MEDIA_HEAD}#EXT-X-MAP:URI="${target}"\n#EXTINF:1,\nsegment.bin\n#EXT-X-ENDLIST\n`,
  key: (target) => `${MEDIA_HEAD}#EXT-X-KEY:METHOD=AES-128,URI="${target}"\n#EXTINF:1,\nsegment.bin\n#EXT-X-ENDLIST\n`,
};

/** `redirect`, `redirect-twice`, and a name for each kind of text that can refer to a target. */
export const SITE_ROUTES: readonly string[] = ["redirect", "redirect-twice", ...Object.keys(PAGES)];

export class HostileSite {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<HostileSite> {
    const server = createServer((request, response) => {
      const [path = "", query = ""] = (request.url ?? "").slice(1).split("?");
      const target = decodeURIComponent(query);
      if (path === "redirect") response.writeHead(302, { location: inHeader(target) }).end();
      else if (path === "redirect-twice") response.writeHead(307, { location: `/redirect?${query}` }).end();
      else if (path === "segment.bin") response.end(Buffer.alloc(1024));
      else response.end(PAGES[path]?.(target));
    });
    server.listen(0, SITE_ADDRESS);
    await once(server, "listening");
    return new HostileSite(server);
  }

  /** The address of the site that refers to `target`. */
  leadingTo(target: string, route: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://${SITE_ADDRESS}:${port}/${route}?${encodeURIComponent(target)}`;
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}

/** Listens on every address of this machine; answers 404 to all requests. */
export class Canary {
  readonly port: number;
  readonly #server: Server;
  #visitorCount = 0;
  #onVisit: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", () => {
      this.#visitorCount++;
      this.#onVisit();
    });
  }

  static async start(): Promise<Canary> {
    const server = createServer((_request, response) => response.writeHead(404, { connection: "close" }).end());
    // A TLS connection counts as well.
    server.on("clientError", (_error, socket) => socket.destroy());
    server.listen(0);
    await once(server, "listening");
    return new Canary(server);
  }

  get visitorCount(): number {
    return this.#visitorCount;
  }

  /** Resolves with the next visit. */
  visited(): Promise<void> {
    return new Promise((resolve) => {
      this.#onVisit = resolve;
    });
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}

/** A canary for datagrams. */
export class UdpCanary {
  readonly #socket = createSocket("udp4");
  #packetCount = 0;
  #onPacket: () => void = () => undefined;

  static async start(): Promise<UdpCanary> {
    const canary = new UdpCanary();
    canary.#socket.on("message", () => {
      canary.#packetCount++;
      canary.#onPacket();
    });
    canary.#socket.bind(0);
    await once(canary.#socket, "listening");
    return canary;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get packetCount(): number {
    return this.#packetCount;
  }

  /** Resolves with the next packet. */
  received(): Promise<void> {
    return new Promise((resolve) => {
      this.#onPacket = resolve;
    });
  }

  close(): void {
    this.#socket.close();
  }
}

function inHeader(text: string): string {
  return text.replace(/[^ -~]+/g, encodeURIComponent);
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
