// Keeps every outbound connection away from private addresses: addresses are checked after resolving, and the checked
// address itself is connected to, so neither redirects nor changing DNS answers bypass it. Any thread.
//
// Global unicast is allowed and everything else refused, because a list of forbidden blocks would go out of date.
// Behind a proxy names are resolved twice, because proxies take the `Host` of plain requests from a checked address.
// Errors do not name the address, or clients could read the internal DNS.

import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import ipaddr from "ipaddr.js";
import { NodeError } from "../errors.ts";
import { OwnNetwork } from "./own-network.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type AddressBlock = [Address, number];

/** Callback of Node's `dns.lookup`: a list with `all: true`, else one address and its family (4 or 6). */
type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a name to addresses: `dns.lookup` with `all: true`. Replaced in tests. */
export type ResolveHost = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Addresses of a name that are considered: checking takes time on the audio thread. Real hosts have few. */
const ADDRESSES_MAX = 64;
const NOT_PUBLIC = "not a public address";
const OWN = "an address of this machine or its network";
/** Azure's wire server: a public address that only ever answers from inside and hands out credentials. */
const AZURE_WIRE_SERVER = "168.63.129.16";

/**
 * Judges addresses: globally routable unicast ones pass unless they are our own (own-network.ts), all others only when
 * the operator's list allows them.
 */
export class OutboundGuard {
  readonly #allow: readonly string[];
  readonly #allowed: readonly AddressBlock[];
  readonly #resolve: ResolveHost;
  readonly #ownNetwork: OwnNetwork;
  readonly #ownServers: ReadonlySet<string>;

  /**
   * @param options `ownServers`: the operator's servers as `host:port`, allowed at any address
   * @param allow CIDR blocks or single addresses that are allowed although private (`tonearm.network.allow`)
   * @throws NodeError "network-allow-invalid" naming the invalid entry
   */
  constructor(
    allow: readonly string[],
    options: { resolve?: ResolveHost; ownNetwork?: OwnNetwork; ownServers?: readonly string[] } = {},
  ) {
    this.#ownServers = new Set(options.ownServers);
    this.#allow = allow;
    this.#allowed = allow.map(parseBlock);
    this.#resolve = options.resolve ?? systemLookup;
    this.#ownNetwork = options.ownNetwork ?? new OwnNetwork();
  }

  /**
   * For the `lookup` option of net, tls, dgram, ws and undici. Returns only allowed addresses; if none is left it fails
   * with "address-refused". These libraries call it for names only: literal addresses must pass `checkHost` first.
   */
  readonly lookup = (
    hostname: string,
    optionsOrCallback: LookupOptions | number | LookupCallback,
    maybeCallback?: LookupCallback,
  ): void => {
    const isAllowed = (address: string): boolean => this.#isAllowed(address);
    this.#resolveAllowed(hostname, { isAllowed, optionsOrCallback, maybeCallback });
  };

  /** Like `lookup`, for the operator's servers, whose addresses are not checked. */
  readonly lookupOwn: OutboundGuard["lookup"] = (hostname, optionsOrCallback, maybeCallback) => {
    this.#resolveAllowed(hostname, { isAllowed: () => true, optionsOrCallback, maybeCallback });
  };

  /** A guard that lets this server, `host:port`, through and judges everything else as this one does. */
  withOwnServer(server: string): OutboundGuard {
    return new OutboundGuard(this.#allow, {
      resolve: this.#resolve,
      ownNetwork: this.#ownNetwork,
      ownServers: [server],
    });
  }

  /** A copy of this guard without the operator's servers. */
  withoutOwnServers(): OutboundGuard {
    return new OutboundGuard(this.#allow, { resolve: this.#resolve, ownNetwork: this.#ownNetwork });
  }

  /** True when there is one that is let through. */
  get hasOwnServers(): boolean {
    return this.#ownServers.size > 0;
  }

  /** A server that the operator has named by host and port: its address is not judged. */
  isOwnServer(host: string, port: number | string): boolean {
    return this.#ownServers.size > 0 && this.#ownServers.has(`${bareHost(host)}:${port}`);
  }

  /** Throws NodeError "address-refused" unless this IP address is allowed. `host` is named in the message. */
  check(ip: string, host: string = ip): void {
    const reason = this.#reasonAgainst(ip);
    if (reason !== undefined) throw refusal(host, reason);
  }

  /**
   * Checks the host of a URL if it is an address in any notation (also decimal, octal, hexadecimal, short, in brackets,
   * IPv4 within IPv6), and throws like `check`. Names pass here; they are checked when `lookup` has resolved them.
   */
  checkHost(host: string): void {
    const bare = bareHost(host);
    if (ipaddr.isValid(bare)) this.check(bare, host);
  }

  /**
   * Checks a host that a proxy will connect to: which address the proxy uses is not known here, so all addresses of the
   * name must be allowed. If everything is allowed, nothing is resolved.
   * @throws NodeError "address-refused", or the resolver's error
   */
  async checkEveryAddress(host: string): Promise<void> {
    if (this.#allowsEverything()) return;
    this.checkHost(host);
    if (ipaddr.isValid(bareHost(host))) return;
    const addresses = await new Promise<LookupAddress[]>((resolve, reject) => {
      this.#resolve(host, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
    if (addresses.length === 0) throw noAddress(host);
    if (addresses.length > ADDRESSES_MAX) throw refusal(host, `it has more than ${ADDRESSES_MAX} addresses`);
    for (const { address } of addresses) this.check(address, host);
  }

  #resolveAllowed(
    hostname: string,
    {
      isAllowed,
      optionsOrCallback,
      maybeCallback,
    }: {
      readonly isAllowed: (ip: string) => boolean;
      readonly optionsOrCallback: LookupOptions | number | LookupCallback;
      readonly maybeCallback: LookupCallback | undefined;
    },
  ): void {
    const callback = typeof optionsOrCallback === "function" ? optionsOrCallback : maybeCallback;
    if (callback === undefined) throw new TypeError("lookup needs a callback");
    const options = lookupOptions(optionsOrCallback);
    this.#resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, options.all === true ? [] : "", 0);
      const allowed = addresses.slice(0, ADDRESSES_MAX).filter(({ address }) => isAllowed(address));
      const first = allowed[0];
      if (first === undefined) return callback(this.#failureOf(hostname, addresses), options.all ? [] : "", 0);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  }

  #isAllowed(ip: string): boolean {
    return this.#reasonAgainst(ip) === undefined;
  }

  /** Undefined if the address is allowed. */
  #reasonAgainst(ip: string): string | undefined {
    const address = parseAddress(ip);
    if (address === undefined) return NOT_PUBLIC;
    if (this.#allowed.some((block) => isWithin(address, block))) return undefined;
    if (!isPublic(address)) return NOT_PUBLIC;
    return this.#ownNetwork.has(address) ? OWN : undefined;
  }

  #allowsEverything(): boolean {
    return ["ipv4", "ipv6"].every((kind) => this.#allowed.some(([net, length]) => net.kind() === kind && length === 0));
  }

  #failureOf(hostname: string, addresses: readonly LookupAddress[]): NodeJS.ErrnoException {
    const first = addresses[0];
    return first === undefined
      ? noAddress(hostname)
      : refusal(hostname, this.#reasonAgainst(first.address) ?? NOT_PUBLIC);
  }
}

/** Without brackets and the dot that ends a full name. */
function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function lookupOptions(value: LookupOptions | number | LookupCallback): LookupOptions {
  if (typeof value === "number") return { family: value };
  return typeof value === "function" ? {} : value;
}

function parseBlock(text: string): AddressBlock {
  const trimmed = text.trim();
  if (ipaddr.isValidCIDR(trimmed)) return unmapped(ipaddr.parseCIDR(trimmed));
  if (ipaddr.IPv4.isValidFourPartDecimal(trimmed)) return [ipaddr.parse(trimmed), 32];
  if (ipaddr.IPv6.isValid(trimmed)) return unmapped([ipaddr.parse(trimmed), 128]);
  throw new NodeError(
    "network-allow-invalid",
    `reading tonearm.network.allow: "${text}" is not an address block; write it like 192.168.0.0/16`,
  );
}

/** A block of IPv4 addresses within IPv6 as what it is, for addresses are judged without that wrapping. */
function unmapped([network, prefixLength]: AddressBlock): AddressBlock {
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && prefixLength >= 96;
  return isMapped ? [network.toIPv4Address(), prefixLength - 96] : [network, prefixLength];
}

/** The address, or the IPv4 address inside IPv6 (::ffff:a.b.c.d), which the kernel would connect to. */
function parseAddress(ip: string): Address | undefined {
  // A dotted tail is written in hexadecimal first: ipaddr.js takes ::1.2.3.4 for ::ffff:1.2.3.4, the kernel does not.
  const text = ip.includes(":") ? ip.replace(/(?<!\d)(\d+)\.(\d+)\.(\d+)\.(\d+)(?=%|$)/, dottedToHex) : ip;
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function dottedToHex(_all: string, ...octets: unknown[]): string {
  const [a, b, c, d] = octets.slice(0, 4).map(Number) as [number, number, number, number]; // The pattern has four.
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function isWithin(address: Address, [network, prefixLength]: AddressBlock): boolean {
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

/** True for global unicast. Everything special is refused, also ranges that are merely odd (AS112, ORCHID, AMT). */
function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  switch (address.range()) {
    case "unicast":
      // Global unicast is 2000::/3 so far (RFC 4291 section 2.4); this also leaves out IPv4-compatible ::a.b.c.d.
      return address.parts[0]! >> 13 === 1 && (!isIsatap(address) || isPublicIpv4(ipv4FromParts(address, 6)));
    case "rfc6052":
      // NAT64 is how IPv6-only machines reach IPv4: fine when the target is. The local-use prefix 64:ff9b:1::/48 is
      // not.
      return address.parts[2] === 0 && isPublicIpv4(ipv4FromParts(address, 6));
    case "6to4":
      return isPublicIpv4(ipv4FromParts(address, 1));
    default:
      // Includes Teredo: its tunnels are dead and hide two IPv4 addresses.
      return false;
  }
}

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === "unicast" && address.toString() !== AZURE_WIRE_SERVER;
}

/** RFC 5214 section 6.1: a machine with such an interface wraps the packet in IPv4, to the address in its last half. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return (parts[4]! & 0xfdff) === 0 && parts[5] === 0x5efe;
}

/** The IPv4 address in two of the eight 16-bit parts, from `index` on. */
function ipv4FromParts(address: ipaddr.IPv6, index: number): ipaddr.IPv4 {
  const high = address.parts[index]!;
  const low = address.parts[index + 1]!;
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

function noAddress(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address for ${hostname}`), { code: "ENOTFOUND" });
}

/** Names the host as the client did and not its addresses, which would reveal the internal network to clients. */
function refusal(host: string, reason: string): NodeError {
  return new NodeError(
    "address-refused",
    `connecting to ${host} refused: ${reason}; to allow it, add its block to tonearm.network.allow`,
  );
}
