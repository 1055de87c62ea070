// The choices a DAVE gateway is free to make. A test sets them on `channel.dave` before the change under test.

export interface DavePolicy {
  /**
   * The member whose commit is announced. `bot` and `listener`: once every bot has committed, so that each is checked;
   * `first`: the first valid one at once (a listener's, as those answer at once). Default `bot`.
   */
  commitWinner: "bot" | "listener" | "first";
  /** Transition id of the first group of a call; 0 (default) is executed at once, without op 22. */
  firstTransitionId: number;
  /** Id of the next other transition; counts up, leaving out 0 after 65535. Default 1. */
  nextTransitionId: number;
  /** Time from the announcement to op 22 where an op 23 is missing, milliseconds, default 2000. */
  executeWithinMs: number;
  /** Time between the last op 23 and op 22, milliseconds, default 0. */
  executeDelayMs: number;
  /** When listeners process a commit: at once, or only just before op 22. Default `announce`. */
  listenersProcess: "announce" | "execute";
  /**
   * True (default): proposals of a running group also go to bots that are not in the group yet, which must ignore them.
   */
  areNewcomersOffered: boolean;
  /** When op 25 is sent. Default `afterSessionDescription`. */
  externalSenderAt: "beforeSessionDescription" | "afterSessionDescription";
  /** `protocol_version` of the op 21 that follows when only one member is left. Default 1. */
  soleMemberVersion: number;
  /** How long bots may take for op 26, 28 and 23, milliseconds, default 8000. */
  answerTimeoutMs: number;
  /**
   * How long after a change frames of the old state may still be in transit, or be sent until op 22 has arrived,
   * milliseconds, default 1000.
   */
  underWayMs: number;
}

export function createDavePolicy(): DavePolicy {
  return {
    commitWinner: "bot",
    firstTransitionId: 0,
    nextTransitionId: 1,
    executeWithinMs: 2000,
    executeDelayMs: 0,
    listenersProcess: "announce",
    areNewcomersOffered: true,
    externalSenderAt: "afterSessionDescription",
    soleMemberVersion: 1,
    answerTimeoutMs: 8000,
    underWayMs: 1000,
  };
}

/** Takes the next id for a transition that is executed by op 22. */
export function takeTransitionId(policy: DavePolicy): number {
  const id = policy.nextTransitionId;
  policy.nextTransitionId = id >= 0xffff ? 1 : id + 1;
  return id;
}
