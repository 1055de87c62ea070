// The calls between machines of a test, without NATS: each machine has a link of its bucket, and what it serves is called
// by the others within a promise.

import type { CallHandler, LinkStatus, MachineLink } from "../../src/cluster/machine-link.ts";
import { NodeError } from "../../src/errors.ts";
import type { MemoryBucket } from "./memory-bucket.ts";

/** What all machines serve, by machine and kind. */
export class MemoryLinks {
  readonly handlers = new Map<string, CallHandler>();

  /** The link of a machine, which calls under the id that `id` gives then. */
  of(bucket: MemoryBucket, id: () => string): MachineLink {
    const { handlers } = this;
    return {
      get status(): LinkStatus {
        return bucket.status;
      },
      onStatus: (listener) => bucket.onStatus(listener),
      isQuorumRefused: () => bucket.isQuorumRefused(),
      call: async (machineId, kind, request) => {
        if (bucket.status.kind === "disconnected") throw new NodeError("cluster-away", bucket.status.reason);
        const handler = handlers.get(`${machineId} ${kind}`);
        if (handler === undefined) throw new NodeError("machine-gone", "nobody listens there");
        return await handler(request, id());
      },
      serve: (machineId, kind, handler) => {
        handlers.set(`${machineId} ${kind}`, handler);
        return () => handlers.delete(`${machineId} ${kind}`);
      },
      close: async () => undefined,
    };
  }
}
