// Players on another machine than their session: machines with the roles of gateways, of audio machines, and with both
// share sessions through NATS. Requests and events pass between them, and each kind of machine may end.

import { request } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Machine, MachineRole } from "../../../lab/cluster/machines.ts";
import { countedSong, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { RESTART_PASSWORD } from "../../../lab/restart/node-runs.ts";
import { isResumed } from "../../../lab/restart/surroundings.ts";
import { type Bot, HandshakeRefused, type NodeMessage, type PlayerView } from "../../../lab/test-environment/bot.ts";
import { requestNode } from "../../../lab/test-environment/rest-request.ts";
import { DEAD_MS } from "../../../src/cluster/lease-times.ts";
import { MusicCall } from "../../support/music-call.ts";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";
import { stepsBeyondTime, stepsOf } from "../../support/steps-of.ts";
import { TestCluster } from "../../support/test-cluster.ts";
import { BoundClient } from "../clients/bound-client.ts";
import type { RealClient } from "../clients/client-driver.ts";
import { describeCluster } from "../clients/cluster-story.ts";
import { lavalinkClient } from "../clients/npm/lavalink-client.ts";
import { shoukaku } from "../clients/npm/shoukaku.ts";
import { AMPLITUDE, HALF_VOLUME_AMPLITUDE, makeLongTone, PlayingBot, TONE_HZ } from "../clients/restart-story.ts";

const FILES = {
  "counted.ogg": countedSong({ seconds: 600 }),
  "short.ogg": countedSong({ seconds: 4 }),
  "tone.wav": makeLongTone(),
};
/** A dead machine is found out after 20 s at the latest. */
const TAKEN_OVER_MS_MAX = 60_000;
/** Less than others wait for the lease of a machine: they notice that its process has ended. */
const NOTICED_MS_MAX = DEAD_MS - 5000;
const SECOND_FRAMES = 50;
/** What is left out while a player joins its voice channel at another machine, on a busy computer. */
const DRAIN_FRAMES_MAX = 3 * SECOND_FRAMES;
const RESUMING = { resuming: true, timeout: 60 };

describeCluster([lavalinkClient, shoukaku], { roles: ["gateway", "gateway", "audio"] });

describe.skipIf(isNatsMissing)(natsTitle("players on another machine"), () => {
  let cluster: TestCluster;

  const start = async (...roles: readonly MachineRole[]): Promise<void> => {
    cluster = await TestCluster.start({ files: FILES, roles });
    cluster.balancer.only(cluster.first);
  };
  afterEach(() => cluster?.close());

  test.each<RealClient>([lavalinkClient, shoukaku])(
    "$name plays through a gateway what sounds from an audio machine",
    async ({ name, create }) => {
      await start("gateway", "audio");
      const client = await BoundClient.take(cluster, create);
      await client.driver.connect();
      await client.receivedEvents.once("ready");
      const playing = await PlayingBot.begin(name, client, `${cluster.media.url}/tone.wav`);
      await client.receivedEvents.once("update");
      expect(await playingOn(cluster.first)).toBe(0);
      expect(await playingOn(cluster.second)).toBe(1);
      await client.driver.seek(60_000);
      await client.driver.setVolume(50);
      await client.expectTone(TONE_HZ, HALF_VOLUME_AMPLITUDE);
      await client.driver.setVolume(100);
      await client.expectTone(TONE_HZ, AMPLITUDE);
      await playing.expectControl();
      await expect.poll(() => playingOn(cluster.second)).toBe(0);
      cluster.discord.assertClean();
      await client.close();
    },
  );

  test("every request about a player works through a gateway, and its messages arrive", async () => {
    await start("gateway", "audio");
    const call = await MusicCall.join(cluster);
    const { bot, guildId } = call;
    const playersPath = `/v4/sessions/${bot.sessionId}/players`;
    await call.play("counted.ogg");
    await bot.untilEvent("TrackStartEvent");
    await call.receiveMore(SECOND_FRAMES);
    await bot.until(isConnectedUpdate(guildId), "a playerUpdate");

    const other = await MusicCall.join({
      discord: cluster.discord,
      media: cluster.media,
      connectBot: () => Promise.resolve(bot),
    });
    const list = await bot.request<readonly PlayerView[]>("GET", playersPath);
    expect(list.status).toBe(200);
    expect(list.body.map((player) => player.guildId).toSorted()).toEqual([guildId, other.guildId].toSorted());
    await bot.destroy(other.guildId);

    expect(await call.update({ paused: true })).toMatchObject({ paused: true });
    await cluster.discord.untilSilent(call.channelId);
    expect(await call.update({ paused: false, position: 400_000 })).toMatchObject({ paused: false });
    await cluster.discord.until(() => lastNumber(call) >= 20_000, "the packets of the new position");
    expect((await call.player()).state.position).toBeGreaterThanOrEqual(400_000);
    const filters = { volume: 0.5, timescale: { speed: 1.5 } };
    expect(await call.update({ filters, volume: 80 })).toMatchObject({ filters, volume: 80 });
    expect(await call.player()).toMatchObject({ guildId, filters, volume: 80, track: expect.anything() });
    await call.update({ track: { encoded: null } });
    expect(await bot.untilEvent("TrackEndEvent")).toMatchObject({ guildId, reason: "stopped" });
    expect(eventsOf(bot, [guildId]).map(([, type]) => type)).toEqual(["TrackStartEvent", "TrackEndEvent"]);

    expect(await bot.request("PATCH", `${playersPath}/${guildId}`, { volume: "loud" })).toMatchObject({ status: 400 });
    expect(await bot.request("DELETE", `${playersPath}/${guildId}`)).toMatchObject({ status: 204 });
    expect(await bot.request("GET", `${playersPath}/${guildId}`)).toMatchObject({ status: 404 });
    expect(await bot.request("GET", playersPath)).toEqual({ status: 200, body: [] });
    expect(await playingOn(cluster.first)).toBe(0);
    cluster.discord.assertClean();
    bot.close();
  });

  test("when its gateway is killed the sound goes on, and the client resumes at another one", async () => {
    await start("gateway", "gateway", "audio");
    const call = await MusicCall.join(cluster);
    const ending = await MusicCall.join({
      discord: cluster.discord,
      media: cluster.media,
      connectBot: () => Promise.resolve(call.bot),
    });
    await resuming(call.bot);
    await call.play("counted.ogg");
    await call.receiveMore(SECOND_FRAMES);
    await ending.play("short.ogg");
    const isOfEnding = ({ guildId, type }: NodeMessage) => guildId === ending.guildId && type === "TrackStartEvent";
    await call.bot.until(isOfEnding, "the start of the short song");
    // An event may come again whose sending could not be noted; what was sent before this answer has been.
    await resuming(call.bot);

    cluster.balancer.only(cluster.second);
    await cluster.first.runs.end("SIGKILL");
    const back = await comeBack(cluster, call.bot);
    expect(isResumed(back)).toBe(true);
    await back.until(({ guildId, type }) => guildId === ending.guildId && type === "TrackEndEvent", "the missed end");
    await back.until(isConnectedUpdate(call.guildId), "a playerUpdate");
    expect(await back.player(call.guildId)).toMatchObject({ track: expect.anything(), paused: false });
    await call.receiveMore(SECOND_FRAMES);
    expectUnbroken(call);

    expect(await back.update(call.guildId, { volume: 50 })).toMatchObject({ volume: 50 });
    await back.update(call.guildId, { track: { encoded: null } });
    await back.until(({ guildId, type }) => guildId === call.guildId && type === "TrackEndEvent", "the end");
    expect(eventsOf(back, [call.guildId, ending.guildId])).toEqual([
      [ending.guildId, "TrackEndEvent", "finished"],
      [call.guildId, "TrackEndEvent", "stopped"],
    ]);
    await back.destroy(call.guildId);
    await back.destroy(ending.guildId);
    expect(await back.request("GET", `/v4/sessions/${back.sessionId}/players`)).toEqual({ status: 200, body: [] });
    expect(cluster.discord.overlaps).toEqual([]);
    cluster.discord.assertClean();
    back.close();
  });

  test("when its audio machine is killed the player goes on at another one, and its client notices nothing", async () => {
    await start("gateway", "audio", "audio");
    const call = await MusicCall.join(cluster);
    const { bot, guildId } = call;
    await call.play("counted.ogg", { volume: 100 });
    await call.receiveMore(SECOND_FRAMES);
    await bot.untilEvent("TrackStartEvent");
    const [old, other] =
      (await playingOn(cluster.second)) === 1 ? [cluster.second, cluster.third] : [cluster.third, cluster.second];
    const heard = call.audio.length;
    await old.runs.end("SIGKILL");
    await cluster.discord.until(() => call.audio.length > heard + SECOND_FRAMES, "sound again", NOTICED_MS_MAX);
    expect(await playingOn(other)).toBe(1);
    expect(await playingOn(cluster.first)).toBe(0);
    expect(call.session.identifyCount).toBe(2);
    expect(call.eventTypes).toEqual(["TrackStartEvent"]);
    expect(bot.events("WebSocketClosedEvent")).toEqual([]);
    expect(await call.player()).toMatchObject({ guildId, paused: false, track: expect.anything() });
    await call.update({ paused: true });
    await cluster.discord.untilSilent(call.channelId);
    await call.update({ paused: false, volume: 50 });
    await call.receiveMore(SECOND_FRAMES);
    await bot.destroy(guildId);
    expect(await bot.request("GET", `/v4/sessions/${bot.sessionId}/players`)).toEqual({ status: 200, body: [] });
    await bot.ping();
    expect(bot.messages.filter(({ op }) => op === "ready")).toHaveLength(1);
    expect(cluster.discord.overlaps).toEqual([]);
    bot.close();
  });

  test("when its audio machine is stopped the player goes on at another one, after one handshake", async () => {
    await start("gateway", "audio", "audio");
    const call = await MusicCall.join(cluster);
    const { bot } = call;
    await call.play("counted.ogg");
    await call.receiveMore(SECOND_FRAMES);
    const [old, other] =
      (await playingOn(cluster.second)) === 1 ? [cluster.second, cluster.third] : [cluster.third, cluster.second];
    const ended = old.runs.end("SIGTERM");
    await expect.poll(() => playingOn(other)).toBe(1);
    await call.receiveMore(SECOND_FRAMES);
    await ended;
    await call.receiveMore(SECOND_FRAMES);
    const steps = stepsOf(packetNumbers(call.audio));
    console.log(`frames left out at the drain: ${Math.max(...steps) - 1}`);
    expect(Math.max(...steps)).toBeLessThan(DRAIN_FRAMES_MAX);
    expect(call.session.identifyCount).toBe(2);
    expect(call.eventTypes).toEqual(["TrackStartEvent"]);
    expect(bot.events("WebSocketClosedEvent")).toEqual([]);
    expect(cluster.discord.overlaps).toEqual([]);
    bot.close();
  });

  test("a client that comes to another machine, and back, leaves its player where it is", async () => {
    await start("both", "both");
    const { balancer, discord, first, second } = cluster;
    const call = await MusicCall.join(cluster);
    const { guildId } = call;
    await resuming(call.bot);
    await call.play("counted.ogg");
    await call.receiveMore(SECOND_FRAMES);
    const playingThere = async () => [await playingOn(first), await playingOn(second)];
    const before = await playingThere();

    let bot = call.bot;
    for (const machine of [second, first, second]) {
      balancer.only(machine);
      bot.terminate();
      bot = await comeBack(cluster, bot);
      expect(isResumed(bot)).toBe(true);
      await bot.until(isConnectedUpdate(guildId), "a playerUpdate");
      expect(await bot.player(guildId)).toMatchObject({ track: expect.anything(), paused: false });
      expect(await bot.update(guildId, { volume: 100 })).toMatchObject({ volume: 100 });
      await call.receiveMore(SECOND_FRAMES);
      expectUnbroken(call);
      expect(await playingThere()).toEqual(before);
      expect(eventsOf(bot, [guildId])).toEqual([]);
    }
    await bot.update(guildId, { track: { encoded: null } });
    await bot.untilEvent("TrackEndEvent");
    expect(eventsOf(bot, [guildId])).toEqual([[guildId, "TrackEndEvent", "stopped"]]);
    await bot.destroy(guildId);
    await expect.poll(playingThere).toEqual([0, 0]);
    expect(discord.overlaps).toEqual([]);
    discord.assertClean();
    bot.close();
  });

  test("an audio machine takes no client, but requests", async () => {
    await start("gateway", "audio");
    const bot = await cluster.connectBot();
    cluster.balancer.only(cluster.second);
    const refusal = await cluster.connectBot().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(HandshakeRefused);
    expect(refusal).toMatchObject({ status: 503 });
    expect(await handshakeText(cluster.second, cluster.password)).toContain(
      "this machine only plays (tonearm.cluster.roles): connect to one that has the role gateway",
    );
    const list = await bot.request("GET", `/v4/sessions/${bot.sessionId}/players`);
    expect(list).toEqual({ status: 200, body: [] });
    bot.close();
  });
});

async function resuming(bot: Bot): Promise<void> {
  expect((await bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, RESUMING)).status).toBe(200);
}

/** As client libraries do: again and again until it has a session. */
function comeBack(cluster: TestCluster, { sessionId }: Bot): Promise<Bot> {
  return vi.waitFor(() => cluster.connectBot({ sessionId }), { timeout: TAKEN_OVER_MS_MAX, interval: 100 });
}

/** Players of clients that play on this machine itself. */
async function playingOn({ url }: Machine): Promise<number> {
  const access = { url, password: RESTART_PASSWORD };
  const { body } = await requestNode<{ playingPlayers: number }>(access, { method: "GET", path: "/v4/stats" });
  return body.playingPlayers;
}

function isConnectedUpdate(guild: string): (message: NodeMessage) => boolean {
  return ({ op, guildId, state }) =>
    op === "playerUpdate" && guildId === guild && (state as PlayerView["state"]).connected;
}

function lastNumber({ audio }: MusicCall): number {
  return packetNumbers(audio.slice(-1))[0] ?? 0;
}

/** One connection, and since its first packet no pause: each packet once and in order, and none missing. */
function expectUnbroken(call: MusicCall): void {
  const { channel, audio, session } = call;
  expect(session.bindingCount).toBe(1);
  expect(session.receiver.lostPackets).toBe(0);
  expect(channel.listener.received.filter(({ isSilence }) => isSilence)).toEqual([]);
  const numbers = packetNumbers(audio);
  expect(numbers[0]).toBe(0);
  expect(Math.min(...stepsOf(numbers))).toBe(1);
  const timestamps = audio.map(({ timestamp }) => timestamp);
  expect(stepsBeyondTime(numbers, timestamps)).toEqual([]);
}

function eventsOf(bot: Bot, guilds: readonly string[]): readonly (readonly unknown[])[] {
  return bot.messages
    .filter(({ op, guildId = "" }) => op === "event" && guilds.includes(guildId))
    .map(({ guildId, type, reason }) => [guildId, type, reason]);
}

/** The body of the answer to a handshake. */
async function handshakeText({ url }: Machine, password: string): Promise<string> {
  const headers = {
    ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
    ...{ "sec-websocket-key": Buffer.alloc(16).toString("base64"), authorization: password, "user-id": "1" },
  };
  return await new Promise((resolve, reject) => {
    const sent = request(`${url}/v4/websocket`, { headers }, (response) => {
      response
        .setEncoding("utf8")
        .toArray()
        .then((parts) => resolve(parts.join("")), reject);
    });
    sent.on("error", reject).end();
  });
}
