// Which machine takes a session over that has lost its own: all that know the same machines choose the same one, and each
// gets about as many as the others (rendezvous hashing). Main thread.

import { createHash } from "node:crypto";

const WEIGHT_BYTES = 6;

/** One of the machines; undefined: there is none. */
export function chosenFor(sessionId: string, machineIds: readonly string[]): string | undefined {
  let chosen: string | undefined;
  let most = -1;
  for (const id of machineIds) {
    const weight = createHash("sha256").update(`${id} ${sessionId}`).digest().readUIntBE(0, WEIGHT_BYTES);
    if (weight < most || (weight === most && id > (chosen ?? ""))) continue;
    most = weight;
    chosen = id;
  }
  return chosen;
}
