import { afterEach, expect, test, vi } from "vitest";
import type { PlainCommand, ThreadEnd } from "../../../src/bridge/channel.ts";
import { Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { TickLoop } from "../../../src/media/scheduler/tick-loop.ts";
import { startAudio } from "../../../src/media/start-audio.ts";
import { systemSockets } from "../../../src/network/sockets.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { inputSettings } from "../../support/input-builders.ts";

afterEach(() => vi.restoreAllMocks());

test("frames come before each of many commands that arrive together", () => {
  const catchUp = vi.spyOn(TickLoop.prototype, "catchUp");
  let onMessage: (command: PlainCommand) => void = () => undefined;
  const port: ThreadEnd<PlainCommand> = {
    postMessage: () => undefined,
    on: (_event, listener) => {
      onMessage = listener;
    },
  };
  startAudio({
    port,
    settings: inputSettings,
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    codecPort: undefined,
    clock: new FakeClock(),
    random: systemRandom,
    sockets: systemSockets,
    ownPacer: undefined,
    takeThreadLoad: () => 0,
    onClosed: () => undefined,
  });
  for (let playerId = 1; playerId <= 400; playerId++) {
    onMessage({ type: "createPlayer", playerId, guildId: String(playerId), userId: "1", volume: 100, filters: {} });
    onMessage({ type: "pause", playerId, isPaused: true });
  }
  expect(new Set(catchUp.mock.contexts).size).toBe(2); // a worker's own players, and those of others
  expect(catchUp.mock.calls.length).toBe(2 * 800);
  onMessage({ type: "close" });
});
