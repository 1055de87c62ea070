// The scenario of a song on a site, with a real client: searched with the library's own name for the site, played,
// sought in, and its links expire during playback. Checked are the audio that the listener receives and the events that
// the library reports.

import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import type { Listener } from "../../../lab/discord/listener.ts";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import {
  FIRST_TONE_HZ,
  SECOND_TONE_HZ,
  TONE_CHANGE_SECONDS,
  TONES_AMPLITUDE,
  TONES_SECONDS,
} from "../../../lab/media-files/counted-tones.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { BoundClient, LISTENED_FRAMES } from "./bound-client.ts";
import type { FoundTrack, RealClient, SearchedSite, SearchingDriver } from "./client-driver.ts";
import { toneAmplitude } from "./two-tone-song.ts";

const PACKETS_PER_SECOND = 50;
const SONG_TIMEOUT_MS = 90_000;

/** A stand-in for a site whose songs are counted tones. */
export interface StorySite {
  /** The names of the site in the library; the last is used for playing. */
  readonly names: readonly SearchedSite[];
  readonly words: string;
  /** The first that it finds. */
  readonly found: FoundTrack;
  /** Number of requests for stream links so far. */
  readonly countLinks: () => number;
  readonly expireLinks: () => void;
}

/** Runs the scenario; throws where the node, the client and the site disagree. */
export async function runSiteScenario(
  env: TestEnvironment,
  { create }: RealClient<SearchingDriver>,
  site: StorySite,
): Promise<void> {
  const client = await BoundClient.take({ discord: env.discord, port: env.node.address.port }, create);
  try {
    await searchAndPlay(client, site);
    await client.driver.seek(TONE_CHANGE_SECONDS * 1000);
    await client.expectTone(SECOND_TONE_HZ, TONES_AMPLITUDE);
    expectJump(client.listener);
    const linksBefore = site.countLinks();
    site.expireLinks();
    await client.receivedEvents.once("end", SONG_TIMEOUT_MS);
    await env.discord.untilSilent(client.binding.channelId);
    expect(site.countLinks()).toBe(linksBefore + 1);
    await expectWholeSecondTone(client.listener);
    expect([
      client.receivedEvents.count("start"),
      client.receivedEvents.count("exception"),
      client.receivedEvents.count("stuck"),
    ]).toEqual([1, 0, 0]);
    await client.driver.destroy();
  } finally {
    await client.close();
  }
}

async function searchAndPlay(client: BoundClient<SearchingDriver>, site: StorySite): Promise<void> {
  const { driver, receivedEvents } = client;
  await driver.connect();
  await receivedEvents.once("ready");
  await driver.join();
  for (const name of site.names) expect(await driver.search(name, site.words)).toEqual(site.found);
  await driver.play();
  await receivedEvents.once("start");
  await client.expectTone(FIRST_TONE_HZ, TONES_AMPLITUDE);
}

/** After the seek, the rest of the first tone is not received any more. */
function expectJump({ receivedAudio }: Listener): void {
  expect(packetNumbers(receivedAudio)).not.toContain(TONE_CHANGE_SECONDS * PACKETS_PER_SECOND - 1);
}

/** All of it was received, packet for packet, nothing lost or inserted, and every half second is the tone. */
async function expectWholeSecondTone({ receivedAudio }: Listener): Promise<void> {
  const [first, end] = [TONE_CHANGE_SECONDS * PACKETS_PER_SECOND, TONES_SECONDS * PACKETS_PER_SECOND];
  const audio = receivedAudio.slice(first - end);
  expect(packetNumbers(audio)).toEqual(numbersFrom(first, end));
  const firstSequence = audio[0]?.sequence ?? 0;
  expect(audio.map(({ sequence }) => (sequence - firstSequence) & 0xffff)).toEqual(numbersFrom(0, end - first));
  for (let at = 0; at < audio.length; at += LISTENED_FRAMES) {
    const packets = audio.slice(at, at + LISTENED_FRAMES).map(({ opus }) => opus);
    expect(await toneAmplitude(packets, SECOND_TONE_HZ)).toBeCloseTo(TONES_AMPLITUDE, 1);
    // Decoding takes a while: yield to the other work of this process.
    await setImmediate();
  }
}
