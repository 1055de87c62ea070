// The undici dispatcher for outbound HTTP: every connection passes the outbound guard, also to literal addresses, for
// which undici calls no lookup. Any thread.

import { constants } from "node:crypto";
import { isIP } from "node:net";
import { Agent, buildConnector, Dispatcher, Pool, ProxyAgent } from "undici";
import { portOf } from "../lib/parse-url.ts";
import type { OutboundGuard } from "./outbound-guard.ts";
import { SocketPortions } from "./socket-portions.ts";
import type { Sockets } from "./sockets.ts";

/**
 * Times in milliseconds, above 0. Held for the dispatcher's life; one is made for each address that requests leave
 * from.
 */
export interface GuardedDispatcherOptions {
  /** Checks every address before a connection to it. */
  readonly guard: OutboundGuard;
  /** Default: undici's own, which proxies are always reached through. */
  readonly createConnector?: Sockets["createConnector"];
  /**
   * For TCP and TLS together. With a `localAddress`: for the last of a name's addresses, a second at most for earlier
   * ones.
   */
  readonly connectTimeoutMs: number;
  /** Longest silence of the server while it answers, headers and body alike. */
  readonly socketTimeoutMs: number;
  /**
   * Proxy for all requests. Its own address is the operator's choice and not checked. It resolves the names of targets
   * itself, so all their addresses known here must be allowed. The operator's servers are reached without it. Secret:
   * may contain credentials.
   */
  readonly proxyUrl?: string | undefined;
  /** Shared by all dispatchers of a thread. Default: for this dispatcher alone. */
  readonly portions?: SocketPortions | undefined;
  /** Address to send from, for address rotation: of a target's addresses, those of its family are used. */
  readonly localAddress?: string | undefined;
}

/** undici needs a controller when it reports a failure; a request that was never sent has none. */
const NOTHING_SENT: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** Largest head of an answer: some sites send 20 KiB of policies and cookies. */
const HEAD_BYTES_MAX = 32 * 1024;

/** Addresses of a name that are tried when the socket is bound. */
const ADDRESSES_TRIED_MAX = 3;
/** Connect timeout of all addresses but the last. */
const EARLIER_TIMEOUT_MS = 1_000;

/**
 * TLS settings offered: Node.js's, except for Diffie-Hellman over primes of the server's choice and of any size (8,192
 * bits block the thread for 300 ms, before any certificate is checked), and slow curves.
 */
export const TLS_OFFER = { ciphers: `${constants.defaultCipherList}:!kDHE`, ecdhCurve: "X25519:P-256:P-384" };

/** Makes an Agent without pipelining, one request per connection at a time. Close it with `destroy()`. */
export function createGuardedDispatcher(options: GuardedDispatcherOptions): Dispatcher {
  const { guard, connectTimeoutMs, socketTimeoutMs, proxyUrl, localAddress } = options;
  const { portions = new SocketPortions(), createConnector = buildConnector } = options;
  const limits = { headersTimeout: socketTimeoutMs, bodyTimeout: socketTimeoutMs, maxHeaderSize: HEAD_BYTES_MAX };
  if (proxyUrl !== undefined && guard.hasOwnServers) {
    // A proxy usually cannot reach the operator's private network.
    const direct = createGuardedDispatcher({ ...options, proxyUrl: undefined });
    const proxied = createGuardedDispatcher({ ...options, guard: guard.withoutOwnServers() });
    return new OwnServersBeside(guard, { direct, proxied });
  }
  if (proxyUrl !== undefined) {
    // No tunnel for plain HTTP: many proxies open tunnels to port 443 only.
    const factory = (origin: URL, poolOptions: object): Dispatcher => createPool(origin, poolOptions, portions);
    const proxy = new ProxyAgent({ uri: proxyUrl, proxyTunnel: false, requestTls: TLS_OFFER, ...limits, factory });
    return proxy.compose((dispatch) => (request, handler) => {
      guard
        .checkEveryAddress(new URL(String(request.origin)).hostname)
        .then(() => void dispatch(request, handler))
        .catch((error) => handler.onResponseError?.(NOTHING_SENT, error));
      return true;
    });
  }
  const connect = portions.portioned(
    localAddress === undefined
      ? createConnector({ ...TLS_OFFER, timeout: connectTimeoutMs, lookup: guard.lookup })
      : boundConnector({ guard, createConnector, connectTimeoutMs, localAddress }),
  );
  const connectToOwn = portions.portioned(
    createConnector({ ...TLS_OFFER, timeout: connectTimeoutMs, lookup: guard.lookupOwn }),
  );
  return new Agent({
    ...limits,
    ...(localAddress === undefined ? {} : { localAddress }),
    connect(target, callback) {
      // From whichever address reaches it: those for the world may not.
      const isOwn = guard.isOwnServer(target.hostname, portOf(target));
      if (isOwn) return connectToOwn({ ...target, localAddress: null }, callback);
      try {
        guard.checkHost(target.hostname);
      } catch (error) {
        // Thrown by the guard only: a NodeError.
        callback(error as Error, null);
        return;
      }
      connect(target, callback);
    },
  });
}

/** Goes to servers of the operator's own directly, to all others through the proxy. */
class OwnServersBeside extends Dispatcher {
  readonly #guard: OutboundGuard;
  readonly #direct: Dispatcher;
  readonly #proxied: Dispatcher;

  constructor(
    guard: OutboundGuard,
    { direct, proxied }: { readonly direct: Dispatcher; readonly proxied: Dispatcher },
  ) {
    super();
    this.#guard = guard;
    this.#direct = direct;
    this.#proxied = proxied;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = new URL(String(options.origin));
    const isOwn = this.#guard.isOwnServer(origin.hostname, portOf(origin));
    return (isOwn ? this.#direct : this.#proxied).dispatch(options, handler);
  }

  // The other forms of these two take callbacks, and are not used here.
  override readonly close = (async () => {
    await Promise.all([this.#direct.close(), this.#proxied.close()]);
  }) as Dispatcher["close"];

  override readonly destroy = (async () => {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }) as Dispatcher["destroy"];
}

/** Creates pools as ProxyAgent does, which always passes the connector that leads through the proxy. */
function createPool(origin: URL, options: object, portions: SocketPortions): Dispatcher {
  const connect = "connect" in options ? (options.connect as buildConnector.connector) : buildConnector({});
  return new Pool(origin, { ...options, connect: portions.portioned(connect) });
}

/**
 * Node tries the addresses of a name one after the other until one answers, but only the first when the socket is
 * bound. This does it for bound sockets, with addresses of the right family.
 */
function boundConnector(
  options: Pick<GuardedDispatcherOptions, "guard" | "connectTimeoutMs"> & {
    readonly createConnector: typeof buildConnector;
    readonly localAddress: string;
  },
): buildConnector.connector {
  const { guard, createConnector, connectTimeoutMs, localAddress } = options;
  const connectLast = createConnector({ ...TLS_OFFER, timeout: connectTimeoutMs });
  const earlierTimeoutMs = Math.min(connectTimeoutMs, EARLIER_TIMEOUT_MS);
  const connectEarlier = createConnector({ ...TLS_OFFER, timeout: earlierTimeoutMs });
  return (target, callback) => {
    const connectNext = ([address, ...others]: readonly string[]): void => {
      const connect = others.length === 0 ? connectLast : connectEarlier;
      connect({ ...target, hostname: address ?? target.hostname }, (...outcome) => {
        if (outcome[0] === null || others.length === 0) callback(...outcome);
        else connectNext(others);
      });
    };
    if (isIP(target.hostname) !== 0) return connectNext([target.hostname]);
    guard.lookup(target.hostname, { all: true, family: isIP(localAddress) }, (error, found) => {
      if (error !== null) return callback(error, null);
      const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found];
      connectNext(addresses.slice(0, ADDRESSES_TRIED_MAX));
    });
  };
}
