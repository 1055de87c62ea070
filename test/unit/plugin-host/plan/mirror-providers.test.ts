import { expect, test } from "vitest";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { mirrorProviders } from "../../../../src/plugin-host/plan/mirror-providers.ts";
import { reportSources } from "../../../../src/plugin-host/plan/source-report.ts";

function configOf(text: string, env: Readonly<Record<string, string>> = {}) {
  const { config } = loadConfig({
    args: [],
    env,
    cwd: "/app",
    realPath: (path) => path,
    coreCount: 2,
    readFile: (path) => (path === "/app/application.yml" ? text : undefined),
  });
  return config;
}

test.each([
  ["plugins.lavasrc.providers: ['ytsearch:\"%ISRC%\"', 'scsearch:%QUERY%']", ['ytsearch:"%ISRC%"', "scsearch:%QUERY%"]],
  [
    "plugins: { LavaSrc: { Providers: 'ytsearch:%QUERY%, scsearch:%QUERY%,' } }",
    ["ytsearch:%QUERY%", "scsearch:%QUERY%"],
  ],
  [
    "plugins.lavasrc.providers: 'scsearch[0,5]:%QUERY%, ytsearch:%TITLE%, %AUTHOR%,bcsearch , , ytmsearch:%QUERY%'",
    ["scsearch[0,5]:%QUERY%", "ytsearch:%TITLE%, %AUTHOR%", "bcsearch", "ytmsearch:%QUERY%"],
  ],
  ["plugins.lavasrc.providers: { first: a }", ["(a map)"]],
  ["plugins.lavasrc.providers: ['', { a: b }, [c], scsearch]", ["(an empty item)", "(a map)", "(a list)", "scsearch"]],
  ["plugins.lavasrc.providers: {}", []],
  ["plugins.lavasrc.providers:", []],
  ["plugins.lavasrc.sources.spotify: true", []],
])("providers are read from %s", (text, providers) => {
  expect(mirrorProviders(configOf(text))).toEqual(providers);
});

test("providers are read from variables", () => {
  const env = { PLUGINS_LAVASRC_PROVIDERS_0: "scsearch:%QUERY%", PLUGINS_LAVASRC_PROVIDERS_1: "bcsearch:%TITLE%" };
  expect(mirrorProviders(configOf("", env))).toEqual(["scsearch:%QUERY%", "bcsearch:%TITLE%"]);
});

test("the log names what each mirrored source is played from", () => {
  const mirrored = [
    { name: "spotify", prefixes: ["ytsearch", "scsearch"] },
    { name: "deezer", prefixes: [] },
  ];
  const lines = reportSources({ config: configOf(""), plans: [], builtins: [] }, ["spotify", "deezer"], mirrored);
  expect(lines.slice(1)).toEqual([
    { level: "info", message: "spotify: mirrored to ytsearch, scsearch" },
    {
      level: "warn",
      message: expect.stringContaining("deezer: its tracks cannot be played, as no source that has audio"),
    },
  ]);
});
