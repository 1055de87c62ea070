// What an audio worker and the pacer tell each other about the outlets of voice sessions. Plain data over a port of
// their own, in order; frames go through shared memory (frame-ring.ts). Audio and pacer thread.

import type { ExternalAddress } from "./ip-discovery.ts";
import type { RtpStart } from "./rtp-stream.ts";
import type { EncryptionMode } from "./transport-encryption.ts";

/** Given out by the worker; new with every outlet. */
export type OutletId = number;

export interface OpenOutlet {
  readonly type: "open";
  readonly outletId: OutletId;
  /** The voice server's, checked by the outbound guard. */
  readonly address: string;
  readonly port: number;
  readonly ssrc: number;
  /** Of the session's FrameRingWriter. */
  readonly ring: SharedArrayBuffer;
}

export interface TransportKey {
  readonly mode: EncryptionMode;
  /** 32 bytes. Never to be logged. */
  readonly secretKey: Uint8Array;
}

export type PacerCommand =
  /** A socket, connected, and our address as the server sees it: `discovered` or `unreachable` follows. */
  | OpenOutlet
  /** From now on what lies in the ring leaves. */
  | { readonly type: "start"; readonly outletId: OutletId; readonly key: TransportKey; readonly rtp: RtpStart }
  /** Another key, whose counter starts afresh. */
  | { readonly type: "rekey"; readonly outletId: OutletId; readonly key: TransportKey }
  | { readonly type: "close"; readonly outletId: OutletId }
  /** Something has been put into a ring while the pacer was asleep. */
  | { readonly type: "wake" };

export type PacerEvent =
  /** Undefined: no answer came in 3 s. */
  | { readonly type: "discovered"; readonly outletId: OutletId; readonly found: ExternalAddress | undefined }
  /** The socket could not be connected. */
  | { readonly type: "unreachable"; readonly outletId: OutletId; readonly reason: string }
  /** The system refused a packet. */
  | { readonly type: "udpError"; readonly outletId: OutletId }
  /** Nothing leaves any more: a new session is due. */
  | { readonly type: "dead"; readonly outletId: OutletId; readonly reason: string }
  /** Twice a second while anything is sent: how late this worker's packets left. */
  | { readonly type: "lateness"; readonly lateness: Lateness };

/** Of a period; a packet is late by the time from its deadline until it was handed to the system. */
export interface Lateness {
  readonly latenessMsP50: number;
  readonly latenessMsP99: number;
  readonly latenessMsMax: number;
  /** Packets by how late they were, in the classes of `LATENESS_BOUNDS_MS`, and their lateness added up. */
  readonly latenessCounts: readonly number[];
  readonly latenessMsSum: number;
}
