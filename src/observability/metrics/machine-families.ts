// The metrics of all machines of a cluster as one text for Prometheus: each sample has the label `machine`, and each family
// its help and type once, whatever machine it comes from. Main thread; used by node-metrics.ts.

import { z } from "zod";
import type { MachineReport, ReportedMachine } from "../../control/cluster/machine-reports.ts";
import { readJson } from "../../control/cluster/read-json.ts";
import type { MetricFamily } from "./prometheus-text.ts";

const UP: Pick<MetricFamily, "name" | "help" | "type"> = {
  name: "tonearm_machine_up",
  help: "1 for a machine of the cluster whose metrics are here, 0 for one that has not answered.",
  type: "gauge",
};

/** What machines send each other: their families, which another version may have others of. */
const familiesSchema = z.array(
  z.object({
    name: z.string().regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/),
    help: z.string().regex(/^[^\n]*$/),
    type: z.enum(["gauge", "counter", "histogram"]),
    samples: z.array(
      z.object({
        suffix: z.string().regex(/^\w*$/).default(""),
        labels: z.record(z.string().regex(/^[a-zA-Z_]\w*$/), z.string()).default({}),
        value: z.number(),
      }),
    ),
  }),
);

interface MachineFamilies {
  readonly machine: Pick<ReportedMachine, "id" | "name">;
  /** Undefined: it has not answered. */
  readonly families: readonly MetricFamily[] | undefined;
}

/** The families that a machine has sent. */
export function readFamilies({ machine, answer }: MachineReport): MachineFamilies {
  const families = answer.kind === "answered" ? familiesSchema.safeParse(readJson(answer.text)).data : undefined;
  return { machine, families };
}

/** The families of all machines, those of one name joined, and which machines have answered. */
export function joinFamilies(all: readonly MachineFamilies[]): readonly MetricFamily[] {
  const joined = new Map<string, MetricFamily & { readonly samples: MetricFamily["samples"][number][] }>();
  const labels = labelsOf(all.map(({ machine }) => machine));
  const add = (family: MetricFamily, machine: string): void => {
    const known = joined.get(family.name) ?? { ...family, samples: [] };
    joined.set(family.name, known);
    // Of another version: one name has one type.
    if (known.type !== family.type) return;
    for (const sample of family.samples) known.samples.push({ ...sample, labels: { ...sample.labels, machine } });
  };
  for (const [index, { families }] of all.entries()) {
    const machine = labels[index] ?? "";
    add({ ...UP, samples: [{ value: families === undefined ? 0 : 1 }] }, machine);
    for (const family of families ?? []) add(family, machine);
  }
  return [...joined.values()];
}

/** Their names, and of those with one name also their ids: no two series may be the same. */
function labelsOf(machines: readonly MachineFamilies["machine"][]): readonly string[] {
  return machines.map(({ id, name }) => {
    return machines.filter((other) => other.name === name).length > 1 ? `${name} ${id}` : name;
  });
}
