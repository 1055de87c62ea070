// What a route answers for all machines of the cluster (`?machines=all`): what each of them says, or why it does not. Not
// part of Lavalink's protocol. Main thread; made in control/server/machine-requests.ts.

import { z } from "zod";
import { count, type JsonOf } from "./json-of.ts";

const machineFields = {
  id: z.string().nullable().describe("Null for keys of the role client, and of a node without a cluster"),
  name: z.string().nullable().describe("As `id`"),
  reason: z.string().nullable().describe("Why it has not answered; null: it has"),
  load: z
    .strictObject({
      players: count.describe("On it, of all sessions"),
      load: z.number().min(0).describe("Share of their time that its audio workers need"),
      hasCapacity: z.boolean(),
      isDraining: z.boolean(),
    })
    .nullable()
    .describe("As it was last said, also of a machine that does not answer; null: not known"),
};

/** One machine; `Answer` is what it answers when it is asked about itself. */
export interface MachineAnswerJson<Answer> extends JsonOf<z.ZodObject<typeof machineFields>> {
  readonly answer: Answer | null;
}

/** Schema of the answer for this machine alone, or for all, which then has `more` besides. */
export function orOfMachines(own: z.ZodType, more: z.ZodRawShape = {}): z.ZodType {
  const machine = z.strictObject({ ...machineFields, answer: own.nullable() });
  return z.union([own, z.strictObject({ ...more, machines: z.array(machine) })]);
}
