// Addresses that a client must not make the node connect to, by the technique that obfuscates them, each with the
// address it really leads to, so that a test can show both: no connection is made, and with everything permitted
// exactly that one is.

import type { LookupAddress } from "node:dns";
import type { ResolveHost } from "../../src/network/outbound-guard.ts";

export interface HostileTarget {
  readonly technique: string;
  /** As a client writes it, with PORT and PATH to be filled in. */
  readonly url: string;
  /** The addresses it leads to; any of these. */
  readonly addresses: readonly string[];
}

/** One of each kind, from which every notation below is made. 127.0.0.2 leads to this machine. */
const BASES = ["127.0.0.2", "10.0.0.1", "172.31.255.254", "192.168.0.1", "169.254.169.254", "100.100.100.200"];

const PLAIN: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.2", "127.1.2.3", "127.255.255.254"],
  private: ["10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.255.254"],
  "link-local": ["169.254.0.1", "169.254.255.254"],
  "cloud metadata": ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
  "carrier-grade NAT": ["100.64.0.1", "100.127.255.254"],
  "this network": ["0.0.0.0", "0.1.2.3"],
  "benchmarks, documentation, reserved": [
    ...["198.18.0.1", "198.19.255.254", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "192.0.0.8"],
    ...["240.0.0.1", "254.255.255.254"],
  ],
  "multicast, broadcast": ["224.0.0.1", "239.255.255.250", "255.255.255.255"],
};

const PLAIN_IPV6: Readonly<Record<string, readonly string[]>> = {
  "IPv6 loopback": ["::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001"],
  "IPv6 unspecified": ["::", "0::0"],
  "IPv6 link-local": ["fe80::1", "fe80::a00:1", "febf:ffff::1"],
  "IPv6 site-local": ["fec0::1", "feff::1"],
  "IPv6 unique local": ["fc00::1", "fd00::1", "fdff:ffff::1"],
  "IPv6 cloud metadata": ["fd00:ec2::254", "fd20:ce::254", "fd00:ec2::23"],
  "IPv6 multicast": ["ff02::1", "ff02::fb", "ff05::1:3", "ff0e::1"],
  "IPv6 documentation, reserved": ["2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1", "e000::1", "2001:2::1"],
  "local-use NAT64": ["64:ff9b:1::808:808", "64:ff9b:1::7f00:2"],
  Teredo: ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::7f00:2"],
  "IPv4-compatible, public inside": ["::8.8.8.8"],
  "IPv4-translated, public inside": ["::ffff:0:808:808"],
};

/** How `inet_aton` and browsers let an IPv4 address be written. */
const NOTATIONS: Readonly<Record<string, (octets: Octets) => string>> = {
  decimal: (octets) => String(wordOf(octets)),
  hexadecimal: (octets) => `0x${wordOf(octets).toString(16)}`,
  "hexadecimal, capitals": (octets) => `0X${wordOf(octets).toString(16).toUpperCase()}`,
  octal: (octets) => `0${wordOf(octets).toString(8)}`,
  "hexadecimal parts": (octets) => octets.map((octet) => `0x${octet.toString(16)}`).join("."),
  "octal parts": (octets) => octets.map((octet) => `0${octet.toString(8)}`).join("."),
  "octal parts with zeros": (octets) => octets.map((octet) => `0000${octet.toString(8)}`).join("."),
  "mixed parts": ([a, b, c, d]) => `0x${a.toString(16)}.0${b.toString(8)}.${c}.${d}`,
  "three parts": ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  "two parts": ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  "two parts, hexadecimal": ([a, ...rest]) => `${a}.0x${wordOf([0, ...rest]).toString(16)}`,
  "trailing dot": (octets) => `${octets.join(".")}.`,
};

/** Notations that only URLs have: browsers' rules turn all of these into digits and dots. */
const URL_NOTATIONS: Readonly<Record<string, (octets: Octets) => string>> = {
  "full-width digits": (octets) => octets.join(".").replace(/\d/g, (digit) => String.fromCharCode(0xff10 + +digit)),
  "ideographic full stops": (octets) => octets.join("。"),
  "half-width full stops": (octets) => octets.join("｡"),
  "mathematical digits": (octets) =>
    octets.join(".").replace(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
  "percent-encoded": (octets) => [...octets.join(".")].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(""),
  "soft hyphens": (octets) => octets.join(".").replace(/^\d/, (digit) => `${digit}\u00ad`),
};

/** IPv4 carried in IPv6. */
const WRAPPINGS: Readonly<Record<string, (octets: Octets) => string>> = {
  "IPv4-mapped": (octets) => `::ffff:${octets.join(".")}`,
  "IPv4-mapped, hexadecimal": (octets) => `::ffff:${hexOf(octets)}`,
  "IPv4-mapped, written out": (octets) => `0:0:0:0:0:FFFF:${hexOf(octets)}`,
  "IPv4-compatible": (octets) => `::${hexOf(octets)}`,
  "IPv4-translated": (octets) => `::ffff:0:${hexOf(octets)}`,
  NAT64: (octets) => `64:ff9b::${octets.join(".")}`,
  "NAT64, hexadecimal": (octets) => `64:ff9b::${hexOf(octets)}`,
  "6to4": (octets) => `2002:${hexOf(octets)}::1`,
  ISATAP: (octets) => `2606:4700::200:5efe:${hexOf(octets)}`,
};

const URL_TRICKS: Readonly<Record<string, readonly string[]>> = {
  "user name": ["http://1.1.1.1@127.0.0.2:PORT/PATH", "http://radio.example:80@10.0.0.1:PORT/PATH"],
  "user name and password": ["http://radio.example:secret%40@127.0.0.2:PORT/PATH", "http://a:b@10.0.0.1:PORT/PATH"],
  "backslash for slash": ["http:\\\\127.0.0.2:PORT/PATH", "http://10.0.0.1:PORT\\PATH", "http:/\\127.0.0.2:PORT/PATH"],
  "backslash before a user name": ["http://127.0.0.2:PORT\\@1.1.1.1/../PATH", "http://10.0.0.1:PORT\\@radio.example/"],
  "too many slashes": ["http:////127.0.0.2:PORT/PATH", "http:///10.0.0.1:PORT/PATH"],
  "another scheme": ["https://127.0.0.2:PORT/PATH", "icy://127.0.0.2:PORT/PATH", "https://10.0.0.1:PORT/PATH"],
  fragments: ["http://127.0.0.2:PORT/PATH#@1.1.1.1", "http://10.0.0.1:PORT?@1.1.1.1"],
};

/** Names, with what the fake resolver answers. */
const NAMES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  localhost: {
    localhost: ["127.0.0.1", "::1"],
    LOCALHOST: ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1", "::1"],
    "evil.localhost": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "localhost.localdomain": ["127.0.0.1"],
  },
  "a public name for a private address": {
    "127.0.0.2.nip.example": ["127.0.0.2"],
    "10-0-0-1.nip.example": ["10.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "rebind-7f000002.example": ["127.0.0.2"],
    "v6.evil.example": ["fd00::1"],
    "zero.evil.example": ["0.0.0.0"],
    "zone.evil.example": ["fe80::1%2"],
  },
  "a public name for a wrapped address": {
    "mapped.evil.example": ["::ffff:127.0.0.2"],
    "mapped-private.evil.example": ["::ffff:10.0.0.1"],
    "nat64.evil.example": ["64:ff9b::a00:1"],
    "6to4.evil.example": ["2002:a00:1::1"],
  },
  "several private addresses": {
    "many.evil.example": ["10.0.0.1", "127.0.0.2", "192.168.0.1", "fd00::1"],
    "twice.evil.example": ["127.0.0.2", "127.0.0.2"],
  },
};

type Octets = readonly [number, number, number, number];

/** All of them. */
export const HOSTILE_TARGETS: readonly HostileTarget[] = [
  ...Object.entries(PLAIN).flatMap(([technique, hosts]) => hosts.map((host) => forHost(technique, host, [host]))),
  ...Object.entries(PLAIN_IPV6).flatMap(([technique, hosts]) =>
    hosts.map((host) => forHost(technique, `[${host}]`, [host])),
  ),
  ...Object.entries({ ...NOTATIONS, ...URL_NOTATIONS }).flatMap(([technique, write]) =>
    BASES.map((base) => forHost(technique, write(octetsOf(base)), [base])),
  ),
  ...Object.entries(WRAPPINGS).flatMap(([technique, wrap]) =>
    BASES.map((base) => forHost(technique, `[${wrap(octetsOf(base))}]`, [wrap(octetsOf(base))])),
  ),
  ...Object.entries(URL_TRICKS).flatMap(([technique, urls]) => urls.map((url) => forTrick(technique, url))),
  ...Object.entries(NAMES).flatMap(([technique, names]) =>
    Object.entries(names).map(([name, addresses]) => forHost(technique, name, addresses)),
  ),
];

/** Answers as NAMES says, 1.1.1.1 for names that end in `.public.example`, and knows nothing else. */
export const resolveHostile: ResolveHost = (hostname, _options, callback) => {
  const names = Object.values(NAMES).flatMap((group) => Object.entries(group));
  const found = names.find(([name]) => name.toLowerCase() === hostname)?.[1];
  const addresses = hostname.endsWith(".public.example") ? ["1.1.1.1"] : found;
  const answer = addresses?.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
  // The system's answer is never synchronous either.
  setImmediate(() => {
    if (answer === undefined) callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), []);
    else callback(null, answer);
  });
};

function forHost(technique: string, host: string, addresses: readonly string[]): HostileTarget {
  return { technique, url: `http://${host}:PORT/PATH`, addresses };
}

function forTrick(technique: string, url: string): HostileTarget {
  return { technique, url, addresses: [url.includes("127.0.0.2") ? "127.0.0.2" : "10.0.0.1"] };
}

function octetsOf(address: string): Octets {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return [a, b, c, d];
}

function wordOf([a, b, c, d]: Octets): number {
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

function hexOf([a, b, c, d]: Octets): string {
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
