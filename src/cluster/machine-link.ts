// The connection of this machine to the others of its cluster, as the rest of the node needs it; nats-link.ts is the
// real one. Main thread.

import { NodeError } from "../errors.ts";
import type { NatsTime } from "./nats-time.ts";

/** Whether the messages of other machines can come. */
export type LinkStatus =
  | {
      readonly kind: "connected";
      /** Host and port of the NATS server. */
      readonly server: string;
      /** The IP address of this machine, as that server sees it. Undefined: it does not say. */
      readonly seenAs?: string | undefined;
    }
  | { readonly kind: "disconnected"; readonly reason: string; readonly sinceEpochMs: number };

/** Answers a call of another machine. What it throws reaches the caller as `NodeError`. */
export type CallHandler = (request: string, fromMachineId: string) => Promise<string>;

export interface MachineLink {
  readonly status: LinkStatus;
  /** Told of every change of the status; the returned function ends that. */
  onStatus(listener: (status: LinkStatus) => void): () => void;
  /**
   * Asks a machine; texts may be larger than a message of NATS. Sealed with the key of the cluster.
   * @throws NodeError "cluster-away" when there is no connection, or no answer within `timeoutMs`; "machine-gone" when
   *   nobody listens there; what the handler threw
   */
  call(machineId: string, kind: string, request: string, options: { readonly timeoutMs: number }): Promise<string>;
  /** Answers calls of that kind to the machine of that id; the returned function ends that. */
  serve(machineId: string, kind: string, handler: CallHandler): () => void;
  /**
   * From now on calls say when they were sent. One that was on its way for more than 2 s is not carried out: its caller gets
   * "cluster-away". One that does not say it, or comes before the time is known, is.
   */
  timeCalls(time: Pick<NatsTime, "epochMs" | "isLate">): void;
  /**
   * Whether so many NATS servers refuse connections that none of the others can have a quorum: nothing of the cluster can
   * change then. False when it cannot be known (a server that does not answer at all may be there for others).
   */
  isQuorumRefused(): Promise<boolean>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** What the caller of a call that was not carried out is told. */
export function lateError(): NodeError {
  return new NodeError("cluster-away", "the call was on its way to the machine for too long, and was not carried out");
}
