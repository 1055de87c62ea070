// Where sessions are, as the REST server needs it: on this machine, or on another one of the cluster, which a request is
// then passed on to. node-cluster.ts is the real one. Main thread.

/** Which machine has a session, and the way to it. */
export interface SessionPlaces {
  /**
   * The id of the machine that has the session; undefined: this one, or none. Not a promise when that is certain at once.
   * @throws NodeError "cluster-away" when it cannot be known now
   */
  elsewhere(sessionId: string): Promise<string | undefined> | undefined;
  /**
   * Passes a request on; resolves with the answer.
   * @throws NodeError "cluster-away" when there was no answer, though it may have arrived; "machine-gone" when it has not;
   *   what the handler there threw
   */
  call(machineId: string, request: string): Promise<string>;
  /** Sets what answers the requests that other machines pass on. Call it before the cluster is joined. */
  onCall(handler: (request: string) => Promise<string>): void;
  /** Grows when this machine has lost its sessions to the others: an answer that spans it may not be true. */
  readonly lives: number;
}

/** The places of a node that is not in a cluster: every session is here. */
export const ONE_PLACE: SessionPlaces = {
  elsewhere: () => undefined,
  call: () => Promise.reject(new Error("there is no other machine")),
  onCall: () => undefined,
  lives: 0,
};
