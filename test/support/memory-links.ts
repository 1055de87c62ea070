// The calls between machines of a test, without NATS: each machine has a link of its bucket, and what it serves is called
// by the others, as far as both reach NATS. Calls take as long as what they ask of the bucket.

import { type CallHandler, type LinkStatus, lateError, type MachineLink } from "../../src/cluster/machine-link.ts";
import type { NatsTime } from "../../src/cluster/nats-time.ts";
import { NodeError } from "../../src/errors.ts";
import type { MemoryBucket } from "./memory-bucket.ts";

interface Served {
  readonly handler: CallHandler;
  readonly bucket: MemoryBucket;
  readonly time: () => Time | undefined;
}

type Time = Pick<NatsTime, "epochMs" | "isLate">;

/** What all machines serve, by machine and kind. */
export class MemoryLinks {
  readonly handlers = new Map<string, Served>();

  /** The link of a machine, which calls under the last id that it serves. */
  of(bucket: MemoryBucket): MachineLink {
    const { handlers } = this;
    const servedIds: string[] = [];
    let time: Time | undefined;
    return {
      get status(): LinkStatus {
        return bucket.status;
      },
      onStatus: (listener) => bucket.onStatus(listener),
      timeCalls: (given) => {
        time = given;
      },
      isQuorumRefused: () => bucket.isQuorumRefused(),
      call: async (machineId, kind, request, { timeoutMs }) => {
        if (bucket.status.kind === "disconnected") throw new NodeError("cluster-away", bucket.status.reason);
        const served = handlers.get(`${machineId} ${kind}`);
        if (served === undefined) throw new NodeError("machine-gone", "nobody listens there");
        const isServed = (): boolean => handlers.get(`${machineId} ${kind}`)?.bucket === served.bucket;
        const from = servedIds.at(-1) ?? "";
        return await answerOf({ asking: bucket, served, isServed, request, from, sentMs: time?.epochMs, timeoutMs });
      },
      serve: (machineId, kind, handler) => {
        handlers.set(`${machineId} ${kind}`, { handler, bucket, time: () => time });
        servedIds.push(machineId);
        return () => {
          handlers.delete(`${machineId} ${kind}`);
          const index = servedIds.indexOf(machineId);
          if (index >= 0) servedIds.splice(index, 1);
        };
      },
      close: async () => undefined,
    };
  }
}

interface Call {
  readonly asking: MemoryBucket;
  readonly served: Served;
  /** When it arrives; otherwise there is no answer. */
  readonly isServed: () => boolean;
  readonly request: string;
  readonly from: string;
  readonly sentMs: number | undefined;
  readonly timeoutMs: number;
}

async function answerOf({ asking, served, isServed, request, from, sentMs, timeoutMs }: Call): Promise<string> {
  return await new Promise((resolve, reject) => {
    const timer = asking.clock.after(timeoutMs, () => reject(new NodeError("cluster-away", "no answer")));
    const settle = (end: () => void): void => {
      asking.hear(() => {
        timer.cancel();
        end();
      });
    };
    asking.say(() =>
      served.bucket.hear(() => {
        if (!isServed()) return;
        const isLate = sentMs !== undefined && served.time()?.isLate(sentMs) === true;
        const answered = isLate ? Promise.reject(lateError()) : served.handler(request, from);
        answered.then(
          (answer) => served.bucket.say(() => settle(() => resolve(answer))),
          (error: unknown) => served.bucket.say(() => settle(() => reject(error))),
        );
      }),
    );
  });
}
