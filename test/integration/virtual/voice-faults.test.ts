// Voice servers that refuse, hang or close: the events that the client receives, their order, and that the song is
// never lost. In virtual time, and once of each kind in real time.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FaultStep } from "../../../lab/discord/faults.ts";
import type { NodeMessage, PlayerView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const SONG = "chord.webm";
let virtual: VirtualTestEnvironment;
let song: string[];
const narrated = narrating(() => virtual);

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: SONGS.pathname } });
  song = await packetsOf(SONG);
});
afterAll(() => virtual.close());

function closedEvents(call: MusicCall): NodeMessage[] {
  return call.bot.events("WebSocketClosedEvent");
}

/** The update that follows the event at once. */
function updateAfterClose(call: MusicCall): Promise<NodeMessage> {
  const isNext = (message: NodeMessage) =>
    call.bot.messages[call.bot.messages.indexOf(message) - 1]?.type === "WebSocketClosedEvent";
  return call.bot.until(isNext, "a message after WebSocketClosedEvent");
}

/** Sends new voice data, as after joining again: the song continues from its position. */
async function rejoin(call: MusicCall): Promise<void> {
  await call.connect(
    call.discord.issueVoice({ guildId: call.guildId, userId: call.bot.userId, channelId: call.channelId }),
  );
  await call.receiveMore(5);
  expect(await call.player()).toMatchObject({ state: { connected: true } });
}

const STEPS = ["ready", "select", "sessionDescription", "speaking"] as const;
const FINAL_CODES = [4004, 4006, 4011, 4012, 4014, 4017, 4021, 4022];
const REPAIRED_CODES = [1000, 1001, 1006, 4000, 4001, 4002, 4003, 4005, 4009, 4013, 4015, 4016, 4020];

/** Each code at each step. A session that was closed with 1000 is over for Discord: resuming it ends in 4006. */
function cases(codes: readonly number[]): (readonly [number, FaultStep])[] {
  const all = codes.flatMap((code) => STEPS.map((step) => [code, step] as const));
  return all.filter(([code, step]) => code !== 1000 || step !== "speaking");
}

async function closeForGood(env: TestEnvironment, code: number, step: FaultStep): Promise<void> {
  const call = await MusicCall.create(env, { daveVersion: 0 });
  call.session.faults.add(step, { kind: "close", code, reason: "on purpose" });
  await call.connect();
  await call.play(SONG);
  const expected = { code, reason: "on purpose", byRemote: true };
  expect(await call.bot.untilEvent("WebSocketClosedEvent")).toMatchObject(expected);
  const update = await updateAfterClose(call);
  expect(update).toMatchObject({ op: "playerUpdate", state: { connected: false, ping: -1 } });
  await rejoin(call);
  expect(closedEvents(call)).toHaveLength(1);
  expect(call.eventTypes).not.toContain("TrackEndEvent");
  await call.leave();
}

async function closeAndRepair(env: TestEnvironment, code: number, step: FaultStep): Promise<void> {
  const call = await MusicCall.create(env, { daveVersion: 0 });
  call.session.faults.add(step, code === 1006 ? { kind: "terminate" } : { kind: "close", code });
  await call.connect();
  await call.play(SONG, { endTime: 1000 });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  expect(closedEvents(call)).toEqual([]);
  expect(call.receivedBy()).toEqual(song.slice(0, 51));
  expect(await call.player()).toMatchObject({ state: { connected: true } });
  await call.leave();
}

it.each(cases(FINAL_CODES))("a close with %i at %s is reported to the client, which sends new data", (code, step) =>
  virtual.run(() => closeForGood(virtual.env, code, step)),
);

it.each(cases(REPAIRED_CODES))("a close with %i at %s is recovered from, and the whole song arrives", (code, step) =>
  virtual.run(() => closeAndRepair(virtual.env, code, step)),
);

describe.concurrent("in real time", { tags: ["real-time"] }, () => {
  let real: TestEnvironment;
  beforeAll(async () => {
    real = await startTestEnvironment({ media: { root: SONGS.pathname } });
  });
  afterAll(() => real.close());

  it("a close for good", () => closeForGood(real, 4014, "speaking"));
  it("a close that is recovered from", () => closeAndRepair(real, 1006, "speaking"));
});

it("nothing reached Discord that it would refuse", () => {
  // Op 5 may be lost with a connection that is being closed while audio starts.
  virtual.env.discord.assertClean({ except: ["speaking-missing"] });
});

describe("before the gateway is open", () => {
  const HTTP_503 = { kind: "status", status: 503 } as const;

  async function connectAnswer(call: MusicCall) {
    const { bot, guildId, voice } = call;
    return bot.request<PlayerView & { message: string }>("PATCH", `/v4/sessions/${bot.sessionId}/players/${guildId}`, {
      voice,
    });
  }

  it(
    "one refusal is passed over",
    narrated(async () => {
      const call = await MusicCall.create(virtual.env);
      virtual.env.discord.faults.add("upgrade", HTTP_503);
      expect(await connectAnswer(call)).toMatchObject({ status: 200, body: { state: { connected: true } } });
      await call.play(SONG);
      await call.receiveMore(5);
      expect(closedEvents(call)).toEqual([]);
      await call.leave();
    }),
  );

  it.each([
    ["refusals", HTTP_503],
    ["no answer at all", { kind: "hang" } as const],
  ])(
    "%s end in an error that says so and leave no player behind, and a later try works",
    narrated(async (_name, action) => {
      const call = await MusicCall.create(virtual.env);
      virtual.env.discord.faults.add("upgrade", action, Number.POSITIVE_INFINITY);
      expect(await connectAnswer(call)).toMatchObject({
        status: 500,
        body: { message: "Failed to connect to voice server" },
      });
      expect(await call.player()).toMatchObject({ status: 404 });
      await call.play(SONG);
      expect(await call.player()).toMatchObject({ state: { connected: false, ping: -1 } });
      virtual.env.discord.faults.clear("upgrade");
      expect(await connectAnswer(call)).toMatchObject({ status: 200 });
      expect(await call.ended()).toMatchObject({ reason: "finished" });
      expect(call.receivedBy()).toEqual(song);
      expect(closedEvents(call)).toEqual([]);
      await call.leave();
    }),
  );
});
