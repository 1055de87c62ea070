// Addresses and address blocks as numbers: a block is its first address and its size, so one of 2^96 addresses takes no
// more memory than one of a single address. Both threads. Has no domain knowledge.

import { isIP } from "node:net";

const BITS = { 4: 32, 6: 128 } as const;

/**
 * The part of an IPv6 address below its subnet (RFC 4291 section 2.5.4): a link, or what one machine is given, is a
 * /64.
 */
export const IPV6_INTERFACE_BITS = 64n;

/** An IPv4 or IPv6 address as a number. */
export interface IpAddress {
  readonly family: 4 | 6;
  /** 0 to 2^32 - 1, or 2^128 - 1: the address as one number, its first octet the most significant. */
  readonly value: bigint;
}

/** Consecutive addresses that share a prefix. */
export interface IpBlock {
  readonly family: 4 | 6;
  /** The lowest address of the block, as in `IpAddress`. */
  readonly first: bigint;
  /** A power of two. */
  readonly size: bigint;
}

/** Undefined for anything but one address in its usual notation; also for one with a zone (`fe80::1%eth0`). */
export function parseIpAddress(text: string): IpAddress | undefined {
  const family = isIP(text);
  if (family === 4) {
    return { family, value: text.split(".").reduce((value, octet) => (value << 8n) | BigInt(octet), 0n) };
  }
  return family === 6 && !text.includes("%") ? { family: 6, value: ipv6Value(text) } : undefined;
}

/** The address as RFC 5952 writes it. */
export function formatIpAddress({ family, value }: IpAddress): string {
  if (family === 4) {
    const bits = Number(value);
    return `${bits >>> 24}.${(bits >>> 16) & 0xff}.${(bits >>> 8) & 0xff}.${bits & 0xff}`;
  }
  const groups = value.toString(16).padStart(32, "0").match(/.{4}/g) ?? [];
  return shortestIpv6(groups.join(":"));
}

/** `192.0.2.0/24`, or a single address. The bits behind the prefix do not count. Undefined when it is not a block. */
export function parseIpBlock(text: string): IpBlock | undefined {
  const [address = "", prefix, ...rest] = text.split("/");
  const parsed = parseIpAddress(address);
  if (parsed === undefined || rest.length > 0) return undefined;
  const bits = BITS[parsed.family];
  if (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)) return undefined;
  const size = 1n << BigInt(bits - Number(prefix ?? bits));
  return { family: parsed.family, first: parsed.value & -size, size };
}

/**
 * The block in CIDR notation (RFC 4632, RFC 4291 section 2.3), with a prefix also for a single address: `192.0.2.1/32`.
 */
export function formatIpBlock({ family, first, size }: IpBlock): string {
  const hostBits = size.toString(2).length - 1;
  return `${formatIpAddress({ family, value: first })}/${BITS[family] - hostBits}`;
}

/**
 * False also for an address of the other family: an IPv4 address within IPv6 (`::ffff:192.0.2.1`) is an IPv6 one here.
 */
export function isInBlock({ family, value }: IpAddress, block: IpBlock): boolean {
  return family === block.family && value >= block.first && value < block.first + block.size;
}

/** True when all of `inner` is in `outer`. Blocks cannot overlap partly. */
export function isBlockWithin(inner: IpBlock, outer: IpBlock): boolean {
  return inner.size <= outer.size && isInBlock({ family: inner.family, value: inner.first }, outer);
}

function ipv6Value(text: string): bigint {
  const [head = "", tail] = shortestIpv6(text).split("::");
  const left = groupsOf(head);
  const right = groupsOf(tail ?? "");
  const middle = new Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...middle, ...right].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}

/** Hexadecimal groups, also where a dotted IPv4 address was written; the longest run of zeros as `::`. */
function shortestIpv6(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}
