// The board of deploy/grafana for the tests: its panels and all of its Prometheus queries.

import { readFileSync } from "node:fs";
import { PROJECT_ROOT } from "../../support/project-files.ts";

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly instant?: boolean;
}

export interface BoardPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly (Target & { readonly datasource: { readonly uid: string } })[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string; readonly thresholds?: Thresholds } };
  readonly options?: object;
}

interface Thresholds {
  readonly steps: readonly { readonly color: string; readonly value: number | null }[];
}

interface Board {
  readonly uid: string;
  readonly panels: readonly BoardPanel[];
  readonly annotations: {
    readonly list: readonly { readonly name: string; readonly titleFormat?: string; readonly target?: Target }[];
  };
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { query: string } }[];
  };
}

const PATH = `${PROJECT_ROOT}deploy/grafana/dashboards/tonearm.json`;
// Our own file; a test holds it to Grafana's own types.
export const BOARD = JSON.parse(readFileSync(PATH, "utf8")) as Board;

/** A Prometheus query, with its location in the board. */
interface BoardQuery {
  readonly location: string;
  readonly expr: string;
}

export const BOARD_QUERIES: readonly BoardQuery[] = [
  ...BOARD.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }) => ({ location: `${title} ${refId}`, expr })),
  ),
  ...BOARD.annotations.list.flatMap(({ name, target }) =>
    target === undefined ? [] : [{ location: `annotation ${name}`, expr: target.expr }],
  ),
];

/** As Prometheus takes it, once Grafana has put in its variables: all nodes, and over `interval`. */
export function filledIn(expr: string, interval: string): string {
  return expr.replaceAll("$__rate_interval", interval).replaceAll(/\$(?:job|instance)\b/g, ".+");
}
