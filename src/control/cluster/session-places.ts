// Where sessions and their players are, as the REST server needs it: on this machine, or on another one of the cluster,
// which a request is then passed on to. node-cluster.ts is the real one. Main thread.

/** Which machine has a session or a player, and the way to it. */
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
  /**
   * Chooses or finds the machine of a guild's player, of a session that is here. Undefined: this one, which is certain at
   * once. The hold is to be released once, when the request is over.
   * @throws NodeError "cluster-away" when the place cannot be written or known now
   */
  holdPlayer(sessionId: string, guildId: string, options: HoldOptions): Promise<PlayerHold> | undefined;
  /** The machines other than this one that have players of a session. */
  playerMachines(sessionId: string): readonly string[];
  /** Passes a request about a player, or about all of a session on that machine, on to it; as `call`. */
  callPlayer(machineId: string, about: AskedPlayer, request: string): Promise<string>;
  /** Sets what answers such requests, about sessions that are elsewhere. Call it before the cluster is joined. */
  onPlayerCall(handler: (request: string) => Promise<string>): void;
  /** Grows when this machine has lost its sessions to the others: an answer that spans it may not be true. */
  readonly lives: number;
}

export interface HoldOptions {
  /** The request may make a player, or keep something for the guild. */
  readonly isMaking: boolean;
  /** Of the voice server that the request names. */
  readonly region: string | undefined;
}

/** Keeps a player where it is. */
export interface PlayerHold {
  /** Undefined: this machine. */
  readonly machineId: string | undefined;
  /**
   * The request is over. `mayBeGone`: there may be no player any more, or none was made, which the hold finds out. Never
   * throws.
   */
  release(outcome: { readonly mayBeGone: boolean }): void;
}

export interface AskedPlayer {
  readonly sessionId: string;
  /** Plain digits. Undefined: all players of the session. */
  readonly guildId: string | undefined;
}

/** The places of a node that is not in a cluster: everything is here. */
export const ONE_PLACE: SessionPlaces = {
  elsewhere: () => undefined,
  call: () => Promise.reject(new Error("there is no other machine")),
  onCall: () => undefined,
  holdPlayer: () => undefined,
  playerMachines: () => [],
  callPlayer: () => Promise.reject(new Error("there is no other machine")),
  onPlayerCall: () => undefined,
  lives: 0,
};
