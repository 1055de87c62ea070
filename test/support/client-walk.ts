// The steps that every client library is tested with: plays, pauses, resumes, seeks and changes the volume, with a
// listener in the channel.

import { expect } from "vitest";
import type { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { FRAME_MS, packetText } from "./song.ts";

/** The library's own calls. */
interface ClientControls {
  play(): Promise<unknown>;
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
  seek(positionMs: number): Promise<unknown>;
  setVolume(volume: number): Promise<unknown>;
}

interface WalkOptions {
  readonly discord: FakeDiscord;
  readonly guildId: string;
  readonly channelId: string;
  /** Packets of the song that `play` plays, 6 s of it. */
  readonly song: readonly string[];
}

const RECEIVE_TIMEOUT_MS = 20_000;
const SEEK_MS = 4500;

/** Leaves the song playing at volume 100, close to its end. */
export async function walk(
  controls: ClientControls,
  { discord, guildId, channelId, song }: WalkOptions,
): Promise<void> {
  const { listener } = discord.channel(channelId);
  const received = () => listener.receivedAudio.map(({ opus }) => packetText(opus));
  const more = (count: number) => {
    const enough = received().length + count;
    return discord.until(() => listener.receivedAudio.length >= enough, `${enough} frames`, RECEIVE_TIMEOUT_MS);
  };

  await controls.play();
  await more(25);
  await controls.pause();
  // One arrives by TCP, the other by UDP.
  await discord.until(() => discord.session(guildId).speaking === 0 && listener.isAtStop, "the end of audio");
  const beforePause = received().length;
  await controls.resume();
  await more(25);
  expect(received()).toEqual(song.slice(0, received().length));
  expect(received().length).toBeGreaterThan(beforePause);

  await controls.seek(SEEK_MS);
  const jump = () => received().findIndex((packet, index) => packet !== song[index]);
  await discord.until(() => jump() >= 0 && received().length >= jump() + 10, "audio after the seek");
  const behindSeek = received().slice(jump());
  expect(behindSeek).toEqual(song.slice(SEEK_MS / FRAME_MS, SEEK_MS / FRAME_MS + behindSeek.length));

  await controls.setVolume(50);
  await discord.until(() => !song.includes(received().at(-1) ?? ""), "audio that was changed");
  await controls.setVolume(100);
  await discord.until(() => song.includes(received().at(-1) ?? ""), "audio without changes");
}
