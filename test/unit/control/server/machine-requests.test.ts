import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../../src/control/access/client-key.ts";
import { ROLES, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { KeyRing } from "../../../../src/control/access/key-ring.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { JoinedReports } from "../../../support/joined-reports.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { stateReport } from "../../../support/state-report.ts";

const REASON = "no answer from NATS at nats-1:4222";
const LOAD = { players: 12, load: 0.25, hasCapacity: true, isDraining: false };

let joined: JoinedReports;
let own: ApiServer;
let far: ApiServer;
let isFarWell: boolean;

/** Both know the name of a role as a key with it. */
function keysOfRoles(): KeyRing {
  const keys = new KeyRing(new FakeClock());
  keys.replace(ROLES.map((role) => ({ name: role, role, hashes: [hashOf(role)], limits: UNLIMITED })));
  return keys;
}

beforeEach(async () => {
  joined = new JoinedReports();
  isFarWell = true;
  own = await ApiServer.start({ keys: keysOfRoles(), reports: joined.of("own") });
  const report = () => stateReport(isFarWell ? {} : { status: { kind: "off", reason: "no space left" } });
  const state = { report, written: () => undefined };
  far = await ApiServer.start({ keys: keysOfRoles(), reports: joined.of("far"), state });
});

afterEach(async () => {
  await own.close();
  await far.close();
});

async function ask(path: string, role = "operator") {
  const { status, json } = await own.request("GET", path, { password: role });
  return { status, json };
}

async function addPlayers(server: ApiServer, guildIds: readonly string[], password = "operator"): Promise<void> {
  const { sessionId } = await server.connect({ Authorization: password });
  for (const guildId of guildIds)
    await server.sessions.get(sessionId)?.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
}

describe("stats of all machines", () => {
  test("are sums, with what each machine answers by itself", async () => {
    await addPlayers(own, ["1", "2"]);
    await addPlayers(far, ["3"]);

    const { json } = await ask("/v4/stats?machines=all");

    expect(json.players).toBe(3);
    expect(json.machines).toMatchObject([
      { id: "id-own", name: "own", reason: null, load: LOAD, answer: { players: 2 } },
      { id: "id-far", name: "far", reason: null, load: LOAD, answer: { players: 1 } },
    ]);
    const { memory, cpu } = (await ask("/v4/stats")).json;
    expect(json.cpu.cores).toBe(2 * cpu.cores);
    expect(json.memory.reservable).toBe(2 * memory.reservable);
    expect(json.cpu.systemLoad).toBeLessThanOrEqual(1);
  });

  test("count who answers, and say who does not, why, and what it said last", async () => {
    await addPlayers(own, ["1", "2"]);
    joined.silent.set("far", REASON);

    const { status, json } = await ask("/v4/stats?machines=all");

    expect([status, json.players]).toEqual([200, 2]);
    expect(json.machines[1]).toEqual({ id: "id-far", name: "far", reason: REASON, load: LOAD, answer: null });
  });

  test("name no machine and no server of NATS to a client", async () => {
    joined.silent.set("far", REASON);
    const { json } = await ask("/v4/stats?machines=all", "client");
    expect(json.machines).toMatchObject([
      { id: null, name: null },
      { id: null, name: null, reason: "it does not answer" },
    ]);
  });

  test("are of this machine unless all are asked for", async () => {
    expect((await ask("/v4/stats")).json.machines).toBeUndefined();
    expect(joined.asked).toEqual([]);
  });
});

describe("the health of all machines", () => {
  test("is good when all answer and are well", async () => {
    const { json } = await ask("/v4/tonearm/health?machines=all");
    expect(json).toMatchObject({
      isHealthy: true,
      machines: [
        { name: "own", answer: { isHealthy: true } },
        { name: "far", answer: { isHealthy: true, state: { status: "working" } } },
      ],
    });
  });

  test("is not when one is unwell, which says why", async () => {
    isFarWell = false;
    const { json } = await ask("/v4/tonearm/health?machines=all");
    expect(json.isHealthy).toBe(false);
    expect(json.machines[1].answer).toMatchObject({ isHealthy: false, state: { reason: "no space left" } });
    const ofClient = (await ask("/v4/tonearm/health?machines=all", "client")).json;
    expect(ofClient.isHealthy).toBe(false);
    expect(JSON.stringify(ofClient)).not.toContain("no space left");
  });

  test("is not when one does not answer", async () => {
    joined.silent.set("far", REASON);
    const { json } = await ask("/v4/tonearm/health?machines=all");
    expect(json).toMatchObject({ isHealthy: false, machines: [{ reason: null }, { reason: REASON }] });
  });
});

describe("the players of a guild on all machines", () => {
  test("are found wherever they are", async () => {
    await addPlayers(far, ["7"]);

    const { json } = await ask("/v4/tonearm/players/7?machines=all");

    expect(json.machines).toMatchObject([{ name: "far", answer: [{ guildId: "7" }] }]);
    expect((await ask("/v4/tonearm/players/7")).status).toBe(404);
    expect((await ask("/v4/tonearm/players/8?machines=all")).status).toBe(404);
    expect((await ask("/v4/tonearm/players/x?machines=all")).status).toBe(400);
  });

  test("are a client's own", async () => {
    await addPlayers(far, ["7"], "operator");
    expect((await ask("/v4/tonearm/players/7?machines=all", "client")).status).toBe(404);
    await addPlayers(far, ["7"], "client");
    const { json } = await ask("/v4/tonearm/players/7?machines=all", "client");
    expect(json.machines).toMatchObject([{ answer: [{ guildId: "7" }] }]);
  });

  test("keep what else the request says", async () => {
    await addPlayers(far, ["7"]);
    expect((await ask("/v4/tonearm/players/7?sessionId=none&machines=all")).status).toBe(404);
  });

  test("may be where nobody answers", async () => {
    joined.silent.set("far", REASON);
    expect((await ask("/v4/tonearm/players/7?machines=all")).json).toEqual({
      machines: [{ id: "id-far", name: "far", reason: REASON, load: LOAD, answer: null }],
    });
  });
});

test.each(["/v4/tonearm/load", "/v4/tonearm/sources", "/v4/tonearm/plugins"])(
  "%s lists what each machine answers by itself",
  async (path) => {
    const { json } = await ask(`${path}?machines=all`);
    const alone = (await ask(path)).json;
    expect(json).toMatchObject({ machines: [{ name: "own", answer: alone }, { name: "far" }] });
    expect(json.machines[1].answer).toEqual(alone);
  },
);

test("another value than all is refused, and no machine asked", async () => {
  expect((await ask("/v4/stats?machines=some")).status).toBe(400);
  expect((await ask("/v4/stats?machines=all&machines=all")).status).toBe(400);
  expect((await ask("/v4/info?machines=some")).status).toBe(200);
  expect(joined.asked).toEqual([]);
});

test("who may not ask this machine may not ask all", async () => {
  expect((await ask("/v4/tonearm/sources?machines=all", "client")).status).toBe(403);
  expect((await ask("/v4/stats?machines=all", "nobody")).status).toBe(403);
});

test("a key that another machine does not know is refused there, and the rest answered", async () => {
  const stranger = await ApiServer.start({ reports: joined.of("stranger") });
  try {
    const { json } = await ask("/v4/stats?machines=all", "viewer");
    expect(json.machines.map((machine: { readonly reason: string | null }) => machine.reason)).toEqual([
      null,
      null,
      "it has answered with status 403",
    ]);
  } finally {
    await stranger.close();
  }
});

test("another machine asks about sessions or states of machines, and nothing else", async () => {
  await ask("/v4/stats?machines=all");
  const { request = "" } = joined.asked[0] ?? {};
  const other = joined.of("asking");
  const answers = await Promise.all(
    ["/v4/tonearm/support", "/v4/info"].map((path) => other.askOthers("rest", request.replaceAll("/v4/stats", path))),
  );
  for (const { answer } of answers.flat()) expect(JSON.stringify(answer)).toContain('\\"status\\":404');
});

test("a node without a cluster answers for itself, in the same form", async () => {
  const alone = await ApiServer.start();
  try {
    const { json } = await alone.request("GET", "/v4/stats?machines=all");
    expect(json).toMatchObject({
      players: 0,
      machines: [{ id: null, name: null, reason: null, answer: { players: 0 } }],
    });
  } finally {
    await alone.close();
  }
});
