// What can go wrong with a node that is measured, told apart by what it means for the run.

/** The node said or did something no measurement can go on from: it ended, never answered, talked nonsense. */
export class NodeTrouble extends Error {}

/** The node is well but does not do what one workload asks for; the others can still be measured. */
export class CannotPlay extends Error {}
