// An HTTP proxy on loopback, as operators name one, for plain HTTP.

import { createServer, type Server, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

interface ForwardProxyOptions {
  /** `user:password`; clients without it are refused. Default: no login is needed. */
  readonly login?: string;
  /** Where an address that is asked for really is; undefined: it is refused. */
  readonly translate: (url: string) => string | URL | undefined;
}

export class ForwardProxy {
  /** Addresses that it was asked for and did not refuse, in order. */
  readonly asked: string[] = [];
  readonly #server: Server;

  static async start(options: ForwardProxyOptions): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor({ login, translate }: ForwardProxyOptions) {
    const authorization = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
    this.#server = createServer((incoming, response) => {
      const { method, headers, url = "" } = incoming;
      const target = headers["proxy-authorization"] === authorization ? translate(url) : undefined;
      if (target === undefined) return void response.writeHead(407).end();
      this.asked.push(url);
      const outgoing = sendRequest(target, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      outgoing.on("error", () => response.destroy());
      response.on("close", () => outgoing.destroy());
      incoming.pipe(outgoing);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
