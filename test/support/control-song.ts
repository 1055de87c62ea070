// A long song that plays in its own call while other sources fail: whether its listener notices. It runs next to
// threads that only check the clock: when one of these was delayed as well, the machine was overloaded.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import { countedSong, packetNumbers } from "../../lab/media-files/counted-song.ts";
import { type RadioBrowserSite, stationUuid } from "../../lab/sites/radio-browser.ts";
import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";
import { firstFound } from "./first-found.ts";
import { MusicCall } from "./music-call.ts";
import { framesBetween, stepsOf } from "./steps-of.ts";

const CLOCK_WATCHER = new URL("./worker-scripts/clock-watcher.mjs", import.meta.url);
const SONG_SECONDS = 600;
/** The node leaves frames out when it is held up for 80 ms; on a machine that has time no thread is, even for this. */
const STARVED_MS = 15;
/** Which thread is delayed is a matter of luck: of several, one is delayed as much as the node. */
const WATCHERS = 3;

export class ControlSong {
  readonly #call: MusicCall;
  readonly #watchers: readonly Worker[];
  readonly #worstMs: Int32Array;
  /** Frames that were checked. */
  #seenCount = 0;

  /** Plays a station of that stand-in: a counted song that is longer than the test. */
  static async start(env: TestEnvironment, radio: RadioBrowserSite): Promise<ControlSong> {
    const song = countedSong({ seconds: SONG_SECONDS, packetBytes: 40 });
    radio.server.addMedia("radio.ogg", { bytes: song, mimeType: "audio/ogg" });
    const memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const watchers = Array.from({ length: WATCHERS }, () => new Worker(CLOCK_WATCHER, { workerData: memory }));
    await Promise.all(watchers.map((watcher) => once(watcher, "online")));
    const call = await MusicCall.join(env, { daveVersion: 0 });
    await call.update({ track: { encoded: (await firstFound(call.bot, `radio:${stationUuid(1)}`)).encoded } });
    await call.receiveMore(25);
    return new ControlSong(call, watchers, new Int32Array(memory));
  }

  private constructor(call: MusicCall, watchers: readonly Worker[], worstMs: Int32Array) {
    this.#call = call;
    this.#watchers = watchers;
    this.#worstMs = worstMs;
    this.#seenCount = call.channel.listener.received.length;
  }

  /**
   * All of it was received since the last call, in order, without silence, and on time unless the machine was
   * overloaded.
   */
  async expectUnharmed(): Promise<void> {
    await this.#call.receiveMore(10);
    const { received } = this.#call.channel.listener;
    // With the last one of before: what lies between them counts, too.
    const frames = received.slice(Math.max(0, this.#seenCount - 1));
    this.#seenCount = received.length;
    const isStarved = Atomics.exchange(this.#worstMs, 0, 0) > STARVED_MS;
    expect(stepsOf(packetNumbers(frames)).filter((step) => step !== 1)).toEqual([]);
    const sequences = stepsOf(frames.map(({ sequence }) => sequence)).map((step) => step & 0xffff);
    expect(sequences.filter((step) => step !== 1)).toEqual([]);
    const leftOut = framesBetween(frames.map(({ timestamp }) => timestamp)).filter((count) => count !== 1);
    if (!isStarved) {
      expect(leftOut).toEqual([]);
      expect(frames.filter(({ isSilence }) => isSilence)).toEqual([]);
    }
    expect(this.#call.eventTypes).toEqual(["TrackStartEvent"]);
  }

  async stop(): Promise<void> {
    await this.#call.leave();
    for (const watcher of this.#watchers) await watcher.terminate();
  }
}
