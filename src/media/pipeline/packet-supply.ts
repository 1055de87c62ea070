// Where a decoder gets its packets from. Made by pipeline.ts. Audio thread.

import type { PacketQueue } from "./packet-queue.ts";
import type { QueuedPacket } from "./packet-store.ts";

/** The source of packets, and whether more will come. */
export interface PacketSupply {
  take(): QueuedPacket | undefined;
  readonly isFinished: boolean;
}

/** A supply from a reader's queue; there is nothing while `isStale`. */
export function packetSupplyOf(
  reader: { readonly queue: PacketQueue; readonly isFinished: boolean },
  isStale: () => boolean,
): PacketSupply {
  return {
    take: () => (isStale() ? undefined : reader.queue.take()),
    get isFinished() {
      return !isStale() && reader.isFinished && reader.queue.length === 0;
    },
  };
}
