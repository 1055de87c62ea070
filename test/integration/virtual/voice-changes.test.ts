// Music continues through every change in a voice channel during playback: every packet of the song arrives once and in
// order at all members present, and Discord receives nothing that it would refuse. In virtual time, and once of each
// kind in real time.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, positionsIn, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

const SONG = "chord.webm";
/** Numbers of gateway messages wrap while the song plays. */
const FIRST_SEQ = 65_530;
let virtual: VirtualTestEnvironment;
let env: TestEnvironment;
let song: string[];
const narrated = narrating(() => virtual);

beforeAll(async () => {
  virtual = await VirtualTestEnvironment.start({ media: { root: SONGS.pathname }, discord: { firstSeq: FIRST_SEQ } });
  env = virtual.env;
  song = await packetsOf(SONG);
});
afterAll(() => virtual.close());

/** Plays the song and carries out `change` after half a second of it; returns when it has ended. */
async function playThrough(call: MusicCall, change: () => Promise<unknown>): Promise<void> {
  await call.play(SONG);
  await call.receiveMore(25);
  await change();
  expect(await call.ended()).toMatchObject({ reason: "finished" });
}

async function joinAndLeave(env: TestEnvironment): Promise<void> {
  const call = await MusicCall.join(env);
  let lateReceived: string[] = [];
  await playThrough(call, async () => {
    const late = await call.channel.addListener();
    await call.receiveMore(50, late);
    await call.channel.removeListener(late);
    lateReceived = call.receivedBy(late);
  });
  expect(call.receivedBy()).toEqual(song);
  const positions = positionsIn(song, lateReceived);
  expect(lateReceived).toEqual(song.slice(positions[0], (positions[0] ?? 0) + lateReceived.length));
}

it("a member joins and leaves: both receive the audio sent while they were in the group", () =>
  virtual.run(() => joinAndLeave(env)));

it(
  "many join at once and leave one by one",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await playThrough(call, async () => {
      const crowd = Array.from({ length: 8 }, (_, index) => call.channel.enter(`9000${index}`));
      await call.channel.settled();
      await call.receiveMore(25, crowd[7]);
      for (const listener of crowd) await call.channel.removeListener(listener);
    });
    expect(call.receivedBy()).toEqual(song);
  }),
);

it(
  "a downgrade to unencrypted audio and an upgrade back",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await playThrough(call, async () => {
      await call.channel.downgrade();
      await call.receiveMore(50);
      await call.channel.upgrade();
    });
    expect(call.receivedBy()).toEqual(song);
    const isEncrypted = call.audio.map(({ daveDecrypted }) => daveDecrypted);
    expect([isEncrypted[0], isEncrypted.includes(false), isEncrypted.at(-1)]).toEqual([true, true, true]);
  }),
);

it(
  "a commit that arrives broken",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await playThrough(call, () => call.channel.sendBrokenCommit());
    expect(call.receivedBy()).toEqual(song);
  }),
);

it(
  "a Welcome that arrives broken holds the song until the second",
  narrated(async () => {
    const call = await MusicCall.create(env);
    call.channel.breakNextWelcome();
    await call.connect();
    await call.play(SONG);
    await call.channel.recovered();
    await call.ended();
    expect(call.receivedBy()).toEqual(song);
  }),
);

it(
  "the last listener leaves, and the position advances until one joins",
  narrated(async () => {
    const call = await MusicCall.join(env);
    let late: string[] = [];
    await playThrough(call, async () => {
      await call.channel.removeListener(call.channel.listener);
      const listener = await call.channel.addListener();
      await call.ended();
      late = call.receivedBy(listener);
    });
    const positions = positionsIn(song, late);
    expect(late).toEqual(song.slice(positions[0]));
  }),
);

it(
  "another voice server takes over while the old one still listens",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, closeOld: "never" });
      await call.connect(voice);
    });
    expect(call.receivedBy()).toEqual(song);
    expect(call.bot.events("WebSocketClosedEvent")).toMatchObject([{ code: 1000, byRemote: false }]);
    expect(await call.player()).toMatchObject({ state: { connected: true } });
  }),
);

it(
  "another voice server after a close with 4014: the song waits and loses little",
  narrated(async () => {
    const call = await MusicCall.join(env);
    const old = call.session;
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, closeOld: "now" });
      await call.bot.untilEvent("WebSocketClosedEvent");
      await call.connect(voice);
    });
    expect(old.audioFrameCount + call.session.audioFrameCount).toBe(song.length);
    expect(call.receivedBy().at(-1)).toBe(song.at(-1));
    expect(call.bot.events("WebSocketClosedEvent")).toMatchObject([{ code: 4014, byRemote: true }]);
  }),
);

it(
  "another channel with its own group",
  narrated(async () => {
    const call = await MusicCall.join(env);
    const channelId = `${call.guildId}8`;
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, channelId, closeOld: "never" });
      await call.connect(voice);
    });
    const received = [...call.receivedBy(), ...call.receivedBy(call.discord.channel(channelId).listener)];
    expect(received).toEqual(song);
  }),
);

it(
  "a client that sends no channelId",
  narrated(async () => {
    const call = await MusicCall.create(env);
    const { channelId: _, ...voice } = call.voice;
    await call.connect(voice);
    await call.play(SONG);
    await call.ended();
    expect(call.receivedBy()).toEqual(song);
    expect(call.audio.every(({ daveDecrypted }) => daveDecrypted)).toBe(true);
  }),
);

async function dropAndResume(env: TestEnvironment, daveVersion: number): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion });
  await playThrough(call, async () => {
    call.session.terminate();
    // Sequence numbers wrap in the replayed part.
    await call.channel.addListener();
    await call.discord.until(() => call.session.resumeCount === 1, "a resume");
  });
  expect(call.receivedBy()).toEqual(song);
  expect(call.bot.events("WebSocketClosedEvent")).toEqual([]);
  expect(await call.player()).toMatchObject({ state: { connected: true } });
}

it.each([0, 1])("the gateway's TCP connection drops and is resumed, DAVE version %i", (daveVersion) =>
  virtual.run(() => dropAndResume(env, daveVersion)),
);

it(
  "the gateway drops and refuses the resume: the client receives the events in order",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await call.play(SONG);
    await call.receiveMore(25);
    const old = call.session;
    old.terminate({ canResume: false });
    expect(await call.bot.untilEvent("WebSocketClosedEvent")).toMatchObject({ code: 4006, byRemote: true });
    const update = await call.bot.until(
      ({ op, state }) => op === "playerUpdate" && (state as { connected: boolean }).connected === false,
      "an update without connection",
    );
    expect(call.bot.messages.indexOf(update)).toBe(
      call.bot.messages.findIndex(({ type }) => type === "WebSocketClosedEvent") + 1,
    );
    expect(update).toMatchObject({ state: { connected: false, ping: -1 } });
    // New data bring the song back where it stood.
    const voice = call.discord.issueVoice({
      guildId: call.guildId,
      userId: call.bot.userId,
      channelId: call.channelId,
    });
    await call.connect(voice);
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    // Audio is sent while the resume is attempted, and reaches nobody.
    expect(old.audioFrameCount + call.session.audioFrameCount).toBe(song.length);
  }),
);

it(
  "UDP that says nothing is used all the same",
  narrated(async () => {
    const call = await MusicCall.create(env);
    call.session.faults.add("discovery", { kind: "withhold" }, Number.POSITIVE_INFINITY);
    await call.connect();
    await call.play(SONG);
    await call.ended();
    expect(call.receivedBy()).toEqual(song);
  }),
);

describe.concurrent("in real time", { tags: ["real-time"] }, () => {
  let real: TestEnvironment;
  beforeAll(async () => {
    real = await startTestEnvironment({
      media: { root: SONGS.pathname },
      // On a slow machine every step takes longer.
      discord: { firstSeq: FIRST_SEQ, davePolicy: { underWayMs: 5000 } },
    });
  });
  afterAll(async () => {
    real.discord.assertClean();
    await real.close();
  });

  it("a member joins and leaves", () => joinAndLeave(real));
  it("the gateway's TCP connection drops and is resumed", () => dropAndResume(real, 1));
});

it("nothing reached Discord that it would refuse", () => env.discord.assertClean());
