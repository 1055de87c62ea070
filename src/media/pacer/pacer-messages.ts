// What an audio worker and the pacer tell each other about the outlets of voice sessions. Plain data over a port of
// their own, in order; frames go through shared memory (frame-ring.ts). Audio and pacer thread.

import type { ExternalAddress } from "./ip-discovery.ts";
import type { RtpStart } from "./rtp-stream.ts";
import type { EncryptionMode } from "./transport-encryption.ts";

/** Given out by the worker; new with every outlet. */
export type RtpSenderId = number;

export interface OpenRtpSender {
  readonly type: "open";
  readonly rtpSenderId: RtpSenderId;
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
  | OpenRtpSender
  /** From now on what lies in the ring leaves. */
  | { readonly type: "start"; readonly rtpSenderId: RtpSenderId; readonly key: TransportKey; readonly rtp: RtpStart }
  /** Another key, whose counter starts afresh. */
  | { readonly type: "rekey"; readonly rtpSenderId: RtpSenderId; readonly key: TransportKey }
  | { readonly type: "close"; readonly rtpSenderId: RtpSenderId }
  /** Something has been put into a ring while the pacer was asleep. */
  | { readonly type: "wake" };

export type PacerEvent =
  /** Undefined: no answer came in 3 s. */
  | { readonly type: "discovered"; readonly rtpSenderId: RtpSenderId; readonly found: ExternalAddress | undefined }
  /** The socket could not be connected. */
  | { readonly type: "unreachable"; readonly rtpSenderId: RtpSenderId; readonly reason: string }
  /** The system refused a packet. */
  | { readonly type: "udpError"; readonly rtpSenderId: RtpSenderId }
  /** Nothing leaves any more: a new session is due. */
  | { readonly type: "dead"; readonly rtpSenderId: RtpSenderId; readonly reason: string }
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
