import { describe, expect, test } from "vitest";
import type { Figures } from "../../../../lab/bench/compare/figures.ts";
import { attemptTwice, findingOf, type RampResult, whyNotCarried } from "../../../../lab/bench/compare/ramp.ts";
import { measuringOrder, type WorkloadResult } from "../../../../lab/bench/compare/rounds.ts";
import { rampTable, runChart, runJson, workloadTable } from "../../../../lab/bench/compare/run-report.ts";

function resultOf(ours: Figures[], other: Figures[], notes: string[] = []): WorkloadResult {
  const nodes = [
    { name: "tonearm", measurements: ours },
    { name: "other", measurements: other },
  ];
  return { name: "mp3", detail: "MP3", players: 20, seconds: 10, nodes, notes };
}

const RUN = { about: ["2 cores"], nodes: ["tonearm", "other"], ramps: [] };

test("nodes alternate, and each round starts with another one", () => {
  expect(measuringOrder(2, 3)).toEqual([0, 1, 1, 0, 0, 1]);
  expect(measuringOrder(1, 2)).toEqual([0, 0]);
});

describe("a workload's table", () => {
  const result = resultOf(
    [
      { cpuPercent: 30, packetsMissing: 0 },
      { cpuPercent: 60, packetsMissing: 4 },
    ],
    [{ cpuPercent: 40 }, { cpuPercent: 80 }],
    ["other broke a rule"],
  );

  test("a workload's table has the figures of both nodes, and their ratio by pairs", () => {
    const cpu = workloadTable(result)
      .split("\n")
      .find((line) => line.includes("CPU of all"));
    expect(cpu).toMatch(/\| 45\.0 \(30\.0 to 60\.0\) \| 60\.0 \(40\.0 to 80\.0\) \| 0\.75 \|$/);
  });

  test("a workload's table has no ratios of error counts", () => {
    const mishaps = workloadTable(resultOf([{ packetsMissing: 4 }], [{ packetsMissing: 2 }]));
    expect(mishaps).toMatch(/\| packets missing \| 4 \| 2 \| {2}\|/);
  });

  test("a workload's table marks figures that were not measured, and leaves out those without any value", () => {
    const table = workloadTable(result);
    expect(table).toMatch(/\| packets missing \| 2 \(0 to 4\) \| not measured \| {2}\|/);
    expect(table).not.toContain("memory");
    expect(table).toContain("- other broke a rule");
  });

  test("a workload's table has our node alone when there is no other", () => {
    const alone = { ...result, nodes: result.nodes.slice(0, 1) };
    expect(workloadTable(alone)).toContain("|  | tonearm |\n");
  });

  test("a workload's table says so when nothing was measured", () => {
    expect(workloadTable(resultOf([], []))).toContain("Nothing was measured.");
  });
});

test("JSON has every measurement, the ratios, and why the run was interrupted", () => {
  const run = { ...RUN, workloads: [resultOf([{ cpuPercent: 1 }], [{ cpuPercent: 4 }])], trouble: "other: ended" };
  const { workloads, trouble } = JSON.parse(runJson(run));
  expect(workloads[0].nodes[1].measurements).toEqual([{ cpuPercent: 4 }]);
  expect(workloads[0].ratios).toEqual({ cpuPercent: { median: 0.25, low: 0.25, high: 0.25 } });
  expect(trouble).toBe("other: ended");
});

test("the chart has a row for each workload, and one for each ramp", () => {
  const rows = { ...RUN, workloads: [resultOf([{ cpuPercentPerPlayer: 1.5, othersPercent: 12 }], [])] };
  expect(runChart(rows)).toContain(">mp3</text>");
  expect(runChart(rows)).toContain(">1.500</text>");
  expect(runChart(rows)).toContain("Other processes used 12 % of all cores");
  const broken = { ...rows, trouble: "other: ended" };
  expect(runChart(broken)).toContain("The run ended early: other: ended");
});

describe("a ramp", () => {
  test("a ramp step holds when packets are nearly complete and within a frame of their time, and otherwise has a reason", () => {
    const complete = { packetsDue: 7000, packetsMissing: 7 };
    expect(whyNotCarried({ ...complete, latenessMsP99: 20, listenerCpuPercent: 99 })).toBeUndefined();
    expect(whyNotCarried({ ...complete, latenessMsP99: 20.1 })).toBe("late by 20.1 ms at p99");
    expect(whyNotCarried({ packetsDue: 6999, packetsMissing: 7 })).toBe("7 packets missing (0 skipped by the node)");
    expect(whyNotCarried({ latenessMsP99: 31, packetsMissing: 7, framesLeftOut: 5, listenerCpuPercent: 97 })).toBe(
      "late by 31.0 ms at p99, 7 packets missing (5 skipped by the node), the listener itself at 97 % of a core",
    );
  });

  test("a ramp measures a held step once, and a failed one twice", async () => {
    for (const [outcomes, attempts, isHeld] of [
      [[true], 1, true],
      [[false, true], 2, true],
      [[false, false, true], 2, false],
    ] as const) {
      let count = 0;
      const step = await attemptTwice(async () => ({ isHeld: outcomes[count++] ?? false }));
      expect([count, step.isHeld]).toEqual([attempts, isHeld]);
    }
  });

  const ramp: RampResult = {
    name: "passthrough",
    detail: "Opus",
    nodes: [
      {
        name: "tonearm",
        steps: [
          { players: 200, isHeld: true, figures: { cpuPercent: 40 } },
          { players: 400, isHeld: false, reason: "late by 31.0 ms at p99", figures: { cpuPercent: 95 } },
          { players: 300, isHeld: true, figures: { cpuPercent: 50 } },
        ],
      },
      { name: "other", steps: [{ players: 200, isHeld: true, figures: {} }] },
    ],
  };

  test("a ramp finds the most players that were carried, their share of a core, and the failing step", () => {
    expect(ramp.nodes.map(findingOf)).toEqual([
      { held: 300, playersPerCore: 600, broke: { players: 400, reason: "late by 31.0 ms at p99" } },
      { held: 200, playersPerCore: undefined, broke: undefined },
    ]);
  });

  test("a ramp is shown as a table and in the chart", () => {
    expect(rampTable(ramp)).toContain("| tonearm | 300 | 600 | 400: late by 31.0 ms at p99 |");
    expect(rampTable(ramp)).toContain("| other | 200 | not measured | not reached |");
    expect(runChart({ ...RUN, workloads: [], ramps: [ramp] })).toContain(">600</text>");
  });
});
