// Messages between an audio worker and the pacer about the RTP senders of voice sessions. Plain data over a dedicated
// port, in order; frames go through shared memory (frame-ring.ts). Audio and pacer thread.

import type { ExternalAddress } from "./ip-discovery.ts";
import type { RtpStart } from "./rtp-stream.ts";
import type { EncryptionMode } from "./transport-encryption.ts";

/** Assigned by the worker, unique per RTP sender. */
export type RtpSenderId = number;

export interface OpenRtpSender {
  readonly type: "open";
  readonly rtpSenderId: RtpSenderId;
  /** The voice server's, checked by the outbound guard. */
  readonly address: string;
  readonly port: number;
  readonly ssrc: number;
  /** Shared memory of the session's FrameRingWriter. */
  readonly ring: SharedArrayBuffer;
}

export interface TransportKey {
  readonly mode: EncryptionMode;
  /** 32 bytes. Never to be logged. */
  readonly secretKey: Uint8Array;
}

export type PacerCommand =
  /** Opens and connects a socket and discovers our address: `discovered` or `unreachable` follows. */
  | OpenRtpSender
  /** Starts sending the frames in the ring. */
  | { readonly type: "start"; readonly rtpSenderId: RtpSenderId; readonly key: TransportKey; readonly rtp: RtpStart }
  /** Replaces the key; the counter of the new key starts at zero. */
  | { readonly type: "rekey"; readonly rtpSenderId: RtpSenderId; readonly key: TransportKey }
  | { readonly type: "close"; readonly rtpSenderId: RtpSenderId }
  /** A frame has been put into a ring while the pacer was asleep. */
  | { readonly type: "wake" };

export type PacerEvent =
  /** Undefined: no response within 3 s. */
  | { readonly type: "discovered"; readonly rtpSenderId: RtpSenderId; readonly found: ExternalAddress | undefined }
  /** The socket could not be connected. */
  | { readonly type: "unreachable"; readonly rtpSenderId: RtpSenderId; readonly reason: string }
  /** The system refused a packet. */
  | { readonly type: "udpError"; readonly rtpSenderId: RtpSenderId }
  /** Nothing can be sent any more: a new session is needed. */
  | { readonly type: "dead"; readonly rtpSenderId: RtpSenderId; readonly reason: string }
  /** Twice a second while anything is sent: the lateness of this worker's packets. */
  | { readonly type: "lateness"; readonly lateness: Lateness };

/** Lateness within a period: the time from a packet's deadline until it was handed to the operating system. */
export interface Lateness {
  readonly latenessMsP50: number;
  readonly latenessMsP99: number;
  readonly latenessMsMax: number;
  /** Number of packets per class of `LATENESS_HISTOGRAM`, and the sum of their lateness. */
  readonly latenessCounts: readonly number[];
  readonly latenessMsSum: number;
}
