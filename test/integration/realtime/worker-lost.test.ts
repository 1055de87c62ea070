// An audio worker dies or hangs while its player is audible: the player continues on another worker at its position,
// its client receives only updates, and players of other workers are not affected. The duration is tested in
// only-worker-lost.test.ts, in virtual time: here it depends on when the machine schedules a hanging thread.

import { expect, it } from "vitest";
import type { Bot } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { FRAME_MS, packetsOf, packetText, positionsIn, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { framesBetween, stepsBeyondTime, stepsOf } from "../../support/steps-of.ts";

const FRAGILE_AUDIO = new URL("../../support/worker-scripts/fragile-audio.mjs", import.meta.url);
const DEADLY_END_TIME = 600_001;
const PARALYSING_END_TIME = 600_002;

function received(env: TestEnvironment, guildId: string) {
  return env.discord.channel(`${guildId}7`).listener.receivedAudio;
}

/** The first frame of silence behind all audio; undefined when it has not arrived yet. */
function silenceAtEnd(env: TestEnvironment, guildId: string) {
  const frames = env.discord.channel(`${guildId}7`).listener.received;
  const first = frames.findLastIndex(({ isSilence }) => !isSilence) + 1;
  return frames.slice(first, first + 1);
}

/** Starts the song for a guild and waits until a second of it has been received. */
async function play(env: TestEnvironment, bot: Bot, guildId: string): Promise<void> {
  await env.joinVoice(bot, { guildId });
  await bot.update(guildId, { track: { identifier: `${env.media.url}/chord.webm` } });
  await env.discord.until(() => received(env, guildId).length >= 50, "a second of audio");
}

function ended(bot: Bot, guildId: string): Promise<unknown> {
  const isEnd = (message: { type?: string; guildId?: string }) =>
    message.type === "TrackEndEvent" && message.guildId === guildId;
  return bot.until(isEnd, `the end of ${guildId}`, 20_000);
}

it.concurrent.each([
  ["dies", DEADLY_END_TIME],
  ["hangs", PARALYSING_END_TIME],
])(
  "the player of a worker that %s continues on another worker, and other players are not affected",
  async (_how, endTime) => {
    const env = await startTestEnvironment({
      media: { root: SONGS.pathname },
      mediaEntry: FRAGILE_AUDIO,
      config: { TONEARM_WORKERS_COUNT: "2" },
    });
    const bot = await env.connectBot();
    await play(env, bot, "1");
    await play(env, bot, "2");
    void bot.update("1", { endTime });
    expect(await ended(bot, "1")).toMatchObject({ reason: "finished" });
    expect(await ended(bot, "2")).toMatchObject({ reason: "finished" });
    await env.discord.arrived();

    const song = await packetsOf("chord.webm");
    const positionsOf = (guildId: string) =>
      positionsIn(
        song,
        received(env, guildId).map(({ opus }) => packetText(opus)),
      );
    // The other is the control: each packet once and in order. An overloaded machine may skip deadlines, and packets with
    // them: then RTP time has advanced as well.
    const others = positionsOf("2");
    expect(Math.min(...stepsOf(others))).toBe(1);
    const timestampsOf = (guildId: string) => received(env, guildId).map(({ timestamp }) => timestamp);
    expect(stepsBeyondTime(others, timestampsOf("2"))).toEqual([]);
    const leftOut = song.length - others.length;
    const lateMs = Math.max(...stepsOf(received(env, "2").map(({ arrivalMs }) => arrivalMs))) - FRAME_MS;

    // Only the packets between the last report of the position and the death may be missing or repeated. Again, deadlines
    // may be skipped, behind the last packet as well: the silence there has the position after it.
    const silence = silenceAtEnd(env, "1").map(({ timestamp }) => timestamp);
    const jumps = stepsOf([...positionsOf("1"), song.length]);
    const frames = framesBetween([...timestampsOf("1"), ...silence]);
    const jumpsBeyondTime = jumps.map((jump, index) => jump !== 1 && jump !== frames[index]);
    expect(jumpsBeyondTime.filter(Boolean).length).toBeLessThanOrEqual(1 + leftOut);
    expect(jumpsBeyondTime.at(-1)).toBe(false);
    expect(Math.max(...jumps.map((jump) => Math.abs(jump - 1) * FRAME_MS))).toBeLessThanOrEqual(1000 + 5 * lateMs);

    expect(bot.events("TrackStartEvent", "1")).toHaveLength(1);
    expect(bot.events("TrackEndEvent", "1")).toHaveLength(1);
    expect(bot.events("WebSocketClosedEvent")).toEqual([]);
    env.discord.assertClean();
    await env.close();
  },
);
