// A filter of a plugin on a whole node, in real worker threads: it is heard, and when it throws, outputs NaN, takes too
// long or never returns, its player goes on without it, and a neighbour on the same worker loses no packet.

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, positionsIn, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { stepsOf } from "../../support/steps-of.ts";

const PLUGIN = fileURLToPath(new URL("../../fixtures/filter-plugin/plugin.mjs", import.meta.url));

let env: TestEnvironment;
let song: readonly string[];

beforeAll(async () => {
  env = await startTestEnvironment({
    media: { root: SONGS.pathname },
    config: {
      TONEARM_WORKERS_COUNT: "1",
      TONEARM_PLUGINS_0_PATH: PLUGIN,
      TONEARM_PLUGINS_0_REQUIRED: "true",
    },
  });
  song = await packetsOf("chord.webm");
});
afterAll(() => env.close());

const trouble = (settings: object) => ({ filters: { pluginFilters: { trouble: settings } } });

it("a filter of a plugin is listed, its settings are checked, and it is heard", async () => {
  const call = await MusicCall.join(env);
  const { body } = await call.bot.request<{ filters: string[] }>("GET", "/v4/info");
  expect(body.filters).toContain("trouble");
  const path = `/v4/sessions/${call.bot.sessionId}/players/${call.guildId}`;
  const wrong = await call.bot.request<{ message: string }>("PATCH", path, trouble({ gain: 7 }));
  expect([wrong.status, wrong.body.message]).toEqual([
    400,
    "filters.pluginFilters.trouble.gain must be from 0 to 1, but is 7",
  ]);
  await call.play("chord.webm", trouble({ gain: 0 }));
  expect(await call.player()).toMatchObject({ filters: { pluginFilters: { trouble: { gain: 0, kind: "none" } } } });
  await call.receiveMore(50);
  // The song's own packets are not heard.
  expect(positionsIn(song, call.receivedBy().slice(10)).filter((position) => position >= 0)).toEqual([]);
  await call.leave();
});

it.each([
  ["throws", "failed"],
  ["isAsync", "failed"],
  ["isNotANumber", "invalidSamples"],
  ["isSlow", "tooSlow"],
])("a filter that %s is removed from its player, and its neighbour loses no packet", async (kind, reason) => {
  const [call, neighbour] = await Promise.all([MusicCall.join(env), MusicCall.join(env)]);
  await neighbour.play("chord.webm");
  await neighbour.receiveMore(20);
  await call.play("chord.mp3", trouble({ kind }));
  expect(await call.bot.untilEvent("FilterRemovedEvent", 10_000)).toMatchObject({
    ...{ op: "event", guildId: call.guildId, filter: "trouble", reason },
  });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  expect(Object(await call.player()).filters).toEqual({});
  expect(call.eventTypes).toEqual(["TrackStartEvent", "FilterRemovedEvent", "TrackEndEvent"]);
  await neighbour.untilSilent();
  const positions = positionsIn(song, neighbour.receivedBy());
  expect(stepsOf(positions).filter((step) => step !== 1)).toEqual([]);
  await Promise.all([call.leave(), neighbour.leave()]);
});

it("a filter that never returns is removed with the worker it stopped, and both players go on", async () => {
  const [call, neighbour] = await Promise.all([MusicCall.join(env), MusicCall.join(env)]);
  await neighbour.play("chord.webm");
  await call.play("chord.mp3", trouble({ kind: "hangs" }));
  expect(await call.bot.untilEvent("FilterRemovedEvent", 15_000)).toMatchObject({ reason: "workerLost" });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  expect(await neighbour.ended()).toMatchObject({ reason: "finished" });
  await Promise.all([call.leave(), neighbour.leave()]);
});
