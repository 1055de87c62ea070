// Runs every recorded REST case that needs a whole node: real probes of media, real loads of tracks, voice servers that
// refuse. A case matches or is listed in the table of differences.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeClient } from "../../../lab/conformance/workbench/node-client.ts";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { comparable, type GoldenCase, type GoldenStep, type Parsed, readRestCases } from "../../support/golden.ts";
import { GoldenSite } from "../../support/golden-site.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { LOADED_DIFFERENCES, NEEDS_WHOLE_NODE } from "../../unit/control/api/golden-differences.ts";

let site: GoldenSite;
let env: TestEnvironment;
let http: NodeClient;
let cases: ReadonlyMap<string, GoldenCase>;

const isWalked = (golden: GoldenCase): boolean => NEEDS_WHOLE_NODE.some(({ applies }) => applies(golden));
const NAMES = readRestCases()
  .filter(isWalked)
  .map(({ name }) => name);

beforeAll(async () => {
  site = await GoldenSite.open();
  env = await startTestEnvironment({
    config: { LAVALINK_SERVER_SOURCES_LOCAL: "true", TONEARM_LOCAL_ROOTS: site.folder },
  });
  http = new NodeClient(env.url, TEST_PASSWORD);
  cases = new Map(readRestCases(site.folder).map((golden) => [golden.name, golden]));
});
afterAll(async () => {
  await env.close();
  await site.close();
});

describe("every recorded REST case that needs media or voice", () => {
  it.concurrent.each(NAMES)("%s", async (name) => {
    const golden = cases.get(name);
    const bot = await env.connectBot();
    for (const [index, step] of (golden?.steps ?? []).entries()) {
      const { method, path, body, headers } = translated(step.request, bot.sessionId);
      const { Authorization: _, ...rest } = headers;
      const answer = await http.request(method, path, { headers: rest, ...(body === null ? {} : { body }) });
      compareStep({ name, index, step, answer, sessionId: bot.sessionId });
    }
  });

  it("names no difference that is not one", () => {
    const named = LOADED_DIFFERENCES.flatMap(({ names }) => names);
    expect(named.filter((name) => !NAMES.includes(name))).toEqual([]);
  });
});

function translated<Value>(value: Value, sessionId: string): Value {
  return JSON.parse(site.translate(JSON.stringify(value)).replaceAll("{session}", sessionId));
}

interface WalkedStep {
  readonly name: string;
  readonly index: number;
  readonly step: GoldenStep;
  readonly answer: { readonly status: number; readonly json: Parsed };
  readonly sessionId: string;
}

function compareStep({ name, index, step, answer, sessionId }: WalkedStep): void {
  const difference = LOADED_DIFFERENCES.find(({ names }) => names.includes(name));
  const changed = difference?.steps[index];
  if (changed !== undefined) {
    expect({ status: answer.status, body: answer.json }).toMatchObject(changed);
    return;
  }
  expect(answer.status).toBe(step.response.status);
  const { json } = step.response;
  if (json === null) expect(answer.json).toBeUndefined();
  else if (json.loadType === "error") expect(answer.json).toEqual({ loadType: "error", data: EXCEPTION });
  else expect(comparable(answer.json)).toEqual(comparable(translated(json, sessionId)));
}

/** Our error has its own text, and more fields than the recorded server has sent since 4.0.8. */
const EXCEPTION = {
  message: expect.stringMatching(/^(?!Something went wrong)./),
  severity: expect.stringMatching(/^(?:common|suspicious|fault)$/),
  cause: expect.stringMatching(/./),
  causeStackTrace: expect.stringMatching(/./),
};
