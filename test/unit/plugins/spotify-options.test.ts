// When the spotify plugin is on, and which keys of LavaSrc it takes over.

import { describe, expect, test } from "vitest";
import { BUILTIN_PLUGINS } from "../../../plugins/builtin.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { planPlugins } from "../../../src/plugin-host/plan/plugin-plans.ts";

const EXAMPLE = `
plugins:
  lavasrc:
    sources: { spotify: true }
    spotify:
      clientId: "your client id"
      clientSecret: "your client secret"
      spDc: "your sp dc cookie"
      countryCode: "US"
      playlist-load-limit: 1000
      albumLoadLimit: 6
      resolveArtistsInSearch: true
      localFiles: false
      preferPartnerApi: false
      preferV1SearchApi: false
      customTokenEndpoint: "http://localhost:8080/api/token"
`;

function planOf(text: string) {
  const { config } = loadConfig({
    args: [],
    env: {},
    cwd: "/app",
    realPath: (path) => path,
    coreCount: 2,
    readFile: (path) => (path === "/app/application.yml" ? text : undefined),
  });
  const plans = planPlugins(config, { cwd: "/nowhere", builtinFolder: new URL("file:///app/plugins/") });
  return plans.find(({ name }) => name === "spotify");
}

describe("the spotify plugin", () => {
  test.each([
    ["{}", false],
    ["plugins.lavasrc.sources.spotify: false", false],
    ["plugins.lavasrc.spotify.clientId: x", false],
    ["plugins.lavasrc.sources.spotify: true", true],
    ["plugins.spotify.enabled: true", true],
    ["plugins.spotify.playlistLoadLimit: 3", true],
    ["plugins: { lavasrc: { sources: { spotify: true } }, spotify: { enabled: false } }", false],
  ])("with %s is on: %s", (text, isOn) => {
    const plan = planOf(text);
    expect(plan !== undefined && plan.problem === undefined).toBe(isOn);
  });

  test("takes over the options of LavaSrc's example file, in relaxed spelling", () => {
    const plan = planOf(EXAMPLE);
    expect(plan?.problem).toBeUndefined();
    expect(plan?.optionsOf("spotify")).toMatchObject({
      clientId: "your client id",
      playlistLoadLimit: "1000",
      customTokenEndpoint: "http://localhost:8080/api/token",
    });
    expect(plan?.optionsOf("spotify")).not.toHaveProperty("countryCode");
  });

  test("is asked after the sources that Lavalink asks first", () => {
    expect(BUILTIN_PLUGINS.find(({ manifest }) => manifest.name === "spotify")?.rank).toBe("middle");
  });
});
