import { expect, test } from "vitest";
import { CONTRACT_VERSION } from "../../../../src/cluster/machine.ts";
import type { ReportedMachine } from "../../../../src/control/cluster/machine-reports.ts";
import { joinFamilies, readFamilies } from "../../../../src/observability/metrics/machine-families.ts";
import { type MetricFamily, prometheusText } from "../../../../src/observability/metrics/prometheus-text.ts";

const FRAMES: MetricFamily = {
  name: "tonearm_frames_sent_total",
  help: "Frames sent.",
  type: "counter",
  samples: [{ value: 7 }],
};
const LATENESS: MetricFamily = {
  name: "tonearm_lateness",
  help: "How late.",
  type: "histogram",
  samples: [{ suffix: "_bucket", labels: { le: "0.1" }, value: 3 }],
};

function machine(id: string, name: string): ReportedMachine {
  const self = { id, name, roles: ["audio"], regions: [], version: "1", contract: CONTRACT_VERSION } as const;
  return { ...self, load: undefined };
}

test("each sample says its machine, and each family its help and type once", () => {
  const text = prometheusText(
    joinFamilies([
      { machine: machine("a", "one"), families: [FRAMES, LATENESS] },
      { machine: machine("b", "two"), families: [{ ...FRAMES, samples: [{ value: 9 }] }] },
      { machine: machine("c", "three"), families: undefined },
    ]),
  );
  expect(text.split("\n").filter((line) => !line.startsWith("# HELP"))).toEqual([
    "# TYPE tonearm_machine_up gauge",
    ...['tonearm_machine_up{machine="one"} 1', 'tonearm_machine_up{machine="two"} 1'],
    'tonearm_machine_up{machine="three"} 0',
    "# TYPE tonearm_frames_sent_total counter",
    ...['tonearm_frames_sent_total{machine="one"} 7', 'tonearm_frames_sent_total{machine="two"} 9'],
    "# TYPE tonearm_lateness histogram",
    'tonearm_lateness_bucket{le="0.1",machine="one"} 3',
    "",
  ]);
});

test("two machines of one name are told apart by their ids: no series is there twice", () => {
  const text = prometheusText(
    joinFamilies(["a", "b"].map((id) => ({ machine: machine(id, "one"), families: [FRAMES] }))),
  );
  expect(text).toContain('tonearm_frames_sent_total{machine="one a"} 7');
  expect(text).toContain('tonearm_frames_sent_total{machine="one b"} 7');
});

test("a family whose type another version has changed keeps its first one", () => {
  const text = prometheusText(
    joinFamilies([
      { machine: machine("a", "one"), families: [FRAMES] },
      { machine: machine("b", "two"), families: [{ ...FRAMES, type: "gauge" }] },
    ]),
  );
  expect(text.match(/^# TYPE tonearm_frames_sent_total/gm)).toHaveLength(1);
  expect(text).not.toContain('tonearm_frames_sent_total{machine="two"}');
});

test("what a machine sends is read as it was, and nothing that would break the text", () => {
  const read = (text: string) =>
    readFamilies({ machine: machine("a", "one"), answer: { kind: "answered", text } }).families;
  expect(prometheusText(read(JSON.stringify([FRAMES, LATENESS])) ?? [])).toBe(prometheusText([FRAMES, LATENESS]));
  for (const broken of ["", "{}", JSON.stringify([{ ...FRAMES, name: "a b" }])]) expect(read(broken)).toBeUndefined();
  expect(read(JSON.stringify([{ ...FRAMES, help: "a\nb 1" }]))).toBeUndefined();
  expect(read(JSON.stringify([{ ...FRAMES, samples: [{ labels: { 'a"': "" }, value: 1 }] }]))).toBeUndefined();
});

test("a machine that has not answered has no families", () => {
  const report = { machine: machine("a", "one"), answer: { kind: "silent", reason: "gone" } } as const;
  expect(readFamilies(report).families).toBeUndefined();
});
