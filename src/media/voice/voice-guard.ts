// What voice needs from the outbound guard (network/outbound-guard.ts): a client names the voice server, so neither its
// gateway nor the UDP address that the gateway announces may lead into private networks. On the audio thread.

import type { LookupFunction } from "node:net";

export interface VoiceGuard {
  /** Resolves names to allowed addresses only; fails with NodeError "address-refused". Never asked for literals. */
  readonly lookup: LookupFunction;
  /** Throws NodeError "address-refused" for a literal address, in any notation, that must not be connected to. */
  checkHost(host: string): void;
  /** Throws NodeError "address-refused" unless this IP address may be connected to. */
  check(ip: string): void;
}
