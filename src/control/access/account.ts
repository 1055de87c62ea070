// Whose work a request is: what all clients share is counted by account, so that one of them cannot take it from the
// others. Main thread.

import ipaddr from "ipaddr.js";
import { accountOf, type Owner } from "../../lib/owners.ts";
import type { Identity } from "./identity.ts";

/** Bounds the text that tells the clients of an account apart: they choose it. */
const CLIENT_LENGTH_MAX = 200;

/**
 * The account of a client: its key, or the network of its address where it has shown the password, which all may know.
 */
export function accountFor({ name }: Pick<Identity, "name">, address: string | undefined): string {
  return name === undefined ? `address ${networkOf(address ?? "")}` : `key ${name}`;
}

/** The name of the key whose work it is; undefined: of nobody with a key. */
export function keyOf(owner: Owner): string | undefined {
  return /^key (.*)$/s.exec(accountOf(owner))?.[1];
}

/** A client of that account. `client` is what it says of itself: it cannot get more by it than its account. */
export function ownerOf(account: string, client: string): Owner {
  return [account, `${account}, ${client.slice(0, CLIENT_LENGTH_MAX)}`];
}

/** A home has 2^64 addresses of IPv6, which count as one. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":");
}
