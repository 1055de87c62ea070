// What voice needs of the outbound guard (network/outbound-guard.ts): a client names the voice server, so neither its
// gateway nor the UDP address that gateway hands out may lead into private places. On the audio thread.

import type { LookupFunction } from "node:net";

export interface VoiceGuard {
  /** Resolves names to allowed addresses only; fails with NodeError "address-refused". Never asked for literals. */
  readonly lookup: LookupFunction;
  /** Throws NodeError "address-refused" for a literal address, in any notation, that may not be dialled. */
  checkHost(host: string): void;
  /** Throws NodeError "address-refused" unless this IP address may be dialled. */
  check(ip: string): void;
}
