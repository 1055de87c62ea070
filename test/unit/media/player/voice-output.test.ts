import { beforeEach, expect, test, vi } from "vitest";
import type { PlainEvent } from "../../../../src/bridge/channel.ts";
import { VoiceOutput } from "../../../../src/media/player/voice-output.ts";
import { createVoiceCounters, noVoiceCounts, type VoiceCounts } from "../../../../src/media/voice/voice-counters.ts";
import { AheadVoice, SILENCE } from "../../../support/ahead-voice.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { numberedPackets } from "../../../support/numbered-packets.ts";

const FRAME = numberedPackets(1)[0]!.data;
const CREDENTIALS = { token: "t", endpoint: "voice.example", sessionId: "s", channelId: "1" };

let clock: FakeClock;
let voices: AheadVoice[];
let events: PlainEvent[];
let counts: VoiceCounts;
let output: VoiceOutput;

beforeEach(async () => {
  clock = new FakeClock();
  voices = [];
  events = [];
  counts = noVoiceCounts();
  const create = async () => {
    const voice = new AheadVoice(clock);
    voices.push(voice);
    return voice;
  };
  output = new VoiceOutput({ playerId: 1, create, send: (event) => events.push(event), counts });
  await output.connect(1, CREDENTIALS);
});

function sendFrames(count: number): void {
  for (let index = 0; index < count; index++) output.sendFrame(FRAME, clock.now() + 20 + 20 * index);
}

test("audio ends with five silence frames, and Discord is notified once they have left", () => {
  sendFrames(1);
  const sent = Array.from({ length: 7 }, (_, index) => output.sendSilence(clock.now() + 20 + 20 * index));
  expect(sent).toEqual([true, true, true, true, true, false, false]);
  expect([output.isSilent, voices[0]?.stopCount]).toEqual([false, 0]);
  clock.advance(120);
  expect(output.sendSilence(clock.now())).toBe(false);
  expect([output.isSilent, voices[0]?.stopCount]).toEqual([true, 1]);
  expect(voices[0]?.received.filter((number) => number === SILENCE)).toHaveLength(5);
});

test("frames behind which silence was sent cannot be revoked any more", () => {
  sendFrames(3);
  expect([output.unsentFramesMax, output.revoke(1), output.unsentFramesMax]).toEqual([3, 1, 2]);
  output.sendSilence(clock.now() + 60);
  expect([output.unsentFramesMax, output.revokeAll()]).toEqual([0, 0]);
  sendFrames(2);
  expect([output.revokeAll(), output.unsentFramesMax]).toEqual([2, 0]);
});

test("a dropped connection is closed and reported, and the next one is created from scratch", async () => {
  sendFrames(2);
  output.drop();
  expect([voices[0]?.isClosed, output.gate, output.isSilent, output.unsentFramesMax]).toEqual([true, "down", true, 0]);
  expect(events).toMatchObject([{ type: "voiceClosed", code: 1006 }]);
  output.drop();
  expect(events).toHaveLength(1);
  await output.connect(2, CREDENTIALS);
  expect([voices.length, output.gate, output.sink === voices[1]]).toEqual([2, "send", true]);
});

test("a connection that could not be created is created again by the next connect", async () => {
  const create = vi.fn<() => Promise<AheadVoice>>().mockRejectedValueOnce(new Error("no module"));
  const voice = new AheadVoice(clock);
  const fresh = new VoiceOutput({
    playerId: 1,
    create: create.mockResolvedValue(voice),
    send: () => undefined,
    counts,
  });
  await expect(fresh.connect(1, CREDENTIALS)).rejects.toThrow("no module");
  await fresh.connect(2, CREDENTIALS);
  expect([fresh.sink === voice, create.mock.calls.length]).toEqual([true, 2]);
});

test("the last counts of a dropped connection are kept, without packets that it revokes while it closes", () => {
  const counters = { ...createVoiceCounters(), packetsSent: 10, framesRefused: 2 };
  const close = (): void => {
    counters.packetsSent -= 3;
  };
  Object.assign(voices[0]!, { counters, close });
  output.drop();
  output.collectCounts();
  expect(counts).toEqual({ ...noVoiceCounts(), packetsSent: 7, framesRefused: 2 });
});

test("frames can be revoked while a closing connection asks for it", () => {
  sendFrames(2);
  let revokedCount = 0;
  voices[0]!.close = () => {
    revokedCount = output.revokeAll();
  };
  output.close();
  expect(revokedCount).toBe(2);
});

test("a released connection stays open and is silent without silence frames", () => {
  sendFrames(1);
  output.release();
  expect([output.isSilent, output.sendSilence(clock.now()), voices[0]?.isClosed]).toEqual([true, false, false]);
});
