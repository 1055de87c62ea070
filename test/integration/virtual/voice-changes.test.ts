// Music goes on through everything that changes in a voice channel while it plays: every packet of the song is heard
// once and in order by those who are there, and nothing reaches Discord that it would refuse. In virtual time, and once
// of each kind in real time.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, placesIn, SONGS } from "../../support/song.ts";
import { startStage } from "../../support/start-stage.ts";
import { telling, VirtualStage } from "../../support/virtual-stage.ts";

const SONG = "chord.webm";
/** Numbers of gateway messages wrap while the song plays. */
const FIRST_SEQ = 65_530;
let virtual: VirtualStage;
let stage: Stage;
let song: string[];
const told = telling(() => virtual);

beforeAll(async () => {
  virtual = await VirtualStage.start({ media: { root: SONGS.pathname }, discord: { firstSeq: FIRST_SEQ } });
  stage = virtual.stage;
  song = await packetsOf(SONG);
});
afterAll(() => virtual.close());

/** Plays the song and carries out `change` after half a second of it; returns when it has ended. */
async function playThrough(call: MusicCall, change: () => Promise<unknown>): Promise<void> {
  await call.play(SONG);
  await call.hearMore(25);
  await change();
  expect(await call.ended()).toMatchObject({ reason: "finished" });
}

async function joinAndLeave(stage: Stage): Promise<void> {
  const call = await MusicCall.join(stage);
  let lateHeard: string[] = [];
  await playThrough(call, async () => {
    const late = await call.channel.addListener();
    await call.hearMore(50, late);
    await call.channel.removeListener(late);
    lateHeard = call.heardBy(late);
  });
  expect(call.heardBy()).toEqual(song);
  const places = placesIn(song, lateHeard);
  expect(lateHeard).toEqual(song.slice(places[0], (places[0] ?? 0) + lateHeard.length));
}

it("somebody joins and leaves: both hear what was played while they were in the group", () =>
  virtual.run(() => joinAndLeave(stage)));

it(
  "many join at once and leave one by one",
  told(async () => {
    const call = await MusicCall.join(stage);
    await playThrough(call, async () => {
      const crowd = Array.from({ length: 8 }, (_, index) => call.channel.enter(`9000${index}`));
      await call.channel.settled();
      await call.hearMore(25, crowd[7]);
      for (const listener of crowd) await call.channel.removeListener(listener);
    });
    expect(call.heardBy()).toEqual(song);
  }),
);

it(
  "a downgrade to plain sound and an upgrade back",
  told(async () => {
    const call = await MusicCall.join(stage);
    await playThrough(call, async () => {
      await call.channel.downgrade();
      await call.hearMore(50);
      await call.channel.upgrade();
    });
    expect(call.heardBy()).toEqual(song);
    const isEncrypted = call.sound.map(({ daveDecrypted }) => daveDecrypted);
    expect([isEncrypted[0], isEncrypted.includes(false), isEncrypted.at(-1)]).toEqual([true, true, true]);
  }),
);

it(
  "a commit that arrives broken",
  told(async () => {
    const call = await MusicCall.join(stage);
    await playThrough(call, () => call.channel.sendBrokenCommit());
    expect(call.heardBy()).toEqual(song);
  }),
);

it(
  "a Welcome that arrives broken holds the song until the second",
  told(async () => {
    const call = await MusicCall.create(stage);
    call.channel.breakNextWelcome();
    await call.connect();
    await call.play(SONG);
    await call.channel.recovered();
    await call.ended();
    expect(call.heardBy()).toEqual(song);
  }),
);

it(
  "the last listener leaves, and time runs until somebody comes",
  told(async () => {
    const call = await MusicCall.join(stage);
    let late: string[] = [];
    await playThrough(call, async () => {
      await call.channel.removeListener(call.channel.listener);
      const listener = await call.channel.addListener();
      await call.ended();
      late = call.heardBy(listener);
    });
    const places = placesIn(song, late);
    expect(late).toEqual(song.slice(places[0]));
  }),
);

it(
  "another voice server takes over while the old one still listens",
  told(async () => {
    const call = await MusicCall.join(stage);
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, closeOld: "never" });
      await call.connect(voice);
    });
    expect(call.heardBy()).toEqual(song);
    expect(call.bot.events("WebSocketClosedEvent")).toMatchObject([{ code: 1000, byRemote: false }]);
    expect(await call.player()).toMatchObject({ state: { connected: true } });
  }),
);

it(
  "another voice server after a close with 4014: the song waits and loses little",
  told(async () => {
    const call = await MusicCall.join(stage);
    const old = call.session;
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, closeOld: "now" });
      await call.bot.untilEvent("WebSocketClosedEvent");
      await call.connect(voice);
    });
    expect(old.soundFrameCount + call.session.soundFrameCount).toBe(song.length);
    expect(call.heardBy().at(-1)).toBe(song.at(-1));
    expect(call.bot.events("WebSocketClosedEvent")).toMatchObject([{ code: 4014, byRemote: true }]);
  }),
);

it(
  "another channel with its own group",
  told(async () => {
    const call = await MusicCall.join(stage);
    const channelId = `${call.guildId}8`;
    await playThrough(call, async () => {
      const voice = call.discord.moveVoice({ guildId: call.guildId, channelId, closeOld: "never" });
      await call.connect(voice);
    });
    const heard = [...call.heardBy(), ...call.heardBy(call.discord.channel(channelId).listener)];
    expect(heard).toEqual(song);
  }),
);

it(
  "a client that sends no channelId",
  told(async () => {
    const call = await MusicCall.create(stage);
    const { channelId: _, ...voice } = call.voice;
    await call.connect(voice);
    await call.play(SONG);
    await call.ended();
    expect(call.heardBy()).toEqual(song);
    expect(call.sound.every(({ daveDecrypted }) => daveDecrypted)).toBe(true);
  }),
);

async function dropAndResume(stage: Stage, daveVersion: number): Promise<void> {
  const call = await MusicCall.join(stage, { daveVersion });
  await playThrough(call, async () => {
    call.session.terminate();
    // Numbers wrap in what is replayed.
    await call.channel.addListener();
    await call.discord.until(() => call.session.resumeCount === 1, "a resume");
  });
  expect(call.heardBy()).toEqual(song);
  expect(call.bot.events("WebSocketClosedEvent")).toEqual([]);
  expect(await call.player()).toMatchObject({ state: { connected: true } });
}

it.each([0, 1])("the gateway's TCP connection drops and is resumed, DAVE version %i", (daveVersion) =>
  virtual.run(() => dropAndResume(stage, daveVersion)),
);

it(
  "the gateway drops and refuses the resume: the client is told, in order",
  told(async () => {
    const call = await MusicCall.join(stage);
    await call.play(SONG);
    await call.hearMore(25);
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
    // Sound goes out while the resume is tried, and falls on deaf ears.
    expect(old.soundFrameCount + call.session.soundFrameCount).toBe(song.length);
  }),
);

it(
  "UDP that says nothing is used all the same",
  told(async () => {
    const call = await MusicCall.create(stage);
    call.session.faults.add("discovery", { kind: "withhold" }, Number.POSITIVE_INFINITY);
    await call.connect();
    await call.play(SONG);
    await call.ended();
    expect(call.heardBy()).toEqual(song);
  }),
);

describe.concurrent("in real time", { tags: ["real-time"] }, () => {
  let real: Stage;
  beforeAll(async () => {
    real = await startStage({
      media: { root: SONGS.pathname },
      // On a slow machine nobody is quick.
      discord: { firstSeq: FIRST_SEQ, davePolicy: { underWayMs: 5000 } },
    });
  });
  afterAll(async () => {
    real.discord.assertClean();
    await real.close();
  });

  it("somebody joins and leaves", () => joinAndLeave(real));
  it("the gateway's TCP connection drops and is resumed", () => dropAndResume(real, 1));
});

it("nothing reached Discord that it would refuse", () => stage.discord.assertClean());
