import { describe, expect, test } from "vitest";
import { ALL_KEYS } from "../../../src/config/keys/all-keys.ts";
import type { Key } from "../../../src/config/keys/key.ts";
import { type LoadedConfig, loadConfig } from "../../../src/config/load-config.ts";
import { KNOWN_SECRETS, leaksOf } from "../../support/known-secrets.ts";

/**
 * Keys that take any text and are shown all the same. When you add a key and it ends up here: may anybody see the
 * values that operators write there? If not, it is `isPrivate`.
 */
const SHOWN_TEXTS = [
  "lavalink.defaultPluginRepository",
  "lavalink.defaultPluginSnapshotRepository",
  "lavalink.pluginsDir",
  "logging.file.name",
  "logging.file.path",
  "logging.logback.rollingpolicy.max-file-size",
  "logging.logback.rollingpolicy.max-history",
  "sentry.environment",
  "server.address",
  "server.ssl.bundle",
  "server.ssl.ciphers",
  "server.ssl.key-alias",
  "server.ssl.key-store",
  "server.ssl.protocol",
  "server.ssl.trust-certificate",
  "server.ssl.trust-store",
  "server.ssl.trust-store-type",
  "tonearm.cluster.machine",
  "tonearm.cluster.name",
  "tonearm.cluster.region",
  "tonearm.cluster.tls.ca",
  "tonearm.cluster.tls.certificate",
  "tonearm.keys.file",
  "tonearm.local.roots",
  "tonearm.opusCache.path",
  "tonearm.pluginDataPath",
  "tonearm.routePlanner.sources",
  "tonearm.state.path",
];

function load(options: { args?: readonly string[]; env?: Record<string, string>; file?: string }): LoadedConfig {
  const { args = [], env = {}, file } = options;
  const readFile = (path: string) => (path.endsWith("application.yml") ? file : undefined);
  return loadConfig({ args, env, cwd: "/somewhere", readFile, realPath: (path) => path });
}

/** Undefined where such a text is refused. */
function tryLoad(args: readonly string[]): LoadedConfig | undefined {
  try {
    return load({ args });
  } catch {
    // The type expects a number or a name from a list.
    return undefined;
  }
}

/** A value below the key, where it has names below it. */
function argumentFor({ path, shape }: Key<unknown>, value: string): string {
  const tail = { one: "", list: "", map: ".some-name", tree: ".0.someName" }[shape];
  return `--${path}${tail}=${value}`;
}

function reported({ shown }: LoadedConfig): string {
  return JSON.stringify(shown);
}

describe("the shown configuration", () => {
  test("the shown configuration has the settings, their locations, and the defaults of all other keys", () => {
    const { shown } = load({
      file: "server:\n  port: 2444\nlavalink:\n  server:\n    password: long enough\n    filters: { karaoke: false }\n",
      env: { SERVER_PORT: "2555" },
      args: ["--tonearm.workers.count=3"],
    });
    expect(shown.settings.filter(({ location }) => location !== "default")).toEqual([
      { name: "server.port", value: "2555", location: "environment variable SERVER_PORT" },
      { name: "lavalink.server.password", value: "<redacted>", location: "application.yml:5:15" },
      { name: "tonearm.workers.count", value: "3", location: "--tonearm.workers.count" },
      { name: "lavalink.server.filters.karaoke", value: "false", location: "application.yml:6:25" },
    ]);
    expect(shown.settings).toContainEqual({ name: "tonearm.opus.bitrateKbps", value: "128", location: "default" });
    expect(shown.settings.find(({ name }) => name === "lavalink.server.bufferDurationMs")).toBeUndefined();
  });

  test.each(ALL_KEYS.map((key) => [key.path, key] as const))(
    "of %s nothing is shown that may be a secret",
    (path, key) => {
      for (const secret of KNOWN_SECRETS) {
        const loaded = tryLoad([argumentFor(key, secret)]);
        if (loaded === undefined) continue;
        const isShown = leaksOf(secret, reported(loaded)).length > 0;
        if (!SHOWN_TEXTS.includes(path)) expect(isShown, secret).toBe(false);
        const isHidden = loaded.shown.hidden.reveal().includes(secret);
        expect(isHidden || SHOWN_TEXTS.includes(path), secret).toBe(true);
      }
    },
  );

  test("the list of shown keys has no key that is hidden", () => {
    const secret = "hunter2hunter2";
    const shown = ALL_KEYS.filter((key) => {
      const loaded = tryLoad([argumentFor(key, secret)]);
      return loaded !== undefined && reported(loaded).includes(secret);
    });
    expect(shown.map(({ path }) => path).toSorted()).toEqual(SHOWN_TEXTS);
  });

  test("secrets at any depth in options of plugins are hidden, from any source of settings", () => {
    const [first = "", second = "", third = ""] = KNOWN_SECRETS;
    const loaded = load({
      file: `plugins:\n  youtube:\n    enabled: true\n    pot: { token: ${JSON.stringify(first)} }\n`,
      env: { PLUGINS_YOUTUBE_OAUTH_REFRESHTOKEN: second },
      args: [`--plugins.subsonic.servers.home.password=${third}`, "--plugins.youtube.clients.0=MUSIC"],
    });
    for (const secret of [first, second, third]) expect(leaksOf(secret, reported(loaded))).toEqual([]);
    expect(loaded.shown.settings).toContainEqual({
      name: "plugins.youtube.enabled",
      value: "true",
      location: "application.yml:3:14",
    });
    // A name that many have would be missed wherever it stands.
    expect(loaded.shown.hidden.reveal()).toEqual(expect.arrayContaining([first, second, third]));
    expect(loaded.shown.hidden.reveal()).not.toContain("MUSIC");
  });

  test("an entry for a plugin is shown with its name and without its proxy", () => {
    const { shown } = load({
      args: [
        "--tonearm.plugins.0.package=tonearm-plugin-example",
        "--tonearm.plugins.0.proxy=http://user:hunter2hunter2@192.0.2.7:3128",
      ],
    });
    expect(shown.settings.filter(({ name }) => name.startsWith("tonearm.plugins")).map(({ value }) => value)).toEqual([
      "tonearm-plugin-example",
      "<redacted>",
    ]);
  });

  test("a generated password is hidden", () => {
    const { config, shown } = load({});
    expect(shown.hidden.reveal()).toEqual([config.server.password.reveal()]);
    expect(JSON.stringify(shown)).not.toContain(config.server.password.reveal());
  });
});
