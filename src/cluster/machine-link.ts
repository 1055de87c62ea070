// The connection of this machine to the others of its cluster, as the rest of the node needs it; nats-link.ts is the
// real one. Main thread.

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
   * Whether so many NATS servers refuse connections that none of the others can have a quorum: nothing of the cluster can
   * change then. False when it cannot be known (a server that does not answer at all may be there for others).
   */
  isQuorumRefused(): Promise<boolean>;
  /** Never rejects. */
  close(): Promise<void>;
}
