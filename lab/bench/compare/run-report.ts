// Renders the results of a run as JSON, as tables and as a chart; also of an interrupted run. Pure.

import { type Bar, barChart, type Panel } from "../../report/bar-chart.ts";
import { markdownTable, spreadText } from "../../report/markdown-table.ts";
import { ratioOf, type Spread, spreadOf } from "../../report/statistics.ts";
import { FIGURE_NAMES, type FigureName, textOf } from "./figures.ts";
import { findingOf, type RampResult } from "./ramp.ts";
import type { WorkloadResult } from "./rounds.ts";

export interface RunResult {
  /** The machine, the time, and the command line. */
  readonly about: readonly string[];
  readonly nodes: readonly string[];
  readonly workloads: readonly WorkloadResult[];
  readonly ramps: readonly RampResult[];
  /** Why the run was interrupted. */
  readonly trouble?: string;
}

/** The caveat that applies to every figure. */
export const CAVEAT =
  "The nodes, the fake Discord that listens, the site and the bench share one machine; the nodes alternate, so that " +
  "other load affects both.";

/** Columns of chart and summary: of each list, the first figure that a workload has measured. */
const CPU = ["CPU per player (idle: in all), %", ["cpuPercentPerPlayer", "cpuPercent"]] as const;
const MEMORY = ["memory (PSS), MB", ["pssMegabytes"]] as const;
const LATENESS = ["lateness p99, ms", ["latenessMsP99"]] as const;
const SPACING = ["|interval - 20 ms| p99, ms", ["spacingMsP99"]] as const;
const OWN = ["first audio or answer p99, start, ms", ["firstAudioMsP99", "answerMsP99", "startMs"]] as const;
const CHARTED = [CPU, MEMORY, LATENESS, SPACING, OWN] as const;
const SUMMARISED = [
  ...[CPU, MEMORY, LATENESS, ["jitter (RFC 3550), ms", ["jitterMs"]], SPACING],
  ...[["packets missing", ["packetsMissing"]], OWN],
] as const;
const RAMP_COLUMNS = ["players carried", "players per core"];

/** JSON with the figures of each measurement and the ratios. */
export function runJson(run: RunResult): string {
  const workloads = run.workloads.map((result) => {
    const ratios = FIGURE_NAMES.flatMap((name) => {
      const { ratio } = figureOf(result, name);
      return ratio === undefined ? [] : [[name, ratio] as const];
    });
    return { ...result, ratios: Object.fromEntries(ratios) };
  });
  return `${JSON.stringify({ ...run, workloads }, undefined, 2)}\n`;
}

export function workloadTable(result: WorkloadResult): string {
  const { name, detail, players, seconds, nodes, notes } = result;
  const rounds = Math.max(0, ...nodes.map(({ measurements }) => measurements.length));
  const crowd = players === 0 ? "no players" : `${players} players`;
  const measurements = `${rounds} rounds of ${seconds} s for each node, median (min to max)`;
  const title = `### ${name}: ${crowd}\n\n${detail}; ${measurements}:\n`;
  const names = nodes.map((node) => node.name);
  const header = ["", ...names, ...(names.length > 1 ? [names.join(" / ")] : [])];
  const rows = FIGURE_NAMES.flatMap((figure) => {
    const { spreads, ratio } = figureOf(result, figure);
    if (spreads.every((spread) => spread === undefined)) return [];
    const { title: text, digits } = textOf(figure);
    const cells = spreads.map((spread) => spreadText(spread, digits));
    return [[text, ...cells, ...(names.length > 1 ? [ratio === undefined ? "" : spreadText(ratio, 2)] : [])]];
  });
  const parts = [title, rows.length === 0 ? "Nothing was measured." : markdownTable(header, rows)];
  if (notes.length > 0) parts.push("", ...notes.map((note) => `- ${note}`));
  return `${parts.join("\n")}\n`;
}

export function rampTable({ name, detail, nodes }: RampResult): string {
  const rows = nodes.map((node) => {
    const { held, playersPerCore, broke } = findingOf(node);
    const perCore = playersPerCore === undefined ? "not measured" : playersPerCore.toFixed(0);
    const end = broke === undefined ? "not reached" : `${broke.players}: ${broke.reason}`;
    return [node.name, String(held), perCore, end];
  });
  const table = markdownTable(["node", "players carried", "players per core", "too many"], rows);
  const carried = "at most one packet in a thousand missing, and lateness p99 within 20 ms";
  return `### ${name}: maximum number of players\n\n${detail}; ${carried}:\n\n${table}\n`;
}

/**
 * All workloads on one page: for each figure both nodes and their ratio, or the spread of our node when it runs alone.
 */
export function summaryTable({ nodes, workloads }: RunResult): string {
  const rows = workloads.map((result) => {
    const crowd = result.players === 0 ? result.name : `${result.name}, ${result.players} players`;
    return [crowd, ...SUMMARISED.map(([, figures]) => summaryCell(result, figures))];
  });
  const what =
    nodes.length > 1 ? `${nodes.join(" / ")} = their ratio (min to max of the pairs)` : "median (min to max)";
  return `### All workloads: ${what}\n\n${markdownTable(["", ...SUMMARISED.map(([title]) => title)], rows)}\n`;
}

function summaryCell(result: WorkloadResult, figures: readonly FigureName[]): string {
  const figure = measuredOf(result, figures);
  if (figure === undefined) return "";
  const { spreads, ratio } = figureOf(result, figure);
  const { digits } = textOf(figure);
  const [alone] = spreads;
  if (spreads.length === 1) return spreadText(alone, digits);
  const both = spreads.map((spread) => spread?.median.toFixed(digits) ?? "not measured").join(" / ");
  return ratio === undefined ? both : `${both} = ${spreadText(ratio, 2)}`;
}

/** One chart of all measurements. */
export function runChart(run: RunResult): string {
  const isRamp = run.ramps.length > 0;
  const rows = isRamp ? run.ramps.map(rampRow) : run.workloads.map(workloadRow);
  return barChart({
    title: isRamp
      ? "As many players as are carried: longer is better"
      : "Alternating on one machine: shorter is better",
    nodes: run.nodes,
    columns: isRamp ? RAMP_COLUMNS : CHARTED.map(([title]) => title),
    rows,
    notes: [
      ...run.about,
      CAVEAT,
      ...othersNote(run),
      ...(run.trouble === undefined ? [] : [`The run ended early: ${run.trouble}`]),
    ],
  });
}

/** The CPU share of other processes, over all measurements. */
function othersNote({ workloads, ramps }: RunResult): string[] {
  const measurements = [
    ...workloads.flatMap(({ nodes }) => nodes.flatMap((node) => node.measurements)),
    ...ramps.flatMap(({ nodes }) => nodes.flatMap(({ steps }) => steps.map(({ figures }) => figures))),
  ];
  const others = spreadOf(measurements.map(({ othersPercent }) => othersPercent));
  return others === undefined ? [] : [`Other processes used ${spreadText(others, 0)} % of all cores during the run.`];
}

function workloadRow(result: WorkloadResult) {
  const panels = CHARTED.map(([, figures]): Panel | undefined => {
    const figure = measuredOf(result, figures);
    if (figure === undefined) return undefined;
    const { spreads } = figureOf(result, figure);
    const bars = result.nodes.map(({ name }, index): Bar => ({ node: name, value: spreads[index] }));
    return { bars, digits: textOf(figure).digits };
  });
  return { name: result.name, detail: result.players === 0 ? "" : `${result.players} players`, panels };
}

function rampRow({ name, nodes }: RampResult) {
  const panelOf = (values: readonly (number | undefined)[]): Panel => ({
    bars: nodes.map((node, index) => ({ node: node.name, value: spreadOf([values[index]]) })),
    digits: 0,
  });
  const findings = nodes.map(findingOf);
  const panels = [
    panelOf(findings.map(({ held }) => held)),
    panelOf(findings.map(({ playersPerCore }) => playersPerCore)),
  ];
  return { name, detail: "", panels };
}

/** The first of these figures that any node has. */
function measuredOf(result: WorkloadResult, figures: readonly FigureName[]): FigureName | undefined {
  return figures.find((each) => figureOf(result, each).spreads.some((spread) => spread !== undefined));
}

function figureOf({ nodes }: WorkloadResult, name: FigureName) {
  const measurements = nodes.map((node) => node.measurements.map((figures) => figures[name]));
  const spreads: readonly (Spread | undefined)[] = measurements.map((values) => spreadOf(values));
  const [first, second] = measurements;
  const hasRatio = (textOf(name).hasRatio ?? true) && first !== undefined && second !== undefined;
  return { spreads, ratio: hasRatio ? ratioOf(first, second) : undefined };
}
