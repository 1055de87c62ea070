// What lavalink-client's own filter manager checks before it sends, and what it sends: its code, unmodified, with the
// node's info.

import { FilterManager, type Player } from "lavalink-client";
import { expect, test } from "vitest";
import { checkedFilterSettings } from "../../../../src/control/api/filter-settings.ts";
import { filtersBody } from "../../../../src/control/protocol/filter-schemas.ts";
import { activeFilterNames, type FilterSettings } from "../../../../src/filters/filter-settings.ts";
import { parseJson } from "../../../../src/lib/json.ts";
import { createInfo } from "../../../../src/observability/status/node-info.ts";

function managerWith(disabledFilters: readonly string[] = []) {
  const git = { branch: "", commit: "", commitTimeMs: 0 };
  const info = createInfo({
    ...{ version: "1.0.0", buildTimeMs: 0, git, sourceNames: [], plugins: [] },
    disabledFilters: new Set(disabledFilters),
  });
  let settings: FilterSettings = {};
  const player = {
    node: {
      info,
      sessionId: "session",
      _checkForSources: true,
      _checkForPlugins: true,
      updatePlayer: async ({ playerOptions }: { playerOptions: { filters: object } }) => {
        settings = checkedFilterSettings(filtersBody.parse(parseJson(JSON.stringify(playerOptions.filters))));
      },
    },
    options: {},
    ping: {},
    triggerPlayerClientUpdate: () => undefined,
  };
  // The parts of a player that the manager uses.
  const manager = new FilterManager(player as unknown as Player);
  return { manager, active: () => activeFilterNames(settings), info };
}

test("lavalink-client finds and sets the filters of LavaDSPX, and clears them", async () => {
  const { manager, active } = managerWith();
  const { toggleLowPass, toggleHighPass, toggleNormalization, toggleEcho } = manager.lavalinkLavaDspxPlugin;
  const toggles = [toggleLowPass, toggleHighPass, toggleNormalization, toggleEcho];
  for (const toggle of toggles) await toggle();
  expect(active()).toEqual(["high-pass", "low-pass", "normalization", "lavadspx.echo"]);
  for (const toggle of toggles) await toggle();
  expect(active()).toEqual([]);
});

test("lavalink-client finds and sets the filters of lavalink-filter-plugin, and clears them", async () => {
  const { manager, active } = managerWith();
  const { toggleEcho, toggleReverb } = manager.lavalinkFilterPlugin;
  await toggleEcho();
  await toggleReverb();
  expect(active()).toEqual(["lavalink-filter-plugin.echo", "lavalink-filter-plugin.reverb"]);
  await toggleEcho();
  expect(active()).toEqual(["lavalink-filter-plugin.reverb"]);
  await toggleReverb();
  expect(active()).toEqual([]);
});

test("filters that are switched off are not listed, nor is a plugin without any other", () => {
  const { info } = managerWith(["reverb", "echo", "normalization"]);
  expect(info.plugins.map(({ name }) => name)).toEqual(["lavadspx-plugin"]);
  expect(info.filters).toContain("high-pass");
  expect(info.filters).not.toContain("normalization");
  expect(managerWith().info.plugins.map(({ name }) => name)).toEqual(["lavadspx-plugin", "lavalink-filter-plugin"]);
});
