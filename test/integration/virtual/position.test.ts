// `position` is the song time that the listener has received, to 40 ms: playing, paused, after seeks, through changes
// of the volume, passed through and transcoded. In virtual time, and once in real time.

import { setImmediate as nextIteration } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { FRAME_MS, packetsOf, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { unlessStarved } from "../../support/unless-starved.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const DEVIATION_MS_MAX = 40;
/** The tolerance in real time, where a received packet may wait for a frame before it is processed. */
const REAL_DEVIATION_MS_MAX = DEVIATION_MS_MAX + FRAME_MS;
const SEEK_MS = 3000;
const CONFIG = { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" };
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: SONGS.pathname }, config: CONFIG });
});
afterAll(() => virtual.close());

/**
 * The listener's position in the song: every frame received since `fromFrame` is 20 ms of it, counted from `fromMs`.
 */
class ListenerPosition {
  readonly #call: MusicCall;
  readonly #deviationMsMax: number;
  #fromMs = 0;
  #fromFrame = 0;

  constructor(call: MusicCall, deviationMsMax = DEVIATION_MS_MAX) {
    this.#call = call;
    this.#deviationMsMax = deviationMsMax;
  }

  moveTo(positionMs: number, fromFrame = this.#call.audio.length): void {
    this.#fromMs = positionMs;
    this.#fromFrame = fromFrame;
  }

  /** The position by now, after everything that has arrived was processed. */
  async positionMs(): Promise<number> {
    for (let round = 0; round < 3; round++) await nextIteration();
    return this.#fromMs + FRAME_MS * (this.#call.audio.length - this.#fromFrame);
  }

  /** Asks the node with every frame and compares. */
  async compareWhilePlaying(frames: number): Promise<void> {
    for (let count = 0; count < frames; count++) {
      await this.#call.receiveMore(1);
      await this.compare(2);
    }
  }

  async compare(times: number): Promise<void> {
    for (let count = 0; count < times; count++) {
      const beforeMs = await this.positionMs();
      const { state } = await this.#call.player();
      const afterMs = await this.positionMs();
      expect(state.position).toBeGreaterThanOrEqual(beforeMs - this.#deviationMsMax);
      expect(state.position).toBeLessThanOrEqual(afterMs + this.#deviationMsMax);
    }
  }
}

async function expectTruth(env: TestEnvironment, file: string, deviationMsMax = DEVIATION_MS_MAX): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const listenerPosition = new ListenerPosition(call, deviationMsMax);
  await call.play(file);
  await listenerPosition.compare(5);
  await listenerPosition.compareWhilePlaying(25);
  await call.update({ volume: 50 });
  await listenerPosition.compareWhilePlaying(25);
  await call.update({ volume: 100 });
  await listenerPosition.compareWhilePlaying(25);

  await call.update({ paused: true });
  await call.discord.until(() => call.session.speaking === 0, "the end of the audio");
  await listenerPosition.compare(5);
  await call.update({ position: SEEK_MS });
  listenerPosition.moveTo(SEEK_MS);
  await listenerPosition.compare(5);
  await call.update({ paused: false });
  await listenerPosition.compare(5);
  await listenerPosition.compareWhilePlaying(25);
  await call.leave();
}

it.each(["chord.webm", "chord.mp3"])("%s", (file) => virtual.run(() => expectTruth(virtual.env, file)));

it("the position equals the received song time in real time", { tags: ["real-time"] }, async () => {
  const env = await startTestEnvironment({ media: { root: SONGS.pathname }, config: CONFIG });
  await unlessStarved(env, () => expectTruth(env, "chord.webm", REAL_DEVIATION_MS_MAX));
  await env.close();
});

it(
  "a seek while the song plays",
  narrated(async () => {
    const call = await MusicCall.join(virtual.env, { daveVersion: 0 });
    const song = await packetsOf("chord.webm");
    await call.play("chord.webm");
    await call.receiveMore(30);
    await call.update({ position: SEEK_MS });
    const jump = () => call.receivedBy().findIndex((packet, index) => packet !== song[index]);
    await call.discord.until(() => jump() >= 0, "audio from after the seek");
    const listenerPosition = new ListenerPosition(call);
    listenerPosition.moveTo(SEEK_MS, jump());
    await listenerPosition.compareWhilePlaying(25);
    await call.leave();
  }),
);

it(
  "every playerUpdate",
  narrated(async () => {
    const call = await MusicCall.join(virtual.env, { daveVersion: 0 });
    await call.play("chord.webm");
    await call.ended();
    const epochMs = virtual.clock.epochMs() - virtual.clock.now();
    const arrivalsMs = call.audio.map(({ arrivalMs }) => epochMs + arrivalMs);
    const receivedMs = (epochMs: number) => FRAME_MS * arrivalsMs.filter((arrivalMs) => arrivalMs <= epochMs).length;
    const updates = call.bot.messages
      .filter(({ op }) => op === "playerUpdate")
      .map(({ state }) => state as { time: number; position: number })
      .filter(({ time }) => time > (arrivalsMs[0] ?? 0) && time < (arrivalsMs.at(-1) ?? 0));
    expect(updates.length).toBeGreaterThanOrEqual(5);
    for (const { time, position } of updates) {
      expect(Math.abs(position - receivedMs(time))).toBeLessThanOrEqual(DEVIATION_MS_MAX);
    }
  }),
);
