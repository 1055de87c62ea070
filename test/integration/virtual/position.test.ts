// `position` is what the listener has heard, to 40 ms: playing, paused, after seeks, through changes of the volume,
// passed through and encoded anew. In virtual time, and once in real time.

import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { MusicCall } from "../../support/music-call.ts";
import { FRAME_MS, packetsOf, SONGS } from "../../support/song.ts";
import { startStage } from "../../support/start-stage.ts";
import { unlessStarved } from "../../support/unless-starved.ts";
import { telling, VirtualStage } from "../../support/virtual-stage.ts";

const DEVIATION_MS_MAX = 40;
/** Where what arrived may wait for a frame before it is looked at. */
const REAL_DEVIATION_MS_MAX = DEVIATION_MS_MAX + FRAME_MS;
const SEEK_MS = 3000;
const CONFIG = { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" };
let virtual: VirtualStage;
const told = telling(() => virtual);

beforeAll(async () => {
  virtual = await VirtualStage.start({ media: { root: SONGS.pathname }, config: CONFIG });
});
afterAll(() => virtual.close());

/** Where the song is for the listener: every frame heard since `fromFrame` is 20 ms of it, counted from `fromMs`. */
class Ear {
  readonly #call: MusicCall;
  readonly #deviationMsMax: number;
  #fromMs = 0;
  #fromFrame = 0;

  constructor(call: MusicCall, deviationMsMax = DEVIATION_MS_MAX) {
    this.#call = call;
    this.#deviationMsMax = deviationMsMax;
  }

  moveTo(positionMs: number, fromFrame = this.#call.sound.length): void {
    this.#fromMs = positionMs;
    this.#fromFrame = fromFrame;
  }

  /** What has been heard by now, after everything that has arrived was taken in. */
  async positionMs(): Promise<number> {
    for (let round = 0; round < 3; round++) await turn();
    return this.#fromMs + FRAME_MS * (this.#call.sound.length - this.#fromFrame);
  }

  /** Asks the node with every frame and compares. */
  async compareWhilePlaying(frames: number): Promise<void> {
    for (let count = 0; count < frames; count++) {
      await this.#call.hearMore(1);
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

async function expectTruth(stage: Stage, file: string, deviationMsMax = DEVIATION_MS_MAX): Promise<void> {
  const call = await MusicCall.join(stage, { daveVersion: 0 });
  const ear = new Ear(call, deviationMsMax);
  await call.play(file);
  await ear.compare(5);
  await ear.compareWhilePlaying(25);
  await call.update({ volume: 50 });
  await ear.compareWhilePlaying(25);
  await call.update({ volume: 100 });
  await ear.compareWhilePlaying(25);

  await call.update({ paused: true });
  await call.discord.until(() => call.session.speaking === 0, "the end of sound");
  await ear.compare(5);
  await call.update({ position: SEEK_MS });
  ear.moveTo(SEEK_MS);
  await ear.compare(5);
  await call.update({ paused: false });
  await ear.compare(5);
  await ear.compareWhilePlaying(25);
  await call.leave();
}

it.each(["chord.webm", "chord.mp3"])("%s", (file) => virtual.run(() => expectTruth(virtual.stage, file)));

it("the position is what is heard in real time", { tags: ["real-time"] }, async () => {
  const stage = await startStage({ media: { root: SONGS.pathname }, config: CONFIG });
  await unlessStarved(stage, () => expectTruth(stage, "chord.webm", REAL_DEVIATION_MS_MAX));
  await stage.close();
});

it(
  "a seek while the song plays",
  told(async () => {
    const call = await MusicCall.join(virtual.stage, { daveVersion: 0 });
    const song = await packetsOf("chord.webm");
    await call.play("chord.webm");
    await call.hearMore(30);
    await call.update({ position: SEEK_MS });
    const jump = () => call.heardBy().findIndex((packet, index) => packet !== song[index]);
    await call.discord.until(() => jump() >= 0, "sound behind the seek");
    const ear = new Ear(call);
    ear.moveTo(SEEK_MS, jump());
    await ear.compareWhilePlaying(25);
    await call.leave();
  }),
);

it(
  "every playerUpdate",
  told(async () => {
    const call = await MusicCall.join(virtual.stage, { daveVersion: 0 });
    await call.play("chord.webm");
    await call.ended();
    const epochMs = virtual.clock.epochMs() - virtual.clock.now();
    const arrivalsMs = call.sound.map(({ arrivalMs }) => epochMs + arrivalMs);
    const heardMs = (epochMs: number) => FRAME_MS * arrivalsMs.filter((arrivalMs) => arrivalMs <= epochMs).length;
    const updates = call.bot.messages
      .filter(({ op }) => op === "playerUpdate")
      .map(({ state }) => state as { time: number; position: number })
      .filter(({ time }) => time > (arrivalsMs[0] ?? 0) && time < (arrivalsMs.at(-1) ?? 0));
    expect(updates.length).toBeGreaterThanOrEqual(5);
    for (const { time, position } of updates) {
      expect(Math.abs(position - heardMs(time))).toBeLessThanOrEqual(DEVIATION_MS_MAX);
    }
  }),
);
