import { expect, test, vi } from "vitest";
import { Secret } from "../../../../src/config/keys/secret.ts";
import type { PlayerDiagnosisJson } from "../../../../src/control/protocol/player-diagnosis-json.ts";
import { LogRing } from "../../../../src/log/log-ring.ts";
import { nodeBundle, type RunningNode } from "../../../../src/observability/support-bundle/node-bundle.ts";
import { clusterReport } from "../../../support/cluster-report.ts";
import { stateReport } from "../../../support/state-report.ts";

const KEY = "00112233445566778899aabbccddeeff";
const GUILD = "817327181659111454";
const LOST = { inputStarved: 30, pacerLate: 2 } as unknown as PlayerDiagnosisJson["frames"]["lost"]; // two of all causes

const PLAYER: PlayerDiagnosisJson = {
  guildId: GUILD,
  sessionId: "abcdefgh12345678",
  position: 1,
  paused: false,
  volume: 100,
  filters: [],
  region: null,
  age: 5,
  renderWorker: null,
  track: { identifier: "dQw4w9WgXcQ", title: "Never gonna", sourceName: "youtube", isStream: false },
  worker: { index: 1, isIsolated: false, load: 0.1, latenessP99: 1, latenessMax: 2 },
  audio: { mode: "passthrough", codec: "opus", bitrate: 96_000, queued: 1, heldBytes: 2 },
  voice: null,
  frames: { sent: 1000, lost: LOST, lostMinutes: [] },
  incidents: [],
  repairs: { reopen: 1, rejoin: 0, last: null },
  inputReopened: 4,
};

function running(more: Partial<RunningNode> = {}): RunningNode {
  return {
    config: undefined,
    log: new LogRing(),
    epochMs: () => 0,
    readStats: () => ({
      frameStats: null,
      players: 3,
      playingPlayers: 2,
      uptime: 5000,
      memory: { free: 1, used: 2, allocated: 3, reservable: 4 },
      cpu: { cores: 8, systemLoad: 0.5, lavalinkLoad: 0.25 },
    }),
    readLoad: () => ({
      hasCapacity: false,
      refused: 3,
      moved: 2,
      framesLost: 0,
      sharedIncidents: [],
      hasSpareWorker: true,
      workers: [],
      encoder: { complexity: 4, complexityMax: 10 },
    }),
    readState: () => stateReport(),
    readCluster: () => clusterReport(),
    readSessions: () => [],
    sourcesJson: () => [],
    pluginsJson: () => [],
    readMetrics: () => "# HELP a b\na_total 0\nb_total 7\n",
    ...more,
  };
}

function session(players: readonly PlayerDiagnosisJson[]) {
  return {
    id: "abcdefgh12345678",
    userId: "100000000000000001",
    clientName: "client/1",
    isConnected: true,
    resuming: false,
    players: new Map(players.map((player, index) => [String(index), { isPlaying: true, diagnose: () => player }])),
  };
}

test("a running node says how it does, whom it serves and what it lost, without names and titles", async () => {
  const text = await nodeBundle(running({ readSessions: () => [session([PLAYER])] }), KEY);
  expect(text).toMatch(/^# State of the running node\n\nAs of 1970-01-01T00:00:00.000Z\./);
  expect(text).toContain("has capacity: false, starts refused: 3, players moved: 2");
  expect(text).toMatch(/session session-\w{8} of user id-\w{8}: connected, resuming false, players 1, playing 1/);
  expect(text).toMatch(/guild id-\w{8}: sent 1000, lost inputStarved 30, pacerLate 2; worker 1, voice none/);
  expect(text).toContain("playing from: youtube 1");
  expect(text).toContain("```text\nb_total 7\n```");
  for (const hidden of [GUILD, "abcdefgh12345678", "100000000000000001", "Never gonna", "dQw4w9WgXcQ"]) {
    expect(text).not.toContain(hidden);
  }
});

test("the bundle says whether sessions are stored, and since when not", async () => {
  const reason = "the state could not be written to /data/state: no space left on device";
  const status = { kind: "failing", reason, sinceEpochMs: 60_000 } as const;
  const setAside = "/data/state/records-damaged-1970";
  const failing = await nodeBundle(running({ readState: () => stateReport({ status, setAside }) }), KEY);
  expect(failing).toContain(`failing since 1970-01-01T00:01:00.000Z: ${reason}\nsessions: 2, records: 9\n`);
  expect(failing).toContain("writes: 5, failed: 1, bytes: 4096\nrestored at the start: sessions 1, players 3\n");
  expect(failing).toContain(`\nset aside: ${setAside}\n`);
  expect(await nodeBundle(running(), KEY)).toContain("```text\nworking\nsessions: 2,");
});

test("the bundle says how the cluster is, and names no machine", async () => {
  const status = { kind: "away", reason: "no answer from 10.0.0.5:4222", sinceEpochMs: 60_000 } as const;
  const text = await nodeBundle(running({ readCluster: () => clusterReport({ status }) }), KEY);
  expect(text).toMatch(
    /\naway since 1970-01-01T00:01:00\.000Z: no answer from ip-\w{8} \(private\):4222\nmachines: 2, /,
  );
  expect(text).toContain("sessions of others: 7\nsessions adopted: 1, given: 2, taken: 3; lost: 6\n");
  expect(text).toContain(
    "machine aaaa (this one): Tonearm 1.2.3, contract 2, gateway and audio, near rotterdam and fra, players 12\n" +
      "machine bbbb: Tonearm 1.2.3, contract 2, gateway, near no region, players ?\n",
  );
  expect(text).not.toContain("box-of");
  const machines = Array.from({ length: 1000 }, (_, index) => ({ ...clusterReport().machines[0]!, id: `m${index}` }));
  const large = await nodeBundle(running({ readCluster: () => clusterReport({ machines }) }), KEY);
  expect(large.match(/^machine m/gm)).toHaveLength(10);
});

test("the last warnings and errors are in it, and the newest stay when they are too many", async () => {
  const log = new LogRing();
  for (let index = 0; index < 300; index++) {
    log.keep({ epochMs: 1, level: "warn", written: `trouble ${index} in ${GUILD} title="x" ${"y".repeat(80)}\n` });
    log.keep({ epochMs: 1, level: "info", written: `answered ${index}\n` });
  }
  const text = await nodeBundle(running({ log }), KEY);
  expect(text).toMatch(/… \d+ lines are left out\ntrouble \d+ in id-\w{8} title=<left out> y/);
  expect(text.match(/^trouble /gm)?.length).toBeGreaterThan(50);
  expect(text).toContain("trouble 299");
  expect(text).not.toContain("answered");
});

test("secrets outside the configuration are hidden, too", async () => {
  vi.stubEnv("SOME_OTHER_TOKEN", "quietphrasequietphrase");
  const log = new LogRing();
  log.keep({ epochMs: 1, level: "error", written: "something sent quietphrasequietphrase away\n" });
  expect(await nodeBundle(running({ log }), KEY)).toContain("something sent <redacted> away");
  vi.unstubAllEnvs();
});

test("a line that was cut off does not end in half of a secret", async () => {
  const secret = "quietphrasequietphrase";
  for (let length = 8192 - 30; length <= 8192; length++) {
    const log = new LogRing();
    const before = `${"y".repeat(99)}\n`.repeat(82).slice(0, length);
    log.keep({ epochMs: 1, level: "error", written: `${before}${secret}\n` });
    const config = { settings: [], hidden: new Secret([secret]) };
    expect(await nodeBundle(running({ log, config }), KEY), String(length)).not.toContain("quiet");
  }
});

test("it is bounded, whatever the node has", async () => {
  const long = "w".repeat(5000);
  const source = { succeeded: 1, refused: 1, failed: 1, lastError: { code: "x", message: long, atMs: 1 } };
  const log = new LogRing();
  for (let index = 0; index < 300; index++) log.keep({ epochMs: 1, level: "error", written: long });
  let inspected = 0;
  const players = Array.from({ length: 5000 }, () => PLAYER);
  const counted = { ...session(players) };
  for (const player of counted.players.values()) {
    player.diagnose = () => {
      inspected++;
      return PLAYER;
    };
  }
  const text = await nodeBundle(
    running({
      log,
      readSessions: () => [counted, ...Array.from({ length: 1000 }, () => ({ ...session([]), clientName: long }))],
      sourcesJson: () =>
        Array.from({ length: 100 }, () => ({
          name: long,
          plugin: long,
          state: "running",
          trouble: long,
          loads: source,
          links: source,
          backends: [],
        })),
      pluginsJson: () =>
        Array.from({ length: 100 }, () => ({
          name: long,
          version: long,
          isBuiltIn: false,
          state: "off",
          trouble: long,
          losses: 1,
          sources: [],
          counts: { [long]: 1 },
          changedOptions: [long],
        })),
      readMetrics: () => `${long} 1\n`.repeat(100),
    }),
    KEY,
  );
  expect(text.length).toBeLessThan(45_000);
  expect(inspected).toBe(500);
});
