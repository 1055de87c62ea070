// Walks the recorded configurations of the route planner that load a track, with whole nodes: the track is loaded as it
// was, and where the blocks have the family of the site, from one of their addresses.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeClient } from "../../../lab/conformance/workbench/node-client.ts";
import { silentLogger } from "../../../src/log/log.ts";
import { createNode, type Node } from "../../../src/node.ts";
import { comparable, type GoldenStep, type Parsed } from "../../support/golden.ts";
import { loadPlannerConfig, needsMedia, readPlannerCases } from "../../support/golden-planner.ts";
import { GoldenSite } from "../../support/golden-site.ts";
import { MEDIA_ENTRY, PROBE_ENTRY } from "../../support/start-test-environment.ts";

const PASSWORD = "golden password";
const ENV = {
  SERVER_PORT: "0",
  LAVALINK_SERVER_PASSWORD: PASSWORD,
  TONEARM_NETWORK_ALLOW: "127.0.0.0/8",
  TONEARM_WORKERS_COUNT: "1",
  TONEARM_STATE_ENABLED: "false",
};

let site: GoldenSite;

beforeAll(async () => {
  site = await GoldenSite.open();
});
afterAll(() => site.close());

const cases = readPlannerCases().flatMap(({ name, config, steps }) => {
  const loads = steps.filter(needsMedia);
  return loads.length === 0 ? [] : [{ name, config, loads }];
});

// Only Linux lets a program send from all of 127.0.0.0/8 without further ado.
describe.runIf(process.platform === "linux")("every recorded load with a route planner", () => {
  it.each(cases.map((golden) => [golden.name, golden] as const))("%s", async (_name, { config, loads }) => {
    const node = await createNode(loadPlannerConfig(config, ENV).config, {
      logger: silentLogger,
      probeEntry: PROBE_ENTRY,
      mediaEntry: MEDIA_ENTRY,
    });
    try {
      for (const step of loads) await compareLoad(node, step);
      const { class: name, details } = (await clientOf(node).get("/v4/routeplanner/status")).json as Parsed;
      expect(details.failingAddresses).toEqual([]);
      if (name !== "RotatingIpRoutePlanner") return;
      expect(details.currentAddress).toMatch(details.ipBlock.type === "Inet4Address" ? /^\/127\.0\.0\.\d+$/ : /^$/);
    } finally {
      await node.close();
    }
  });

  it("every recorded route planner case is compared", () => expect(cases).toHaveLength(7));
});

function clientOf({ address }: Node): NodeClient {
  return new NodeClient(`http://${address.host}:${address.port}`, PASSWORD);
}

async function compareLoad(node: Node, { request, response }: GoldenStep): Promise<void> {
  const answer = await clientOf(node).get(site.translate(request.path));
  expect(answer.status).toBe(response.status);
  expect(comparable(answer.json)).toEqual(comparable(JSON.parse(site.translate(JSON.stringify(response.json)))));
}
