// Files that people bring from Lavalink, NodeLink and elsewhere: what starts, and what is said of what has no effect.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type LoadedConfig, loadConfig } from "../../../src/config/load-config.ts";

function load(text: string, env: Record<string, string> = {}, name = "application.yml"): LoadedConfig {
  return loadConfig({
    args: ["--config", name],
    env,
    cwd: "/app",
    readFile: (path) => (path === `/app/${name}` ? text : undefined),
    realPath: (path) => path,
    random: { bytes: (length) => new Uint8Array(length).fill(7), uint32: () => 0, unit: () => 0 },
    coreCount: 4,
  });
}

function refusal(text: string, name?: string): string {
  try {
    load(text, {}, name);
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  return "";
}

function fixture(name: string): string {
  return readFileSync(new URL(`../../fixtures/config/${name}`, import.meta.url), "utf8");
}

test("keys of Lavalink 3 are known by name: what replaces them is said, nothing is suggested", () => {
  const { warnings, notes } = load(fixture("odd-suggestions.yml"));
  const said = [...warnings, ...notes].join("\n");
  expect(said).not.toMatch(/did you mean|not a known key/);
  expect(warnings).toContain(
    "lavalink.server.ws has no effect: server.port and server.address are used for REST and WebSocket",
  );
  for (const name of ["mixer", "odysee", "getyarn", "reddit"])
    expect(said).toContain(`lavalink.server.sources.${name}`);
  for (const path of ["lavalink.server.sentryDsn", "lavalink.server.koe", "logging.file", "logging.path"])
    expect(notes.join()).toContain(path);
});

test.each([
  "logging.file: ./logs/lavalink.log",
  "logging.logback.rollingpolicy.total-size-cap: 1GB",
  "sentry.traces-sample-rate: 1",
  "server.tomcat.threads.max: 4",
  "management.endpoints.web.exposure.include: health",
])("a key of the Java framework is noted as one without effect: %s", (text) => {
  const { warnings, notes } = load(text);
  expect(warnings).toEqual([]);
  expect(notes.join()).toMatch(/^no effect in Tonearm/);
});

test("an option of lavasrc at the root is told where it belongs", () => {
  expect(load("lavasrc.spotify.clientId: x").warnings.join()).toContain("belong below plugins: plugins.lavasrc");
});

test("a switch where a plugin's options would be wrong, too, is told where options belong", () => {
  expect(load("lavalink.server.subsonic: true").warnings.join()).toContain("belong below plugins: plugins.subsonic");
});

test("a key that resembles none has no suggestion", () => {
  const text = "lavalink.server: { sources: { kick: true }, wss: 1, speed: 2 }\nfoo.password.bar: 1";
  const { warnings } = load(text);
  expect(warnings).toHaveLength(4);
  expect(warnings.join()).not.toContain("did you mean");
});

test("of many unknown keys twenty are named", () => {
  const text = Array.from({ length: 300 }, (_, index) => `lavalink.server.key${index}x: 1`).join("\n");
  const { warnings } = load(text);
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toBe("280 more names are not known keys");
});

test("a filter that is misspelt is asked about", () => {
  expect(load("lavalink.server.filters: { karoke: false, pluginFilter: false }").warnings).toEqual([
    'application.yml:1:36: lavalink.server.filters: did you mean karaoke by "karoke"?',
  ]);
});

test.each([
  ["LAVALINK_SERVER_PASWORD", "did you mean LAVALINK_SERVER_PASSWORD?"],
  ["LAVALNK_SERVER_PASSWORD", "did you mean LAVALINK_SERVER_PASSWORD?"],
  ["TONARM_WORKERS_COUNT", "did you mean TONEARM_WORKERS_COUNT?"],
  ["SERVER_PROT", "did you mean SERVER_PORT?"],
  ["SERVER_ADRESS", "did you mean SERVER_ADDRESS?"],
  ["METRICS_PROMETHEUS_ENABELD", "did you mean METRICS_PROMETHEUS_ENABLED?"],
  ["LAVALINK_SERVER_RATELIMIT_IP_BLOKS_0", "did you mean LAVALINK_SERVER_RATELIMIT_IP_BLOCKS?"],
  ["PLUGINS_YOUTUB_ENABLED", "did you mean plugins.youtube?"],
  ["LAVALINK_SOMETHING_ELSE", "sets no key"],
  ["LAVALINK_SERVER_SOURCES_QOBUZ", "sets no key: Tonearm has no such source"],
  ["LAVALINK_SERVER_SOURCES_SPOTIFY", "sets no key; plugins.spotify.enabled turns this source on and off"],
  ["LAVALINK_SERVER_PORT", "did you mean SERVER_PORT?"],
  ["LAVALINK_PORT", "did you mean SERVER_PORT?"],
  ["TONEARM_PORT", "did you mean SERVER_PORT?"],
  ["TONEARM_SERVER_PORT", "did you mean SERVER_PORT?"],
  ["LAVALINK_PASSWORD", "did you mean LAVALINK_SERVER_PASSWORD?"],
  ["LAVALINK_SERVER_HOST", "did you mean SERVER_ADDRESS?"],
  ["LAVALINK_SERVER_ADDRESS", "did you mean SERVER_ADDRESS?"],
])("the variable %s causes a warning: %s", (name, warning) => {
  const { warnings } = load("", { [name]: "1" });
  expect(warnings).toEqual([expect.stringContaining(warning)]);
  expect(warnings[0]).toMatch(/LAVAL|TONARM|TONEARM|SERVER|METRICS|youtub/);
});

test("Kubernetes' variables for services named lavalink and tonearm cause no warning", () => {
  const env = Object.fromEntries(
    ["TONEARM", "LAVALINK", "LAVALINK_SERVER"].flatMap((name) => [
      [`${name}_SERVICE_HOST`, "10.0.0.2"],
      [`${name}_SERVICE_PORT`, "2333"],
      [`${name}_SERVICE_PORT_HTTP`, "2333"],
      [`${name}_PORT`, "tcp://10.0.0.2:2333"],
      [`${name}_PORT_2333_TCP`, "tcp://10.0.0.2:2333"],
      [`${name}_PORT_2333_TCP_PROTO`, "tcp"],
      [`${name}_PORT_2333_TCP_PORT`, "2333"],
      [`${name}_PORT_2333_TCP_ADDR`, "10.0.0.2"],
    ]),
  );
  const { warnings, notes } = load("", env);
  expect({ warnings, notes }).toEqual({ warnings: [], notes: [] });
});

test("variables that panels and other programs set cause no warning", () => {
  const env = {
    SERVER_MEMORY: "1024",
    SERVER_IP: "0.0.0.0",
    SERVER_NAME: "bot",
    SERVER_SOFTWARE: "nginx",
    SERVER_JARFILE: "Lavalink.jar",
    SERVER_HOST: "x",
    SENTRY_AUTH: "",
    TONE: "1",
    PLUGIN_DIR: "1",
  };
  const { warnings, notes } = load("", env);
  expect({ warnings, notes }).toEqual({ warnings: [], notes: [] });
});

test("a placeholder without a value does not stop the start in keys without effect", () => {
  const { warnings, notes } = load(fixture("unset-variable-in-a-key-without-effect.yml"));
  expect([...warnings, ...notes].join("\n")).toMatch(/sentry\.dsn has no effect[\s\S]*sentry\.environment/);
});

test.each([
  ["a part of a text", `sentry.dsn: https://\${KEY}@sentry.test/1`, "sentry.dsn"],
  ["a number", `lavalink.server.bufferDurationMs: \${BUFFER}`, "lavalink.server.bufferDurationMs"],
  ["a nested map", `spring: { cloud: { config: { uri: "\${URI}" } } }`, "spring"],
  ["a map of texts", `sentry.tags: { region: "\${REGION}" }`, "sentry.tags"],
  ["an item of a list", `spring.profiles: [a, "\${PROFILE}"]`, "spring"],
  ["a nested default", `sentry.environment: \${A:\${B}}`, "sentry.environment"],
  [
    "a source of a plugin that is not there",
    `plugins.lavasrc.qobuz.userOauthToken: \${ID}`,
    "plugins.lavasrc.qobuz.userOauthToken",
  ],
  [
    "a service of LavaSrc that is off",
    `plugins.lavasrc: { sources: { spotify: false }, spotify: { clientId: "\${ID}" } }`,
    "no effect in Tonearm (docs/reference/configuration.md says why): plugins.lavasrc.spotify.clientId",
  ],
  ["an option of a plugin that is off", `plugins.ytdlp: { enabled: false, path: "\${PATH_X}" }`, "plugins.ytdlp.path"],
  [
    "TLS that is off",
    `server.ssl: { enabled: false, key-store: "\${STORE}", key-store-password: "\${WORD}" }`,
    "server.ssl.key-store-password",
  ],
  [
    "metrics that are off",
    `metrics.prometheus: { enabled: false, endpoint: "\${METRICS}" }`,
    "metrics.prometheus.endpoint",
  ],
  [
    "a proxy that is not set",
    `lavalink.server.httpConfig: { proxyHost: "\${HOST:}", proxyPort: "\${PORT_X}", proxyUser: "\${USER_X}" }`,
    "lavalink.server.httpConfig.proxyUser",
  ],
  ["metrics that are not turned on", `metrics.prometheus.endpoint: \${METRICS}`, "metrics.prometheus.endpoint"],
  [
    "a proxy that is not written",
    `lavalink.server.httpConfig.proxyUser: \${USER_X}`,
    "lavalink.server.httpConfig.proxyUser",
  ],
  ["folders of files that may not be played", `tonearm.local.roots: ["\${MUSIC}"]`, "tonearm.local.roots"],
  [
    "the yt-dlp of LavaSrc, which is off",
    `plugins.lavasrc: { sources: { ytdlp: false }, ytdlp: { path: "\${YP}" } }`,
    "plugins.lavasrc.ytdlp.path",
  ],
  [
    "options of LavaSrc for a plugin that is off",
    `plugins: { speech.enabled: false, lavasrc.flowerytts.voice: "\${VOICE}" }`,
    "plugins.lavasrc.flowerytts.voice",
  ],
  ["the same, in another word", `plugins.ytdlp: { enabled: No, path: "\${PATH_X}" }`, "plugins.ytdlp.path"],
  ["a plugin named like a member of objects", `plugins.constructor.token: \${TOKEN}`, "plugins.constructor.token"],
  ["a plugin that nobody knows", `plugins.other.list: [x, "\${TOKEN}"]`, "plugins.other.list.1"],
])("a placeholder without a value is left out in %s", (_, text, name) => {
  const { warnings, notes } = load(text);
  expect([...warnings, ...notes].join("\n")).toContain(name);
});

test.each([
  "spotify.clientId",
  "applemusic.mediaAPIToken",
  "tidal.countryCode",
  "jiosaavn.proxy.url",
  "sources.spotify",
  "providers",
])("a placeholder without a value is left out of plugins.lavasrc.%s with a warning", (name) => {
  const { warnings, notes } = load(`plugins.lavasrc.${name}: \${X_Y}`);
  expect(warnings.join("\n")).toMatch(
    /plugins\.lavasrc\.[\w.]+: the environment variable X_Y is not set;.*leaving it out$/,
  );
  expect(notes).toEqual([]);
});

test.each(["tidal", "ytdlp", "subsonic", "jellyfin", "lavasrc", "dunctebot"])(
  "a switch of %s among Lavalink's sources is not told to be plugins.<name>.enabled",
  (name) => {
    expect(load(`lavalink.server.sources.${name}: true`).warnings).toEqual([
      expect.stringMatching(/is not a known key; docs\/reference\/sources\.md says what turns its sources on$/),
    ]);
  },
);

test("a placeholder without a value in the version of a Java plugin leaves its name known", () => {
  const { warnings } = load(`lavalink.plugins: [{ dependency: "a.b:some-plugin:\${VERSION}" }]`);
  expect(warnings.join()).toContain("some-plugin");
});

test("a placeholder without a value does not stop the start where a variable sets that name of a map", () => {
  const text = `lavalink.server.filters: { karaoke: "\${KARAOKE}" }`;
  const { config } = load(text, { LAVALINK_SERVER_FILTERS_KARAOKE: "false" });
  expect(config.disabledFilters).toEqual(["karaoke"]);
});

test.each([
  ["a list", `tonearm.network.allow: [10.0.0.0/8, "\${BLOCK}"]`],
  ["a part of a text", `server.address: 127.0.0.\${HOST}`],
  ["a map", `lavalink.server.filters: { karaoke: "\${KARAOKE}" }`],
  ["a built-in plugin", `plugins.youtube: { enabled: true, oauth: { refreshToken: "\${TOKEN}" } }`],
  [
    "the yt-dlp of LavaSrc, which plugins.ytdlp turns on",
    `plugins: { ytdlp.enabled: true, lavasrc: { sources: { ytdlp: false }, ytdlp: { path: "\${YP}" } } }`,
  ],
  ["TLS, which is on by default", `server.ssl.key-store: \${STORE}`],
  ["folders of files that may be played", `{ lavalink.server.sources.local: true, tonearm.local.roots: "\${MUSIC}" }`],
  ["a part of lavasrc that is built in", `plugins.lavasrc.flowerytts.voice: \${VOICE}`],
])("a placeholder without a value stops the start in %s with an effect", (_, text) => {
  expect(refusal(text)).toMatch(/the environment variable [A-Z]+ is not set; set it, or write \$\{[A-Z]+:default\}/);
});

test("a placeholder without a value does not count where a variable has the value", () => {
  const { config } = load(`lavalink.server.password: \${PASSWORD}`, { LAVALINK_SERVER_PASSWORD: "from the variable" });
  expect(config.server.password.reveal()).toBe("from the variable");
});

test("a NodeLink configuration gets one sentence that names the page", () => {
  const long = `${fixture("nodelink-config.js")}\n${"  key: { a: 'x', },\n".repeat(1000)}`;
  for (const text of [fixture("nodelink-config.js"), long]) {
    const message = refusal(text, "nodelink-config.js");
    expect(message).toContain("nodelink-config.js: this is JavaScript, as NodeLink's");
    expect(message).toContain("docs/how-to/from-nodelink.md");
    expect(message.split("\n")).toHaveLength(2);
  }
});

test.each([
  ["/* a\n b */ module.exports = {\n  server: {} }", "JavaScript"],
  ["'use strict'\nconst x = 1", "JavaScript"],
  ["import { x } from './x.js'\nexport default x", "JavaScript"],
  ["const config = {\n}", "JavaScript"],
  ...[
    "export let config = {\n}",
    "export async function config() {\n}",
    "export function config() {\n}",
    "export class Config {\n}",
    "export * from './x.js'",
    "export {\n  config\n}",
    "import {\n  x\n} from './x.js'",
    "import type { X } from './x.ts'",
    "import * as dotenv from 'dotenv'",
    "require('dotenv').config()",
    "process.env.PORT = 1",
    "const config: Config = {\n}",
    "const config: Config =\n  { server: {} }",
    "(() => {\n})()",
    "(async () => {\n})()",
    "Object.defineProperty(exports, '__esModule', { value: true })",
    "function config() {\n}",
  ].map((text) => [text, "JavaScript"]),
  ["# comment\n[server]\nport = 2333", "TOML"],
  ["server.port=2333\nserver.address=0.0.0.0", "name=value"],
  ["SERVER_PORT=2333", "name=value"],
  ["\uFEFF! comment\nlavalink.plugins[0].dependency = a:b:c", "name=value"],
  ["<!DOCTYPE html><html></html>", "HTML"],
])("a file in another language is recognised: %j", (text, language) => {
  const message = refusal(text);
  expect(message).toContain(language);
  expect(message).toMatch(/Tonearm reads YAML/);
  expect(message.split("\n")).toHaveLength(2);
});

test.each(["config.js", "config.cjs", "config.mjs", "config.ts"])("a file named %s is JavaScript", (name) => {
  expect(refusal("// nothing that only JavaScript has\n({ server: {} })", name)).toContain("this is JavaScript");
});

test.each([
  '{ "server": { "port": 7 } }',
  "process.env: 1\nserver.port: 7",
  "Object.defineProperty: x(1)\nserver.port: 7",
  "require: x(1)\nserver.port: 7",
  "export let: 1\nserver.port: 7",
  '{\n  "server": {\n    "port": 7\n  }\n}\n',
  "// x: 1\nserver.port: 7",
  "import: x\nserver.port: 7",
  "export: { default: 1 }\nserver.port: 7",
  "<<: { server: { port: 7 } }",
  "server.port: 7 # a = b",
  '"a=b": 1\nserver.port: 7',
])("JSON and YAML are read: %j", (text) => {
  expect(load(text).config.server.port).toBe(7);
});

test.each([
  ["0.0.0.0", "1234567", true],
  ["::", "pass", true],
  ["0.0.0.0", "12345678", false],
  ["127.0.0.1", "pass", false],
  ["localhost", "pass", false],
])("on %s the password %j is too short: %s", (address, password, isShort) => {
  const text = `server.address: '${address}'\nlavalink.server.password: '${password}'\ntonearm.dashboard: { password: '${password}', viewerPassword: '${password}' }`;
  const { warnings } = load(text);
  const keys = ["lavalink.server.password", "tonearm.dashboard.password", "tonearm.dashboard.viewerPassword"];
  expect(warnings).toEqual(isShort ? keys.map((key) => expect.stringContaining(`${key} has fewer than 8 char`)) : []);
  expect(warnings.join()).not.toContain(`${password} `);
});
