// What one machine of a cluster answers about all of them: three processes that share sessions through NATS, players on
// one of them, and one that stands still.

import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { Machine } from "../../../lab/cluster/machines.ts";
import { countedSong } from "../../../lab/media-files/counted-song.ts";
import { RESTART_PASSWORD } from "../../../lab/restart/node-runs.ts";
import { requestNode } from "../../../lab/test-environment/rest-request.ts";
import type { LiveMessage } from "../../../src/control/dashboard/live-messages.ts";
import { MusicCall } from "../../support/music-call.ts";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";
import { TestCluster } from "../../support/test-cluster.ts";

const DASHBOARD_PASSWORD = "a password for the dashboard";
const FILES = { "counted.ogg": countedSong({ seconds: 600 }) };

interface Reported {
  readonly isHealthy?: boolean;
  readonly playingPlayers?: number;
  readonly machines: readonly {
    readonly name: string;
    readonly reason: string | null;
    readonly load: { readonly players: number } | null;
    readonly answer: unknown;
  }[];
}

describe.skipIf(isNatsMissing)(natsTitle("what a machine answers about all"), () => {
  let cluster: TestCluster;
  let call: MusicCall;

  beforeAll(async () => {
    const environment = { METRICS_PROMETHEUS_ENABLED: "true", TONEARM_DASHBOARD_PASSWORD: DASHBOARD_PASSWORD };
    cluster = await TestCluster.start({ files: FILES, roles: ["gateway", "audio", "both"], environment });
    cluster.balancer.only(cluster.first);
    call = await MusicCall.join(cluster);
    await call.play("counted.ogg");
    await call.receiveMore(50);
  });
  afterAll(() => cluster?.close());

  const ask = async (machine: Machine, path: string): Promise<Reported> => {
    const access = { url: machine.url, password: RESTART_PASSWORD };
    const { status, body } = await requestNode<Reported>(access, { method: "GET", path });
    expect(status).toBe(200);
    return body;
  };
  const askFirst = (path: string) => ask(cluster.first, path);
  const namesOf = ({ machines }: Reported) => machines.map(({ name }) => name).toSorted();
  const metricsOf = async (): Promise<readonly string[]> => {
    const headers = { authorization: RESTART_PASSWORD };
    const answer = await fetch(`${cluster.first.url}/metrics?machines=all`, { headers });
    return (await answer.text()).split("\n");
  };

  test("names all machines, each with what it says of itself", async () => {
    const health = await askFirst("/v4/tonearm/health?machines=all");
    expect(health.isHealthy).toBe(true);
    expect(namesOf(health)).toEqual(["machine-1", "machine-2", "machine-3"]);
    for (const { answer } of health.machines) expect(answer).toMatchObject({ cluster: { machineCount: 3 } });
  });

  test("counts the players of all, and finds those of a guild", async () => {
    expect(await askFirst("/v4/stats?machines=all")).toMatchObject({ players: 1, playingPlayers: 1 });
    expect(await askFirst("/v4/stats")).toMatchObject({ playingPlayers: 0 });
    const { machines } = await askFirst(`/v4/tonearm/players/${call.guildId}?machines=all`);
    expect(machines).toMatchObject([{ reason: null, answer: [{ guildId: call.guildId }] }]);
    expect(["machine-2", "machine-3"]).toContain(machines[0]?.name);
  });

  test("has the metrics of all", async () => {
    const lines = await metricsOf();
    for (const name of ["machine-1", "machine-2", "machine-3"]) {
      expect(lines).toContain(`tonearm_machine_up{machine="${name}"} 1`);
      expect(lines).toContain(`tonearm_cluster_up{machine="${name}"} 1`);
    }
    expect(lines.filter((line) => line.startsWith("# TYPE lavalink_players_total "))).toHaveLength(1);
  });

  test("shows all on its dashboard, and pauses a player of another one there", async () => {
    const login = await fetch(`${cluster.first.url}/dashboard/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ password: DASHBOARD_PASSWORD }),
    });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    const socket = new WebSocket(`${cluster.first.url.replace("http", "ws")}/dashboard/live`, { headers: { cookie } });
    const messages: LiveMessage[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data))));
    await once(socket, "open");
    const view = { type: "view", filter: "", onlyTrouble: false, offset: 0, count: 100, focus: null, logLevel: null };
    socket.send(JSON.stringify({ ...view, allMachines: true }));
    const lastState = () => messages.findLast((message) => message.type === "state");
    await expect.poll(() => lastState()?.machines?.map(({ name }) => name)).toHaveLength(3);
    for (const { troubles } of lastState()?.machines ?? []) expect(troubles).toEqual([]);
    const [row] = lastState()?.players.rows ?? [];
    expect(row?.guildId).toBe(call.guildId);
    expect(["machine-2", "machine-3"]).toContain(row?.machine?.name);
    const player = { sessionId: row?.sessionId, guildId: row?.guildId, machineId: row?.machine?.id };
    socket.send(JSON.stringify({ type: "act", id: 1, action: { kind: "pause", ...player } }));
    await expect.poll(() => messages.find((message) => message.type === "done")).toMatchObject({ id: 1, error: null });
    expect(await call.player()).toMatchObject({ paused: true });
    socket.close();
  });

  test("says within some two seconds which machine stands still, and what the others say", async () => {
    cluster.second.runs.pause();
    try {
      const startMs = performance.now();
      const health = await askFirst("/v4/tonearm/health?machines=all");
      expect(performance.now() - startMs).toBeLessThan(5000);
      expect(health.isHealthy).toBe(false);
      const [still] = health.machines.filter(({ name }) => name === "machine-2");
      expect(still).toMatchObject({ answer: null, load: { players: expect.any(Number) } });
      expect(still?.reason).toContain("has not answered in 1000 ms");
      expect(health.machines.filter(({ answer }) => answer !== null)).toHaveLength(2);
      expect(await metricsOf()).toContain('tonearm_machine_up{machine="machine-2"} 0');
    } finally {
      cluster.second.runs.wake();
    }
    await vi.waitFor(async () => expect((await askFirst("/v4/tonearm/health?machines=all")).isHealthy).toBe(true), {
      timeout: 60_000,
      interval: 200,
    });
  });
});
