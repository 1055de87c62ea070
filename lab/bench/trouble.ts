// Errors of a measured node, by what they mean for the run.

/** The node did something that makes the measurement impossible: it ended, did not answer, or sent invalid answers. */
export class NodeTrouble extends Error {}

/** The node is well but does not do what one workload asks for; the others can still be measured. */
export class CannotPlay extends Error {}
