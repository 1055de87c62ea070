import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type LoadConfigOptions, loadConfig } from "../../../src/config/load-config.ts";
import { toWorkerSettings } from "../../../src/control/workers/to-worker-settings.ts";
import { NodeError } from "../../../src/errors.ts";

type Given = Partial<LoadConfigOptions> & { files?: Record<string, string> };

function load(given: Given) {
  const { files = {}, ...options } = given;
  return loadConfig({
    args: [],
    env: {},
    cwd: "/app",
    readFile: (path) => files[path.replace("/app/", "")],
    realPath: (path) => (path.includes("missing") ? undefined : path),
    random: { bytes: (length) => new Uint8Array(length).fill(7), uint32: () => 0, unit: () => 0 },
    coreCount: 4,
    ...options,
  });
}

function mistakes(given: Given): string[] {
  try {
    load(given);
  } catch (error) {
    if (error instanceof NodeError && error.code === "config-invalid") return error.message.split("\n  ").slice(1);
    throw error;
  }
  return [];
}

describe("without any configuration", () => {
  test("without configuration the node listens on loopback with a generated password", () => {
    const { config, fileName } = load({});
    expect(config.server).toMatchObject({ address: "127.0.0.1", port: 2333, isPasswordGenerated: true });
    expect(config.server.password.reveal()).toHaveLength(24);
    expect(fileName).toBeUndefined();
  });

  test("without configuration the node does not start where a password is required", () => {
    const required = { TONEARM_REQUIRE_PASSWORD: "true" };
    expect(mistakes({ env: required })).toEqual([
      "lavalink.server.password: is not set, and tonearm.requirePassword requires it (variable " +
        "LAVALINK_SERVER_PASSWORD)",
    ]);
    const { config } = load({ env: { ...required, LAVALINK_SERVER_PASSWORD: "our own" } });
    expect(config.server.isPasswordGenerated).toBe(false);
  });

  test("workers leave one core to the main thread, and there is at least one", () => {
    expect(load({ coreCount: 8 }).config.workers.count).toBe(8);
    expect(load({ coreCount: 1 }).config.workers.count).toBe(1);
  });

  test("the local source may read the working directory", () => {
    expect(load({}).config.local.roots).toEqual(["/app"]);
  });
});

describe("which file is read", () => {
  test("tonearm.yml has priority over application.yml, with a note", () => {
    const loaded = load({ files: { "tonearm.yml": "server.port: 1", "application.yml": "server.port: 2" } });
    expect(loaded.config.server.port).toBe(1);
    expect(loaded.warnings).toEqual(["application.yml is not read, because tonearm.yml exists"]);
  });

  test.each([
    ["--config FILE", { args: ["--config", "other.yml"] }],
    ["--config=FILE", { args: ["--config=other.yml"] }],
    ["Spring's argument", { args: ["--spring.config.location=file:./other.yml"] }],
    ["Spring's variable", { env: { SPRING_CONFIG_LOCATION: "optional:file:/app/other.yml" } }],
  ])("%s names another one", (_, given) => {
    const files = { "application.yml": "server.port: 2", "other.yml": "server.port: 3" };
    expect(load({ ...given, files }).config.server.port).toBe(3);
  });

  test("a missing file that was requested stops the start", () => {
    expect(() => load({ args: ["--config", "nowhere.yml"] })).toThrow("there is no configuration file nowhere.yml");
  });
});

describe("precedence", () => {
  const files = { "application.yml": "server: { port: 1, address: 192.0.2.1 }" };

  test("the environment overrides the file", () => {
    expect(load({ files, env: { SERVER_PORT: "2" } }).config.server).toMatchObject({ port: 2, address: "192.0.2.1" });
  });

  test("the command line overrides both", () => {
    expect(load({ files, env: { SERVER_PORT: "2" }, args: ["--server.port=3"] }).config.server.port).toBe(3);
  });

  test("a list is replaced whole, a map name by name", () => {
    const text = "tonearm.network.allow: [10.0.0.0/8, 192.168.0.0/16]\nlavalink.server.filters: { karaoke: false }";
    const env = { TONEARM_NETWORK_ALLOW_0: "172.16.0.0/12", LAVALINK_SERVER_FILTERS_VIBRATO: "false" };
    const { config } = load({ files: { "application.yml": text }, env });
    expect(config.network.allow).toEqual(["172.16.0.0/12"]);
    expect(config.disabledFilters).toEqual(["karaoke", "vibrato"]);
  });

  test("an empty variable counts as not set", () => {
    expect(load({ files, env: { SERVER_PORT: "" } }).config.server.port).toBe(1);
  });
});

describe("relaxed names", () => {
  test.each([
    "LAVALINK_SERVER_PLAYERUPDATEINTERVAL",
    "LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL",
    "lavalink_server_playerUpdateInterval",
    "lavalink.server.player-update-interval",
  ])("variable %s sets playerUpdateInterval", (name) => {
    expect(load({ env: { [name]: "7" } }).config.players.updateIntervalMs).toBe(7000);
  });

  test.each(["playerUpdateInterval", "player-update-interval", "player_update_interval", "PLAYERUPDATEINTERVAL"])(
    "key %s in the file is playerUpdateInterval",
    (name) => {
      const text = `lavalink:\n  server:\n    ${name}: 7\n`;
      expect(load({ files: { "application.yml": text } }).config.players.updateIntervalMs).toBe(7000);
    },
  );

  test.each([
    [{ LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: "10.0.0.0/8, 172.16.0.0/16" }],
    [{ LAVALINK_SERVER_RATELIMIT_IP_BLOCKS_0: "10.0.0.0/8", LAVALINK_SERVER_RATELIMIT_IPBLOCKS_1: "172.16.0.0/16" }],
    [{ LAVALINK_SERVER_RATELIMIT_IPBLOCKS_1: "172.16.0.0/16", LAVALINK_SERVER_RATELIMIT_IPBLOCKS_0: "10.0.0.0/8" }],
  ])("a list by commas or by index: %j", (env) => {
    expect(load({ env }).config.routePlanner.ipBlocks).toEqual(["10.0.0.0/8", "172.16.0.0/16"]);
  });

  test.each(["LAVALINK_SERVER_FILTERS_CHANNEL_MIX", "LAVALINK_SERVER_FILTERS_CHANNELMIX"])(
    "%s=false switches channelMix off without a key in the file",
    (name) => {
      expect(load({ env: { [name]: "false" } }).config.disabledFilters).toEqual(["channelMix"]);
    },
  );

  test("the misspelt names of Lavalink's documentation work, with a warning that has the right one", () => {
    const loaded = load({
      env: {
        LAVALINK_SERVER_RATELIMIT_EXCLUDE_IPS: "192.0.2.1",
        LAVALINK_SERVER_RATELIMIT_SEARCH_TRIGGERS_FAIK: "false",
      },
    });
    expect(loaded.config.routePlanner).toMatchObject({ excludedIps: ["192.0.2.1"], isTriggeredBySearch: false });
    expect(loaded.warnings.join("\n")).toContain("LAVALINK_SERVER_RATELIMIT_EXCLUDED_IPS");
    expect(loaded.warnings.join("\n")).toContain("LAVALINK_SERVER_RATELIMIT_SEARCH_TRIGGERS_FAIL");
  });

  test("LAVALINK_PLUGINS_DIR is a separate key", () => {
    expect(load({ env: { LAVALINK_PLUGINS_DIR: "x" } }).warnings).toEqual([]);
  });

  test("folders in one text are separated by a colon", () => {
    expect(load({ env: { TONEARM_LOCAL_ROOTS: "/music:/more" } }).config.local.roots).toEqual(["/music", "/more"]);
  });

  test("variables that Kubernetes sets for a service of our name are ignored", () => {
    const env = {
      TONEARM_PORT: "tcp://10.0.0.1:2333",
      TONEARM_SERVICE_HOST: "10.0.0.1",
      TONEARM_PORT_2333_TCP_ADDR: "10.0.0.1",
      SERVER_PORT: "tcp://10.0.0.2:80",
    };
    const loaded = load({ env });
    expect(loaded.config.server.port).toBe(2333);
    expect(loaded.warnings).toEqual([]);
  });
});

describe("a wrong value", () => {
  test("wrong values stop the start with file, line, column, key and the expected value; all of them at once", () => {
    const text = [
      "server:",
      "  port: 65536",
      "lavalink:",
      "  server:",
      "    sources: 5",
      "    ratelimit:",
      "      ipBlocks: [10.0.0.0/33]",
      "      strategy: Fastest",
      "tonearm:",
      "  opus:",
      "    bitrateKbps: loud",
    ].join("\n");
    expect(mistakes({ files: { "application.yml": text }, env: { TONEARM_WORKERS_COUNT: "-1" } })).toEqual([
      'application.yml:2:9: server.port: expected a whole number from 0 to 65535, found "65536"',
      "application.yml:5:14: lavalink.server.sources: expected further keys below it, not a value",
      expect.stringMatching(/^application.yml:7:18: lavalink.server.ratelimit.ipBlocks: expected an address block/),
      expect.stringMatching(/^application.yml:8:17: .*RotateOnBan, LoadBalance.* found "Fastest"$/),
      'application.yml:11:18: tonearm.opus.bitrateKbps: expected a whole number from 16 to 510, found "loud"',
      expect.stringMatching(/^environment variable TONEARM_WORKERS_COUNT: tonearm.workers.count: expected/),
    ]);
  });

  test("broken YAML is named by line", () => {
    expect(mistakes({ files: { "application.yml": "server:\n  port: 1\n bad" } })[0]).toMatch(/^application.yml:3:/);
    expect(mistakes({ files: { "application.yml": "a: 1\na: 2" } })[0]).toMatch(/^application.yml:2:1: .*unique/);
    expect(mistakes({ files: { "application.yml": "just words" } })[0]).toContain("expected keys and values");
  });

  test("a wrong value on the command line is reported with its argument", () => {
    expect(mistakes({ args: ["--server.port=x"] })[0]).toMatch(/^--server.port: server.port: expected a whole number/);
    const expected = "expected a key and its value as one word, such as --server.port=2333";
    expect(mistakes({ args: ["--port"] })).toEqual([`--port: ${expected}`]);
  });

  test.each([
    ["lavalink.server.opusEncodingQuality: 11", "opus.complexity", 10],
    ["lavalink.server.trackStuckThresholdMs: 99", "players.trackStuckThresholdMs", 10_000],
  ])("a value for which Lavalink uses a default does so here too, with a warning: %s", (text, path, value) => {
    const { config, warnings } = load({ files: { "application.yml": text } });
    expect(config).toHaveProperty(path, value);
    expect(warnings[0]).toContain(`using ${value}`);
  });

  test("both sides of a range's edge", () => {
    const stuck = (value: number) =>
      load({ env: { LAVALINK_SERVER_TRACKSTUCKTHRESHOLDMS: `${value}` } }).config.players.trackStuckThresholdMs;
    expect([stuck(99), stuck(100)]).toEqual([10_000, 100]);
    expect(mistakes({ env: { SERVER_PORT: "65535" } })).toEqual([]);
    expect(mistakes({ env: { SERVER_PORT: "65536" } })).toHaveLength(1);
  });
});

describe("an unknown key", () => {
  test("an unknown key under tonearm is an error with a suggestion", () => {
    expect(mistakes({ files: { "tonearm.yml": "tonearm:\n  netwrk:\n    allow: 10.0.0.0/8" } })).toEqual([
      "tonearm.yml:3:12: tonearm.netwrk.allow: there is no such key; did you mean tonearm.network.allow?",
    ]);
    expect(mistakes({ env: { TONEARM_NETWORK_ALOW: "10.0.0.0/8" } })).toEqual([
      "environment variable TONEARM_NETWORK_ALOW: sets no key; did you mean TONEARM_NETWORK_ALLOW?",
    ]);
  });

  test("an unknown key of Lavalink is a warning with a suggestion, even at the wrong location", () => {
    const text = "lavalink:\n  password: x\n  server:\n    playerUpdateIntervall: 5";
    expect(load({ files: { "application.yml": text } }).warnings).toEqual([
      "application.yml:2:13: lavalink.password is not a known key; did you mean lavalink.server.password?",
      "application.yml:4:28: lavalink.server.playerUpdateIntervall is not a known key; did you mean " +
        "lavalink.server.playerUpdateInterval?",
    ]);
  });

  test("known keys without effect are named in one note, when they change anything", () => {
    const text = "lavalink.server: { bufferDurationMs: 400, useSeekGhosting: false, resamplingQuality: medium }";
    expect(load({ files: { "application.yml": text } }).notes).toEqual([
      "no effect in Tonearm (docs/reference/configuration.md says why): lavalink.server.resamplingQuality, " +
        "lavalink.server.useSeekGhosting",
    ]);
  });
});

describe("YAML", () => {
  const port = (text: string, env = {}) => load({ files: { "application.yml": text }, env }).config.server.port;

  test.each([
    ["nested", "server:\n  port: 7"],
    ["dotted", "server.port: 7"],
    ["quoted", 'server: { "port": "7" }'],
    ["anchored", "x: &s { port: 7 }\nserver: *s"],
    ["merged", "x: &s { port: 7 }\nserver: { <<: *s }"],
    ["overridden after a merge", "x: &s { port: 1 }\nserver: { <<: *s, port: 7 }"],
    ["in a later document", "server.port: 1\n---\nserver.port: 7"],
  ])("%s", (_, text) => {
    expect(port(text)).toBe(7);
  });

  test("a key without a value counts as not set", () => {
    expect(port("server:\n  port:\nlavalink:\n")).toBe(2333);
  });

  test("a password of digits stays as it is written", () => {
    const { config } = load({ files: { "application.yml": "lavalink.server.password: 0123" } });
    expect(config.server.password.reveal()).toBe("0123");
  });

  test("placeholders resolve environment variables, defaults, and nested defaults", () => {
    expect(port(`server.port: \${P:7}`)).toBe(7);
    expect(port(`server.port: \${P:7}`, { P: "8" })).toBe(8);
    expect(port(`server.port: \${P:\${Q:7}}`, { Q: "9" })).toBe(9);
    expect(port(`server.port: 1\${P}2`, { P: "3" })).toBe(132);
  });

  test("a placeholder without value or default is a mistake; a backslash keeps it", () => {
    const missing = mistakes({ files: { "application.yml": `server.address: \${HERE}` } });
    expect(missing[0]).toContain("the environment variable HERE is not set");
    const { config } = load({ files: { "application.yml": `lavalink.server.password: 'a\\\${b}'` } });
    expect(config.server.password.reveal()).toBe(`a\${b}`);
  });

  test("anchors that grow exponentially are refused", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level++) {
      const alias = `*a${level - 1}`;
      lines.push(`a${level}: &a${level} [${Array(10).fill(alias).join(", ")}]`);
    }
    expect(mistakes({ files: { "application.yml": lines.join("\n") } })[0]).toContain("too deep or too much");
  });
});

describe("a file that no configuration needs is refused with the line", () => {
  const levels = (count: number, line: (level: number) => string): string =>
    Array.from({ length: count }, (_, level) => line(level)).join("\n");
  const long = "x".repeat(1000);

  test.each([
    ["a map merged into itself", "server:\n  port: 1\nx: &x { <<: *x }", "3:13", "would have no end"],
    ["a map merged into itself in a list", "x: &x { <<: [{ a: 1 }, *x] }", "1:24", "would have no end"],
    ["a list within itself", "x: &x\n  - *x\n  - *x", "2:5", "would have no end"],
    ["a value within itself, further down", "x: &x { a: { b: [1, *x] } }", "1:21", "would have no end"],
    [
      "aliases of aliases that hold nothing",
      levels(30, (n) => `a${n}: &a${n} [*a${n - 1}, *a${n - 1}]`).replaceAll("*a-1", "~"),
      /\d+:\d+/,
      "too deep or too much",
    ],
    [
      "merges of merges that hold nothing",
      levels(30, (n) => `a${n}: &a${n} { <<: [*a${n - 1}, *a${n - 1}] }`).replaceAll("*a-1", "{}"),
      /\d+:\d+/,
      "too deep or too much",
    ],
    ["lists in lists", `a: 1\nb: ${"[".repeat(500_000)}`, "2:67", "nested too deeply"],
    ["maps in maps", `a: 1\n${levels(200, (n) => `${" ".repeat(n)}k:`)}`, /\d+:\d+/, "nested too deeply"],
    ["lists on one line", "- ".repeat(400_000), "1:128", "nested too deeply"],
    ["questions", "? ".repeat(400_000), "1:128", "nested too deeply"],
    ["keys without end", levels(100_000, (n) => `k${n}:`), "7501:1", "too many keys, values and lines"],
    ["documents without end", "---\n".repeat(200_000), "15001:1", "too many keys, values and lines"],
    ["lines without end", "\n".repeat(1_000_000), /\d+:\d+/, "too many keys, values and lines"],
    ["more bytes", `${long}\n`.repeat(5000), "1048:530", "is longer than 1048576 bytes"],
    ["a name that is a text", `a: 1\n${long}: 1`, "2:1", "at most 200 characters"],
    ["an alias of nothing", "a: 1\nlavalink.server.password: *secret", "2:27", "text that begins with * needs quotes"],
  ])("%s", (_, text, location, message) => {
    const [first = ""] = mistakes({ files: { "application.yml": text } });
    expect(first).toMatch(location instanceof RegExp ? location : `application.yml:${location}: `);
    expect(first).toContain(message);
  });

  test("many unknown names are all reported, without comparing each with every key", () => {
    const text = levels(1900, (n) => `tonearm.network.alow${n}: 1`);
    const found = mistakes({ files: { "application.yml": text } });
    expect(found[0]).toContain("did you mean tonearm.network.allow?");
    expect(found).toHaveLength(21);
    expect(found.at(-1)).toContain("and 1880 more");
  });

  test.runIf(process.platform !== "win32")("a file without end is read no further than needed", () => {
    expect(() => loadConfig({ args: ["--config", "/dev/zero"], env: {}, cwd: "/" })).toThrow("1048576 bytes");
  });
});

describe("secrets", () => {
  const SECRET = "hunter2hunter2";
  const text =
    `lavalink.server: { password: ${SECRET}, httpConfig: { proxyHost: proxy.test, proxyUser: me, proxyPassword: ` +
    `${SECRET} } }`;

  test("secrets print as <redacted> in text, JSON and inspect", () => {
    const { config } = load({ files: { "application.yml": text } });
    for (const print of [JSON.stringify(config), inspect(config, { depth: 9 }), `${config.server.password}`]) {
      expect(print).not.toContain(SECRET);
      expect(print).toContain("<redacted>");
    }
  });

  test("secrets never appear in mistakes and warnings", () => {
    const wrong = `${text}\ntonearm.nothing: 1\nlavalink.server.pasword: ${SECRET}\nsentry.dsn: ${SECRET}`;
    expect(mistakes({ files: { "application.yml": wrong } }).join()).not.toContain(SECRET);
    const { warnings } = load({ files: { "application.yml": `lavalink.pasword: ${SECRET}\nsentry.dsn: ${SECRET}` } });
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).not.toContain(SECRET);
  });

  test.each([
    `"${SECRET} \\h"`,
    `"x" ${SECRET}`,
    `|${SECRET}`,
    `!${SECRET}`,
    `!${SECRET}!x y`,
    `*${SECRET}`,
    `&${SECRET}`,
    `@${SECRET}`,
    `%${SECRET}`,
    `]${SECRET}`,
    `}: ${SECRET}`,
    `\n%${SECRET} 1\n---\na: 1`,
    `"${SECRET}\\x${SECRET}"`,
    `a: ${SECRET}: b`,
  ])("do not show when their quotes were forgotten: %s", (value) => {
    const files = { "application.yml": `lavalink.server.password: ${value}\ntonearm.nothing: 1` };
    expect(mistakes({ files }).join()).not.toContain(SECRET.slice(0, 4));
  });

  test("the proxy's URL contains escaped credentials for the worker", () => {
    const { config } = load({ files: { "application.yml": text.replaceAll(SECRET, '"p@ss:w/d"') } });
    expect(toWorkerSettings(config).http.proxyUrl).toBe("http://me:p%40ss%3Aw%2Fd@proxy.test:3128");
  });
});

describe("a node that others can reach", () => {
  const withPassword = (address: string, password = "youshallnotpass") =>
    load({ env: { SERVER_ADDRESS: address, LAVALINK_SERVER_PASSWORD: password } }).warnings;

  test.each(["0.0.0.0", "::", "192.0.2.1", "example.test"])(
    "the well-known password on %s causes a warning",
    (address) => {
      expect(withPassword(address).join()).toContain("WHICH EVERYBODY KNOWS");
    },
  );

  test.each(["127.0.0.1", "127.1.2.3", "::1", "localhost"])(
    "the well-known password on %s causes no warning",
    (address) => {
      expect(withPassword(address)).toEqual([]);
    },
  );

  test("a password other than the well-known one causes no warning on any address", () => {
    expect(withPassword("0.0.0.0", "something else")).toEqual([]);
  });
});

test("the configuration is frozen to its leaves", () => {
  const { config } = load({ env: { TONEARM_NETWORK_ALLOW: "10.0.0.0/8" } });
  expect(Object.isFrozen(config) && Object.isFrozen(config.network) && Object.isFrozen(config.network.allow)).toBe(
    true,
  );
  expect(Object.isFrozen(config.logging.requests)).toBe(true);
});

test("a worker gets no folders while the local source is off", () => {
  expect(toWorkerSettings(load({}).config).localRoots).toEqual([]);
  const env = { LAVALINK_SERVER_SOURCES_LOCAL: "true", TONEARM_LOCAL_ROOTS: "/music:/missing" };
  const loaded = load({ env });
  expect(toWorkerSettings(loaded.config).localRoots).toEqual(["/music"]);
  expect(loaded.warnings).toEqual(["tonearm.local.roots: there is no folder /missing; leaving it out"]);
});

test("roots: [] in the file means no folder at all", () => {
  expect(load({ files: { "tonearm.yml": "tonearm.local.roots: []" } }).config.local.roots).toEqual([]);
});

test("a log level for lavalink has priority over the one for root", () => {
  const level = (text: string) => load({ files: { "application.yml": text } }).config.logging.level;
  expect(level("logging.level: { root: WARN }")).toBe("warn");
  expect(level("logging.level: { root: WARN, lavalink: debug }")).toBe("debug");
  expect(level("logging.level: { root: ERROR, lavalink.server.io: TRACE }")).toBe("error");
});

test.each([
  ["", "/metrics", true],
  ["/metrics", "/metrics", false],
  ["inner/metrics", "/inner/metrics", false],
  ["/v4metrics", "/v4metrics", false],
])("metrics with the endpoint %j are at %s", (endpoint, path, isPasswordNeeded) => {
  const { config } = load({ env: { METRICS_PROMETHEUS_ENDPOINT: endpoint } });
  expect(config.metrics).toEqual({ isEnabled: false, endpoint: path, isPasswordNeeded });
});

test.each(["/v4/info", "/version", "/:x", "/*", "/a//b", "/a?b", "/decodetracks"])(
  "metrics cannot take the path %s",
  (endpoint) => {
    expect(mistakes({ env: { METRICS_PROMETHEUS_ENDPOINT: endpoint } })).toEqual([
      expect.stringContaining("metrics.prometheus.endpoint: expected a path such as /metrics"),
    ]);
  },
);
