// Machines that share their sessions through NATS, as `npm run lab -- cluster` runs them, at their smallest: sessions and
// players go on when a machine ends, and music goes on when NATS does.

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { MachineEnd } from "../../../lab/cluster/round.ts";
import { runClusterRounds } from "../../../lab/cluster/rounds.ts";
import { isResumed } from "../../../lab/restart/surroundings.ts";
import { type Bot, HandshakeRefused } from "../../../lab/test-environment/bot.ts";
import { DEAD_MS } from "../../../src/cluster/lease-times.ts";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";
import { TestCluster } from "../../support/test-cluster.ts";
import { BoundClient } from "../clients/bound-client.ts";
import { describeCluster } from "../clients/cluster-story.ts";
import { lavalinkClient } from "../clients/npm/lavalink-client.ts";
import { repeatedShoukaku, shoukaku } from "../clients/npm/shoukaku.ts";
import { AMPLITUDE, HALF_VOLUME_AMPLITUDE, makeLongTone, PlayingBot, TONE_HZ } from "../clients/restart-story.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const FRAMES_PER_SECOND = 50;
/** Longer than a machine holds its lease, and than others wait for a dead one. */
const AWAY_SECONDS = DEAD_MS / 1000 + 3;
const SEED = 30;

describeCluster([lavalinkClient, shoukaku, repeatedShoukaku]);

describe.skipIf(isNatsMissing)(natsTitle("two machines"), () => {
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await TestCluster.start({ files: { "song.wav": makeLongTone() } });
  });
  afterAll(() => cluster?.close());

  test("requests through another machine reach the session", async () => {
    const { balancer, discord, first, second } = cluster;
    balancer.only(first);
    const bot = await cluster.connectBot();
    balancer.only(second);
    const guildId = "700001";
    const encoded = await bot.loadEncoded(`${cluster.media.url}/song.wav`);
    const voice = discord.issueVoice({ guildId, userId: bot.userId, channelId: "7000017" });
    const player = await bot.update(guildId, { voice, track: { encoded }, volume: 50 });
    expect(player).toMatchObject({ guildId, volume: 50 });
    await bot.untilEvent("TrackStartEvent");
    const { listener } = discord.channel("7000017");
    await discord.until(() => listener.receivedAudio.length > FRAMES_PER_SECOND, "a second of music");
    expect(await bot.player(guildId)).toEqual(expect.objectContaining({ guildId, volume: 50 }));
    await bot.destroy(guildId);
    const list = await bot.request("GET", `/v4/sessions/${bot.sessionId}/players`);
    expect(list).toMatchObject({ status: 200, body: [] });
    balancer.only(first);
    expect(await bot.request("GET", `/v4/sessions/${bot.sessionId}/players`)).toEqual(list);
    expect((await bot.request("GET", "/v4/sessions/nobody/players")).status).toBe(404);
    balancer.all();
    bot.close();
  });

  test("without NATS the music goes on and new clients are refused; with it all is as before", async () => {
    const { balancer, discord, nats, first } = cluster;
    balancer.only(first);
    const client = await BoundClient.take(cluster, lavalinkClient.create);
    await client.driver.connect();
    await client.receivedEvents.once("ready");
    const playing = await PlayingBot.begin(lavalinkClient.name, client, `${cluster.media.url}/song.wav`);
    await nats.kill();
    const heard = client.listener.receivedAudio.length;
    const enough = heard + AWAY_SECONDS * FRAMES_PER_SECOND;
    await discord.until(() => client.listener.receivedAudio.length >= enough, "music without NATS", WAIT.timeout);
    await client.expectTone(TONE_HZ, AMPLITUDE);
    await client.driver.setVolume(50);
    await client.expectTone(TONE_HZ, HALF_VOLUME_AMPLITUDE);
    const refusal = await cluster.connectBot().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(HandshakeRefused);
    expect(refusal).toMatchObject({ status: 503, retryAfterSeconds: expect.any(Number) });
    await nats.restart();
    balancer.all();
    const bot: Bot = await vi.waitFor(() => cluster.connectBot(), WAIT);
    expect(isResumed(bot)).toBe(false);
    bot.close();
    await client.driver.setVolume(100);
    await client.expectTone(TONE_HZ, AMPLITUDE);
    expect(client.receivedEvents.count("ready")).toBe(1);
    await vi.waitFor(() => first.untilReady(), WAIT);
    await first.runs.end("SIGKILL");
    await playing.expectResumed();
    await playing.expectControl();
    await client.close();
  });
});

describe.skipIf(isNatsMissing)(natsTitle("the lab"), () => {
  test.each(["kill", "term", "pause"] satisfies MachineEnd[])(
    "sessions, players and events survive the end of a machine by %s, and no guild is sent to twice",
    async (end) => {
      const report = (): void => undefined;
      const options = {
        machines: 2,
        players: 12,
        rounds: 2,
        seed: SEED,
        hasDave: true,
        natsServers: 1,
        report,
      } as const;
      const result = await runClusterRounds({ ...options, end });
      expect(result.losses).toEqual([]);
      expect(result.rounds.flatMap(({ resumedMs }) => resumedMs).length).toBeGreaterThan(0);
      expect(result.events).toBeGreaterThan(10);
    },
  );
});
