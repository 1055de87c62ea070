// The NATS servers that this machine knows: those configured, and those that servers tell of. Asked for where to
// connect, and by quorum-evidence.ts. A leaf.

import { isIP } from "node:net";

/** Servers that are told of beyond it are not remembered. */
const LEARNED_MAX = 64;

export interface NatsServer {
  readonly host: string;
  readonly port: number;
}

export class NatsServers {
  readonly configured: readonly NatsServer[];
  #learned: readonly NatsServer[] = [];
  /** The most that a server has told of at once. */
  #largest = 0;
  #lost: string | undefined;

  constructor(configured: readonly NatsServer[]) {
    this.configured = configured;
  }

  /**
   * `addresses`: all servers of the cluster that one of them knows, itself among them, as `host:port`. Servers that are
   * down are not told of, but still count: the known ones are replaced only by as many.
   */
  learn(addresses: readonly string[]): void {
    const told = addresses.flatMap((address) => parseAddress(address) ?? []).slice(0, LEARNED_MAX);
    if (told.length >= this.#largest) {
      this.#largest = told.length;
      this.#learned = told;
      return;
    }
    this.#learned = unique([...this.#learned, ...told]).slice(0, LEARNED_MAX);
  }

  /** Each once. */
  get known(): readonly NatsServer[] {
    return unique([...this.configured, ...this.#learned]);
  }

  /** The connection to it was lost: it is tried last. */
  onLost(address: string): void {
    this.#lost = address;
  }

  /** Where to connect, in that order. With TLS no addresses without a name: certificates are for names. */
  toTry(options: { readonly hasTls: boolean; readonly shuffled: <T>(list: readonly T[]) => T[] }): readonly string[] {
    const learned = this.#learned.filter(({ host }) => !options.hasTls || isIP(host) === 0);
    const all = options.shuffled(unique([...this.configured, ...learned])).map(addressOf);
    return [...all.filter((address) => address !== this.#lost), ...all.filter((address) => address === this.#lost)];
  }
}

/** `host:port`, an IPv6 address in brackets. */
export function addressOf({ host, port }: NatsServer): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function parseAddress(text: string): NatsServer | undefined {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(text.slice(colon + 1));
  if (colon < 1 || text.length > 300 || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

function unique(servers: readonly NatsServer[]): readonly NatsServer[] {
  return [...new Map(servers.map((server) => [addressOf(server), server])).values()];
}
