import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { BOARD, BOARD_QUERIES, type BoardPanel } from "./board.ts";

const COLUMNS = 24;
const PANELS = BOARD.panels.filter(({ type }) => type !== "row");
const TYPES = join(PROJECT_ROOT, "node_modules/@grafana/schema/dist/types");
const PANEL_TYPES = `${TYPES}/raw/composable`;
/** Without what only Prometheus' part of Grafana reads of an annotation, which the types leave out. */
const TYPED = {
  ...BOARD,
  annotations: {
    list: BOARD.annotations.list.map(({ titleFormat: _title, target, ...annotation }) => ({
      ...annotation,
      ...(target === undefined ? {} : { target: { refId: target.refId } }),
    })),
  },
};
/** The Grafana unit formats in use. */
const UNITS = ["short", "percentunit", "s", "ms", "bytes", "ops", "opm", "pps"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-board-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The compiler's errors for the board as a value of Grafana's types; empty when there are none. */
function problemsOf(board: object, panels: readonly BoardPanel[]): string {
  const kinds = ["timeseries", "stat", "table"];
  const own = panels.map(
    ({ type, options, fieldConfig }) =>
      `check<Plain<${type}.Options>>(${JSON.stringify(options)});\n` +
      `check<Plain<FieldConfigSource<Partial<${type}Field>>>>(${JSON.stringify(fieldConfig)});`,
  );
  const panelTypes = kinds.map(
    (kind) => `import type * as ${kind} from "${PANEL_TYPES}/${kind}/panelcfg/x/types.gen.d.ts";`,
  );
  const source = `
import type { Dashboard, FieldConfigSource, GraphFieldConfig, TableFieldOptions } from "${TYPES}/index.d.ts";
${panelTypes.join("\n")}
type timeseriesField = GraphFieldConfig; type statField = object; type tableField = TableFieldOptions;
/** As JSON has it: the texts of enumerations. */
type Plain<T> = T extends string ? \`\${T}\` : T extends number | boolean | null | undefined ? T
  : T extends readonly (infer Item)[] ? Plain<Item>[]
  : T extends object ? { [Name in keyof T]: Plain<T[Name]> } : T;
declare function check<T>(value: T): void;
check<Plain<Dashboard>>(${JSON.stringify(board)});
${own.join("\n")}`;
  const path = join(folder, "board.ts");
  writeFileSync(path, source);
  const options = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2023",
    "--module",
    "esnext",
  ];
  const more = ["--moduleResolution", "bundler", "--allowImportingTsExtensions", path];
  const { stdout, error } = spawnSync(join(PROJECT_ROOT, "node_modules/.bin/tsc"), [...options, ...more], {
    encoding: "utf8",
  });
  if (error !== undefined) throw error;
  return stdout;
}

describe("the board", () => {
  test("the board matches Grafana's own types", () => {
    expect(problemsOf(TYPED, PANELS)).toBe("");
  });

  test("the type check of the board detects a misspelt member, and a wrong value", () => {
    const [panel] = PANELS;
    const { gridPos, ...homeless } = panel!;
    const misspelt = { ...TYPED, panels: [{ ...homeless, gridPosition: gridPos }] };
    expect(problemsOf(misspelt, [])).toContain("gridPosition");
    const wrong = { ...panel!, type: "stat", options: { ...panel?.options, colorMode: "rainbow" } };
    expect(problemsOf(TYPED, [wrong])).toContain("rainbow");
  });

  test("every panel of the board has a separate id and position, without gaps to the left", () => {
    const ids = BOARD.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of BOARD.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(COLUMNS);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), `${title} lies on another`).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });

  test("every panel of the board has a description and a unit", () => {
    for (const { title, description = "", fieldConfig } of PANELS) {
      expect(description.length, title).toBeGreaterThan(20);
      expect(UNITS, title).toContain(fieldConfig?.defaults.unit);
      const values = fieldConfig?.defaults.thresholds?.steps.map(({ value }) => value) ?? [];
      expect(values[0], title).toBeNull();
      expect(values.slice(1), title).toEqual(values.slice(1).toSorted((one, other) => Number(one) - Number(other)));
    }
  });

  test("every query of the board uses the selected data source and nodes", () => {
    const { list } = BOARD.templating;
    expect(list.map(({ name }) => name)).toEqual(["datasource", "job", "instance"]);
    for (const { title, datasource, targets = [] } of PANELS) {
      expect(datasource?.uid, title).toBe("$datasource");
      expect(
        targets.map((target) => target.datasource.uid),
        title,
      ).toEqual(targets.map(() => "$datasource"));
    }
    for (const { location, expr } of BOARD_QUERIES) {
      const selectors = [...expr.matchAll(/\{([^}]*)\}/g)].map(([, inner = ""]) => inner);
      expect(selectors.length, location).toBeGreaterThan(0);
      for (const selector of selectors) expect(selector, location).toMatch(/job=~"\$job"/);
    }
  });

  test("the board is light: some forty panels, few queries each, none over more than a day", () => {
    expect(PANELS.length).toBeLessThanOrEqual(40);
    for (const { title, targets = [] } of PANELS) expect(targets.length, title).toBeLessThanOrEqual(4);
    const ranges = BOARD_QUERIES.flatMap(({ expr }) => [...expr.matchAll(/\[([^\]]+)\]/g)].map(([, range]) => range));
    expect(new Set(ranges)).toEqual(new Set(["5m", "1h", "24h", "$__rate_interval"]));
  });
});
