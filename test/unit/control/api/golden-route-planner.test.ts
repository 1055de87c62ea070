// Replays every recorded case of the route planner: each configuration starts or is refused as it was, and each request
// matches in status, headers and body, or is listed in PLANNER_DIFFERENCES with our answer and the reason. Media are
// probed by whole nodes only: test/integration/requests/golden-route-planner.test.ts replays those steps.

import { afterEach, describe, expect, test } from "vitest";
import { RoutePlanner } from "../../../../src/control/route-planner/route-planner.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { systemRandom } from "../../../../src/lib/random.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { type Answer, ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { comparable, type GoldenStep, type Parsed } from "../../../support/golden.ts";
import { loadPlannerConfig, needsMedia, readPlannerCases } from "../../../support/golden-planner.ts";
import { PLANNER_DIFFERENCES } from "./golden-differences.ts";

let server: ApiServer | undefined;

afterEach(() => server?.close());

const cases = readPlannerCases();

describe("every recorded case of the route planner", () => {
  const refused = cases.filter(({ isStarted }) => !isStarted);
  test.each(refused.map(({ name, config }) => [name, config]))("%s does not start", (_name, config) => {
    expect(() => loadPlannerConfig(config)).toThrow(/lavalink\.server\.ratelimit\.(strategy|ipBlocks): /);
  });

  const started = cases.filter(({ isStarted }) => isStarted);
  test.each(started.map((golden) => [golden.name, golden] as const))("%s", async (name, golden) => {
    const { config } = loadPlannerConfig(golden.config);
    const { routePlanner: settings, disabledFilters } = config;
    const parts = { settings, clock: systemClock, random: systemRandom, logger: silentLogger };
    const routePlanner = settings.ipBlocks.length === 0 ? undefined : new RoutePlanner(parts);
    server = await ApiServer.start({ disabledFilters, ...(routePlanner && { routePlanner }) });
    const { sessionId } = await server.connect();
    const steps: GoldenStep[] = JSON.parse(JSON.stringify(golden.steps).replaceAll("{session}", sessionId));
    for (const [index, step] of steps.entries()) {
      if (needsMedia(step)) continue;
      const { method, path, headers, body } = step.request;
      const answer = await server.request(method, path, {
        headers: { ...headers, Authorization: PASSWORD },
        ...(body === null ? {} : { body }),
      });
      compareStep({ name, index, step, answer });
    }
  });

  test("every listed difference of the route planner is one", () => {
    const stepCounts = new Map(cases.map(({ name, steps }) => [name, steps.length]));
    for (const { names, steps } of PLANNER_DIFFERENCES) {
      for (const name of names) {
        const last = Math.max(...Object.keys(steps).map(Number));
        expect(last, name).toBeLessThan(stepCounts.get(name) ?? 0);
      }
    }
  });
});

interface WalkedStep {
  readonly name: string;
  readonly index: number;
  readonly step: GoldenStep;
  readonly answer: Answer;
}

function compareStep({ name, index, step, answer }: WalkedStep): void {
  const { response, request } = step;
  const { status, json, headers } = answer;
  const where = `${name}, step ${index}: ${request.method} ${request.path} ${request.body}`;
  const differences = PLANNER_DIFFERENCES.filter(({ names, steps }) => names.includes(name) && steps[index]);
  for (const { steps } of differences) {
    const expected = steps[index];
    expect({ status, message: json?.message, body: json }, where).toMatchObject(expected ?? {});
    expect(status, `${where} is no difference`).not.toBe(response.status === 400 ? undefined : response.status);
  }
  if (differences.length > 0) return;
  expect(status, where).toBe(response.status);
  for (const [header, value] of response.headers) expect(headers[header.toLowerCase()], where).toContain(value);
  if (response.json === null) expect(answer.body, where).toBe("");
  else if (response.json.sourceManagers !== undefined)
    expect(json.filters.slice(0, response.json.filters.length), where).toEqual(response.json.filters);
  else expect(withoutNanoseconds(comparable(json)), where).toEqual(withoutNanoseconds(comparable(response.json)));
}

/** How many have passed is all that two runs do not share. */
function withoutNanoseconds(json: Parsed): Parsed {
  return JSON.parse(JSON.stringify(json).replace(/("currentAddressIndex":)"\d+"/, '$1"some"'));
}
