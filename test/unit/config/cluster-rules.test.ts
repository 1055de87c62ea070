import { describe, expect, test } from "vitest";
import { type LoadedConfig, loadConfig } from "../../../src/config/load-config.ts";

const STATE = "tonearm.state.key: a long random text";
const SEED = `SU${"A".repeat(56)}`;

/** `lines` below tonearm.cluster. */
function load(lines: readonly string[], { more = STATE, hostName = "box", env = {} } = {}): LoadedConfig {
  const text = [more, "tonearm.cluster:", ...lines.map((line) => `  ${line}`), "  name: tonearm"].join("\n");
  const readFile = (path: string) => (path.endsWith("tonearm.yml") ? text : undefined);
  return loadConfig({ args: [], env, cwd: "/srv/node", readFile, hostName });
}

function clusterOf(...lines: readonly string[]) {
  return load(["servers: [nats://a:4222]", ...lines]).config.cluster;
}

describe("tonearm.cluster", () => {
  test("without servers there is no cluster, and what else is set has no effect", () => {
    const { config, warnings } = load([]);
    expect([config.cluster, warnings]).toEqual([undefined, []]);
    const lonely = load(["user: ada"], { more: "" });
    expect(lonely.config.cluster).toBeUndefined();
    expect(lonely.warnings.join()).toContain("tonearm.cluster.servers is empty");
  });

  test("servers alone make a cluster, with the host as the name of the machine", () => {
    const { cluster } = load(["servers: nats-1"], { hostName: "box of ada" }).config;
    expect(cluster).toEqual({
      servers: ["nats://nats-1:4222"],
      name: "tonearm",
      machine: "box-of-ada",
      roles: ["gateway", "audio"],
      regions: [],
      login: { kind: "none" },
      tls: undefined,
      key: expect.anything(),
    });
    expect([cluster?.key.reveal(), `${cluster?.key}`]).toEqual(["a long random text", "<redacted>"]);
  });

  test("servers are completed, and named twice they count once", () => {
    const servers = "nats://A.example:4223, tls://b, 10.0.0.5:4222, nats://10.0.0.5, [2001:db8::7], nats://c/";
    expect(load([`servers: "${servers}"`]).config.cluster?.servers).toEqual([
      "nats://a.example:4223",
      "tls://b:4222",
      "nats://10.0.0.5:4222",
      "nats://[2001:db8::7]:4222",
      "nats://c:4222",
    ]);
  });

  test("environment variables set the cluster up", () => {
    const env = {
      TONEARM_CLUSTER_SERVERS: "nats://a:4222,nats://b:4222",
      TONEARM_CLUSTER_MACHINE: "node-2",
      TONEARM_CLUSTER_REGION: "eu-west",
      TONEARM_CLUSTER_TLS_CA: "ca.pem",
      TONEARM_STATE_KEY: "x",
    };
    expect(load([], { more: "", env }).config.cluster).toMatchObject({
      servers: ["nats://a:4222", "nats://b:4222"],
      machine: "node-2",
      regions: ["eu-west"],
      tls: { caPath: "/srv/node/ca.pem" },
    });
  });

  test.each([
    ["region: rotterdam", ["rotterdam"]],
    ["region: rotterdam, Frankfurt,rotterdam", ["rotterdam", "frankfurt"]],
    ["region: [us-east, Fra]", ["us-east", "fra"]],
    [
      `region: [${Array.from({ length: 16 }, (_, index) => `r${index}`).join()}]`,
      expect.objectContaining({ length: 16 }),
    ],
    ['region: ""', []],
  ])("%s names the voice regions near a machine", (line, regions) => {
    expect(clusterOf(line)?.regions).toEqual(regions);
  });

  test.each([
    ["roles: audio", ["audio"]],
    ["roles: [Gateway]", ["gateway"]],
    ["roles: audio, gateway, audio", ["gateway", "audio"]],
  ])("%s says what a machine is for", (line, roles) => {
    expect(clusterOf(line)?.roles).toEqual(roles);
    const { config, warnings } = load([line], { more: "" });
    expect([config.cluster, warnings.length]).toEqual([undefined, roles.length === 1 ? 1 : 0]);
  });

  test.each([
    ["password", ["user: ada", "password: hush"], { kind: "password", user: "ada" }],
    ["token", ["token: hush"], { kind: "token" }],
    ["nkey", [`nkey: ${SEED}`], { kind: "nkey" }],
    ["credentials", ["credentials: me.creds"], { kind: "credentials", path: "/srv/node/me.creds" }],
  ])("a login by %s is read, and its secret does not print", (_kind, lines, login) => {
    const cluster = clusterOf(...lines);
    expect(cluster?.login).toMatchObject(login);
    expect(JSON.stringify(cluster)).not.toMatch(/hush|SUAA/);
  });

  test("certificate and key of this machine are found from the folder that the node was started in", () => {
    expect(clusterOf("tls: { certificate: my.pem, key: /etc/my.key }")?.tls).toEqual({
      certificatePath: "/srv/node/my.pem",
      keyPath: "/etc/my.key",
    });
  });

  test.each([
    ["nats://ada:hush@a:4222"],
    ["hush@a:4222"],
    ["tls://hush@a"],
    ["nats://ada:hu,sh@a"],
    ["nats://ada:hush/@a"],
  ])("a login in the address %s stops the start and is not repeated", (address) => {
    expect(() => load([`servers: "${address}"`])).toThrow(
      expect.objectContaining({
        code: "config-invalid",
        message: expect.stringMatching(
          /^(?!.*(?:hu|ada))[\s\S]*tonearm\.cluster\.servers: .*before an @.*move it to tonearm\.cluster\.user/s,
        ),
      }),
    );
  });

  test.each(["http://a:4222", "a b", "a:0", "a:65536", "nats://a:4222/path", "nats://", `${"a".repeat(254)}`])(
    "the server %s stops the start and is named by its place",
    (address) => {
      expect(() => load([`servers: [nats://good, "${address}"]`])).toThrow("tonearm.cluster.servers: server 2 is no");
    },
  );

  test("64 servers are accepted, 65 are not", () => {
    const servers = (count: number) => [
      `servers: [${Array.from({ length: count }, (_, index) => `n${index}`).join()}]`,
    ];
    expect(load(servers(64)).config.cluster?.servers).toHaveLength(64);
    expect(() => load(servers(65))).toThrow("tonearm.cluster.servers: expected at most 64 servers");
  });

  test("a cluster needs a key, and state that is stored", () => {
    const servers = ["servers: a"];
    expect(() => load(servers, { more: "" })).toThrow("tonearm.state.key: is not set, and a cluster needs it");
    expect(() => load(servers, { more: `${STATE}\ntonearm.state.enabled: false` })).toThrow(
      "tonearm.state.enabled: a cluster stores sessions: set it to true, or remove tonearm.cluster.servers",
    );
  });

  test.each([
    [["token: hush", "credentials: a.creds"], "one login is enough, and these are set: tonearm.cluster.token"],
    [["user: ada", "password: hush", "token: hush"], "tonearm.cluster.token: one login is enough"],
    [["user: ada"], "tonearm.cluster.user: expected tonearm.cluster.password as well"],
    [["password: hush"], "tonearm.cluster.password: expected tonearm.cluster.user as well"],
    [[`token: ${"x".repeat(1025)}`], "tonearm.cluster.token: expected at most 1024 characters"],
    [["nkey: UABC"], "tonearm.cluster.nkey: expected the seed of a user"],
    [["credentials: |", "  -----BEGIN NATS USER JWT-----"], "tonearm.cluster.credentials: expected the name of a file"],
    [[`tls.ca: ${"x".repeat(4097)}`], "tonearm.cluster.tls.ca: expected the name of a file"],
    [["tls.certificate: a.pem"], "tonearm.cluster.tls.certificate: expected tonearm.cluster.tls.key as well"],
    [["tls.key: a.pem"], "tonearm.cluster.tls.key: expected tonearm.cluster.tls.certificate as well"],
    [["machine: two words"], "tonearm.cluster.machine: expected 1 to 64 letters"],
    [[`region: ${"x".repeat(65)}`], "tonearm.cluster.region: expected 1 to 64 letters"],
    [["region: [rotterdam, us east]"], "tonearm.cluster.region: expected 1 to 64 letters"],
    [[`region: [${"r,".repeat(17)}]`], "tonearm.cluster.region: expected at most 16 regions"],
    [["roles: [audio, voice]"], 'expected one of gateway, audio, found "voice"'],
    [['roles: ""'], "tonearm.cluster.roles: expected at least one of gateway, audio"],
  ])("%j stops the start", (lines, message) => {
    expect(() => clusterOf(...lines)).toThrow(message);
    expect(() => clusterOf(...lines)).not.toThrow("hush");
  });

  test.each(["Big", "a.b", "x".repeat(33), ""])("the name %j of a cluster stops the start", (name) => {
    const load = () =>
      loadConfig({ args: ["--tonearm.cluster.servers=a", `--tonearm.cluster.name=${name}`], env: {}, cwd: "/x" });
    expect(load).toThrow("tonearm.cluster.name: expected 1 to 32 of a-z, 0-9 and -");
  });

  test("a placeholder without a value does not matter without servers", () => {
    const token = ["token: $", "{NATS_TOKEN}"].join("");
    expect(load([token]).config.cluster).toBeUndefined();
    expect(() => clusterOf(token)).toThrow("NATS_TOKEN");
  });
});
