// Board and alert rules against a node that plays, which a real Prometheus asks.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { type ExampleTestEnvironment, startExampleTestEnvironment } from "../../support/example-test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { BOARD_QUERIES, filledIn } from "./board.ts";
import { PrometheusServer, promtool, RULES_FOLDER } from "./prometheus-server.ts";

const RULES = readFileSync(join(RULES_FOLDER, "alerts.yml"), "utf8");
const REFERENCE = readFileSync(join(PROJECT_ROOT, "docs/reference/metrics.md"), "utf8");
const ALERTS = [...RULES.matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name);

/** Families that no panel shows, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  lavalink_uptime_milliseconds: "process_start_time_seconds says it, and outlives a restart",
  lavalink_memory_free_bytes: "the heap is a small part of the memory that counts",
  lavalink_memory_allocated_bytes: "the same as process_resident_memory_bytes",
  lavalink_memory_reservable_bytes: "the machine's; the alert on memory compares with it",
  lavalink_cpu_lavalink_load_percentage: "rate(process_cpu_seconds_total) says it at every moment, and not for 30 s",
  tonearm_cluster_sessions_elsewhere: "tonearm_sessions of the other machines says it",
  tonearm_cluster_requests_forwarded_total: "how many of them fail says more",
  tonearm_cluster_lost_total: "a machine that was lost is one that is not joined",
  tonearm_state_restored: "it does not change after the start, and the log says it",
  tonearm_state_written_bytes_total: "what is written is small; the number of writes says more",
};

/** Queries that correctly have no series in a healthy node that has run for a short time. */
const EMPTY_WHEN_WELL = [
  "Audible gaps, by cause A",
  // Without a cluster.
  ...["Cluster A", "Cluster B", "Cluster C", "Cluster D"],
  "Inputs and plugins B",
  "Missing frames, by cause A",
  "Open circuit breakers A",
  "Played from elsewhere A",
  "Played from elsewhere B",
  "Voice connections closed by Discord A",
  "Plugin events A",
  "annotation Alerts",
  "annotation Starts",
];

let example: ExampleTestEnvironment;
let prometheus: PrometheusServer;
let served: string;
let calls: readonly MusicCall[];

beforeAll(async () => {
  example = await startExampleTestEnvironment({ config: { METRICS_PROMETHEUS_ENABLED: "true" } });
  const { env } = example;
  prometheus = await PrometheusServer.start(new URL(env.url).host, TEST_PASSWORD);
  calls = await Promise.all([MusicCall.join(env), MusicCall.join(env)]);
  for (const call of calls) {
    const { body } = await call.bot.load("exsearch:song");
    await call.update({ track: { encoded: (body.data as { encoded: string }[])[0]?.encoded } });
    await call.receiveMore(20);
  }
  // A rate needs two different samples.
  const increases = async (name: string) => ((await prometheus.query(`sum(rate(${name}[1m]))`))[0] ?? 0) > 0;
  await vi.waitUntil(() => increases("tonearm_frames_sent_total"), { timeout: 30_000, interval: 100 });
  await calls[0]?.bot.load("exsearch:song");
  await vi.waitUntil(() => increases("tonearm_source_requests_total"), { timeout: 30_000, interval: 100 });
  served = await (await fetch(`${env.url}/metrics`, { headers: { authorization: TEST_PASSWORD } })).text();
});
afterAll(async () => {
  await prometheus?.close();
  await example?.close();
});

/** Names of families, each with the labels of its series. */
function servedFamilies(): Map<string, Set<string>> {
  const families = new Map<string, Set<string>>();
  for (const [, name = ""] of served.matchAll(/^# TYPE (\w+) /gm)) families.set(name, new Set());
  for (const [, series = "", pairs = ""] of served.matchAll(/^(\w+)(?:\{([^}]*)\})? /gm)) {
    const labels = families.get(familyOf(series, families));
    for (const [, label = ""] of pairs.matchAll(/(\w+)="/g)) labels?.add(label);
  }
  for (const [name, labels] of families) for (const label of documentedLabels(name)) labels.add(label);
  return families;
}

/** The labels in the reference: some families have no series as long as nothing is counted. */
function documentedLabels(family: string): string[] {
  const [, labels = ""] = new RegExp(`^\\| \`${family}\\{([\\w,]+)\\}\``, "m").exec(REFERENCE) ?? [];
  return [...labels.matchAll(/(\w+)/g)].map(([, label = ""]) => label);
}

function familyOf(series: string, families: ReadonlyMap<string, unknown>): string {
  return families.has(series) ? series : series.replace(/_(?:bucket|sum|count)$/, "");
}

/** The metrics of an expression with the labels that it uses, and the labels it groups by. */
function usedIn(expr: string): { metrics: Map<string, string[]>; grouped: string[] } {
  const metrics = new Map<string, string[]>();
  for (const [, name = "", selector = ""] of expr.matchAll(
    /\b((?:tonearm|lavalink|logback|process)_\w+)(?:\{([^}]*)\})?/g,
  )) {
    const labels = [...selector.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label);
    metrics.set(name, [...(metrics.get(name) ?? []), ...labels]);
  }
  const grouped = [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(/,\s*/),
  );
  return { metrics, grouped };
}

function alertExpressions(): string[] {
  return [...RULES.matchAll(/^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/gm)].map(
    ([, lines, line]) => lines ?? line ?? "",
  );
}

describe("the rules", () => {
  test("the alert rules are valid, and fire only when they should", () => {
    expect(promtool("check", "rules", "alerts.yml")).toMatchObject({ status: 0 });
    const { status, output } = promtool("test", "rules", "alerts.test.yml");
    expect(output).toContain("SUCCESS");
    expect(status).toBe(0);
  });

  test("every alert rule has a test, and a section in the runbook", () => {
    const tests = readFileSync(join(RULES_FOLDER, "alerts.test.yml"), "utf8");
    const page = readFileSync(join(PROJECT_ROOT, "docs/how-to/monitoring.md"), "utf8");
    const headings = [...page.matchAll(/^### (Tonearm\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(ALERTS);
    for (const name of ALERTS) expect(tests).toMatch(new RegExp(`alertname="${name}".*severity=`));
    const pages = [...RULES.matchAll(/page: (\S+?)(?:#(\S+))?$/gm)];
    expect(pages).toHaveLength(ALERTS.length);
    for (const [, path = "", heading] of pages) {
      const text = readFileSync(join(PROJECT_ROOT, path), "utf8");
      const names = [...text.matchAll(/^#+ (.+)$/gm)].map(([, name = ""]) => name.toLowerCase());
      if (heading !== undefined) expect(names, path).toContain(heading);
    }
  });

  test("Prometheus loads the alert rules unchanged, and none fires for a healthy node", async () => {
    type Rule = { readonly name: string; readonly health: string; readonly lastError?: string; readonly state: string };
    const rules = async () =>
      ((await prometheus.ask("rules")) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
    await expect.poll(async () => (await rules()).map(({ health }) => health)).toEqual(ALERTS.map(() => "ok"));
    expect((await rules()).map(({ name }) => name)).toEqual(ALERTS);
    expect((await rules()).filter(({ state }) => state === "firing")).toEqual([]);
  });
});

describe("the queries of board and rules", () => {
  const expressions = () => [
    ...BOARD_QUERIES.map(({ location, expr }) => ({ location, expr: filledIn(expr, "1m") })),
    ...alertExpressions().map((expr, index) => ({ location: ALERTS[index] ?? "", expr })),
  ];

  test("the metrics and labels in board and rules are those that the node exports", () => {
    const families = servedFamilies();
    expect(alertExpressions()).toHaveLength(ALERTS.length);
    for (const { location, expr } of expressions()) {
      const { metrics, grouped } = usedIn(expr);
      const known = new Set(["job", "instance", "le"]);
      for (const [series, labels] of metrics) {
        const family = familyOf(series, families);
        expect([...families.keys()], location).toContain(family);
        for (const label of families.get(family) ?? []) known.add(label);
        const own = [...(families.get(family) ?? []), "job", "instance", "le"];
        for (const label of labels) expect(own, `${location}: ${series}`).toContain(label);
      }
      for (const label of grouped) expect([...known], location).toContain(label);
    }
  });

  test("every exported metric is in board or rules, or is left out with a reason", () => {
    const families = servedFamilies();
    const shown = new Set(
      BOARD_QUERIES.flatMap(({ expr }) => [...usedIn(expr).metrics.keys()].map((name) => familyOf(name, families))),
    );
    const missing = [...families.keys()].filter((name) => !shown.has(name));
    expect(missing.toSorted()).toEqual(Object.keys(LEFT_OUT).toSorted());
  });

  test("Prometheus parses every query of the board, and a playing node has data for it", async () => {
    const empty: string[] = [];
    for (const { location, expr } of BOARD_QUERIES) {
      const values = await prometheus.query(filledIn(expr, "1m"));
      if (values.filter((value) => !Number.isNaN(value)).length === 0) empty.push(location);
    }
    const unexpected = empty.filter((location) => !EMPTY_WHEN_WELL.includes(location));
    expect(unexpected).toEqual([]);
    expect(BOARD_QUERIES.length - empty.length).toBeGreaterThan(45);
  });

  test("the board's queries show two players without lost audio", async () => {
    const ask = (title: string) => {
      const query = BOARD_QUERIES.find(({ location }) => location === `${title} A`);
      return prometheus.query(filledIn(query?.expr ?? "", "1m"));
    };
    await expect.poll(() => ask("Nodes that answer")).toEqual([1]);
    await expect.poll(() => ask("Players that play")).toEqual([2]);
    await expect.poll(() => ask("Nodes without capacity")).toEqual([0]);
    // Over the last minute, of which they must have played almost half.
    await expect
      .poll(async () => Math.round((await ask("Frames per playing player"))[0] ?? 0), { timeout: 90_000 })
      .toBeGreaterThan(20);
  });

  test("the board shows a bot that was removed from its channel", async () => {
    calls[1]?.session.close(4014);
    await calls[1]?.bot.untilEvent("WebSocketClosedEvent");
    await expect.poll(() => prometheus.query('tonearm_voice_closed_total{code="4014"}')).toEqual([1]);
    expect(await prometheus.query('tonearm_voice_closed_total{code="other"}')).toEqual([0]);
  });
});
