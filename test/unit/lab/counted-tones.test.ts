import { expect, it } from "vitest";
import { decodeReceived } from "../../../lab/listen/received.ts";
import { fitTone } from "../../../lab/listen/tone.ts";
import { numbersFrom, opusPacketNumber } from "../../../lab/media-files/counted-song.ts";
import {
  countedTones,
  FIRST_TONE_HZ,
  SECOND_TONE_HZ,
  TONE_CHANGE_SECONDS,
  TONES_AMPLITUDE,
  TONES_SECONDS,
} from "../../../lab/media-files/counted-tones.ts";
import { isPassthroughPacket } from "../../../src/media/opus/opus-packet.ts";

it("counted tones are audible, one after the other, and can be counted", async () => {
  const packets = await countedTones();
  expect(packets.map(opusPacketNumber)).toEqual(numbersFrom(0, TONES_SECONDS * 50));
  expect(packets.filter((packet) => !isPassthroughPacket(packet))).toEqual([]);
  const change = TONE_CHANGE_SECONDS * 50;
  const [before, after] = [packets.slice(change - 50, change), packets.slice(change, change + 50)];
  expect(await amplitudeIn(before, FIRST_TONE_HZ)).toBeCloseTo(TONES_AMPLITUDE, 1);
  expect(await amplitudeIn(before, SECOND_TONE_HZ)).toBeCloseTo(0, 1);
  expect(await amplitudeIn(after, SECOND_TONE_HZ)).toBeCloseTo(TONES_AMPLITUDE, 1);
});

async function amplitudeIn(packets: readonly Uint8Array[], frequencyHz: number): Promise<number> {
  const { left } = await decodeReceived(packets);
  return fitTone(left.subarray(-9_600), frequencyHz, 48_000).amplitude;
}
