import { afterEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { ROLES, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { type ClusterReport, type ClusterStatus, NO_CLUSTER } from "../../../../src/control/cluster/cluster-status.ts";
import type { StateReport } from "../../../../src/control/state/state-status.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { clusterReport } from "../../../support/cluster-report.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { stateReport } from "../../../support/state-report.ts";

const REASON = "the state could not be written to /home/ada/state: no space left on device";
const SET_ASIDE = "/home/ada/state/records-damaged-2026";

let server: ApiServer | undefined;
afterEach(() => server?.close());

/** A server whose state is that, and where the name of a role is also a key with it. */
async function start(report: StateReport, cluster?: ClusterReport): Promise<ApiServer> {
  const keys = new KeyRing(new FakeClock());
  keys.replace(ROLES.map((role) => ({ name: role, role, hashes: [hashOf(role)], limits: UNLIMITED })));
  server = await ApiServer.start({
    keys,
    ...(cluster && { cluster }),
    state: { report: () => report, written: () => undefined },
  });
  return server;
}

async function healthOf(changes: Partial<StateReport>, role = "operator", cluster?: ClusterReport) {
  const { status, json } = await (await start(stateReport(changes), cluster)).request("GET", "/v4/tonearm/health", {
    password: role,
  });
  expect(status).toBe(200);
  return json;
}

const FAILING = { kind: "failing", reason: REASON, sinceEpochMs: 1_700_000_000_000 } as const;

describe("GET /v4/tonearm/health", () => {
  test("a node that stores its sessions is healthy, with what it has stored and restored", async () => {
    expect(await healthOf({})).toEqual({
      isDraining: false,
      isHealthy: true,
      state: {
        status: "working",
        reason: null,
        since: null,
        sessions: 2,
        records: 9,
        writes: 5,
        failedWrites: 1,
        writtenBytes: 4096,
        restored: { sessions: 1, players: 3 },
        setAside: null,
      },
      cluster: {
        status: "disabled",
        reason: null,
        since: null,
        machineCount: 0,
        machine: null,
        machines: [],
        sessionsElsewhere: 0,
        counts: NO_CLUSTER.counts,
      },
    });
  });

  test.each([
    ["a node that is not to store anything is healthy", { kind: "disabled" }, true, null, null],
    ["a node that could not open its state is not", { kind: "off", reason: REASON }, false, REASON, null],
    ["a node that cannot write is not", FAILING, false, REASON, 1_700_000_000_000],
  ] as const)("%s", async (_name, status, isHealthy, reason, since) => {
    expect(await healthOf({ status })).toMatchObject({ isHealthy, state: { status: status.kind, reason, since } });
  });

  test.each(["viewer", "operator"])("a %s sees the reason, and where earlier state was moved", async (role) => {
    expect(await healthOf({ status: FAILING, setAside: SET_ASIDE }, role)).toMatchObject({
      state: { reason: REASON, setAside: SET_ASIDE },
    });
  });

  test("a client sees that writing fails, and no path of the node's machine", async () => {
    const health = await healthOf({ status: FAILING, setAside: SET_ASIDE }, "client");
    expect(health).toMatchObject({ isHealthy: false, state: { status: "failing", since: 1_700_000_000_000 } });
    expect(JSON.stringify(health)).not.toContain("/home/ada");
    expect(Object.keys(health.state)).not.toContain("reason");
    expect(Object.keys(health.state)).not.toContain("setAside");
  });

  test("a machine that is joined is healthy, and says which others there are and what came and went", async () => {
    const health = await healthOf({}, "viewer", clusterReport());
    expect(health).toMatchObject({ isHealthy: true });
    expect(health.cluster).toEqual({
      status: "joined",
      reason: null,
      since: null,
      machineCount: 2,
      machine: "aaaa",
      machines: [
        {
          ...{ id: "aaaa", name: "box-of-ada", version: "1.2.3", players: 12 },
          ...{ roles: ["gateway", "audio"], regions: ["rotterdam", "fra"] },
        },
        { id: "bbbb", name: "box-of-eve", roles: ["gateway"], regions: [], version: "1.2.3", players: null },
      ],
      sessionsElsewhere: 7,
      counts: { adopted: 1, given: 2, taken: 3, forwarded: 40, forwardsFailed: 5, lost: 6 },
    });
  });

  test.each(["joining", "away", "cut-off"] as const)(
    "a machine that is %s is not healthy, and says why",
    async (kind) => {
      const status: ClusterStatus = { kind, reason: "no answer from nats-1:4222", sinceEpochMs: 1_700_000_000_000 };
      const report = clusterReport({ status, machine: undefined });
      expect(await healthOf({}, "operator", report)).toMatchObject({
        isHealthy: false,
        cluster: { status: kind, reason: "no answer from nats-1:4222", since: 1_700_000_000_000, machine: null },
      });
    },
  );

  test("a client sees how the cluster is, and neither names nor addresses of machines", async () => {
    const status: ClusterStatus = { kind: "away", reason: "no answer from nats-1:4222", sinceEpochMs: 5 };
    const { isHealthy, cluster } = await healthOf({}, "client", clusterReport({ status }));
    expect(isHealthy).toBe(false);
    expect(cluster).toEqual({ status: "away", since: 5, machineCount: 2 });
  });

  test("nobody learns it without a password", async () => {
    const { status } = await (await start(stateReport())).request("GET", "/v4/tonearm/health", { password: null });
    expect(status).toBe(401);
  });
});

test("what container engines ask is answered while writing fails: a restart would lose the sessions", async () => {
  const { status } = await (await start(stateReport({ status: FAILING }))).request("GET", "/version");
  expect(status).toBe(200);
});
