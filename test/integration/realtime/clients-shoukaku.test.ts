// shoukaku, unmodified, through the whole node: the usual calls, with a listener in an encrypted call.

import { once } from "node:events";
import { type Player, type PlayerUpdate, Shoukaku } from "shoukaku";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { walk } from "../../support/client-walk.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { ShardConnector } from "../../support/shard-connector.ts";
import { packetsOf, packetText, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const USER_ID = "100000000000000043";
const GUILD_ID = "1";
const CHANNEL_ID = "17";
/** With the one that holds what the decoder skips at the start. */
const PACKETS_IN_3_S = 151;

let env: TestEnvironment;
let link: CuttableLink;
let connector: ShardConnector;
let shoukaku: Shoukaku;

beforeEach(async () => {
  env = await startTestEnvironment({
    media: { root: SONGS.pathname },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
  link = await CuttableLink.open(env.node.address.port);
  connector = new ShardConnector(env.discord, USER_ID);
  const nodes = [{ name: "test", url: `127.0.0.1:${link.port}`, auth: TEST_PASSWORD }];
  shoukaku = new Shoukaku(connector, nodes, { resume: true, resumeTimeout: 60, reconnectInterval: 0.02 });
  shoukaku.on("error", () => undefined); // a cut connection: `close` follows
  await once(shoukaku, "ready");
});
afterEach(async () => {
  for (const name of [...shoukaku.nodes.keys()]) shoukaku.removeNode(name);
  link.close();
  await env.close();
});

async function joinVoice(): Promise<Player> {
  const player = await shoukaku.joinVoiceChannel({ guildId: GUILD_ID, channelId: CHANNEL_ID, shardId: 0 });
  await env.discord.until(() => env.discord.session(GUILD_ID).isOpen, "a voice session");
  await env.discord.channel(CHANNEL_ID).settled();
  return player;
}

async function load(player: Player): Promise<string> {
  const result = await player.node.rest.resolve(`${env.media.url}/chord.webm`);
  if (result?.loadType !== "track") throw new Error(`not a track: ${JSON.stringify(result)}`);
  return result.data.encoded;
}

function received(): string[] {
  return env.discord.channel(CHANNEL_ID).listener.receivedAudio.map(({ opus }) => packetText(opus));
}

async function receiveMore(count: number): Promise<void> {
  const enough = received().length + count;
  await env.discord.until(() => received().length >= enough, `${enough} frames`);
}

it("shoukaku loads, plays, pauses, resumes, seeks, sets volume, and receives start, updates and end", async () => {
  const player = await joinVoice();
  const encoded = await load(player);
  const events: string[] = [];
  const updates: PlayerUpdate[] = [];
  player.on("start", ({ track }) => events.push(`start ${track.info.title}`));
  player.on("end", ({ reason }) => events.push(`end ${reason}`));
  player.on("update", (update) => updates.push(update));

  const controls = {
    play: () => player.playTrack({ track: { encoded } }),
    pause: () => player.setPaused(true),
    resume: () => player.setPaused(false),
    seek: (positionMs: number) => player.seekTo(positionMs),
    setVolume: (volume: number) => player.setGlobalVolume(volume),
  };
  const song = await packetsOf("chord.webm");
  await walk(controls, { discord: env.discord, guildId: GUILD_ID, channelId: CHANNEL_ID, song });
  await once(player, "end");
  expect(events).toEqual(["start Chord", "end finished"]);
  expect(received().at(-1)).toBe(song.at(-1));
  expect(updates.length).toBeGreaterThanOrEqual(3);
  expect(updates.at(-1)?.state).toMatchObject({ connected: true });

  const { rest } = player.node;
  await shoukaku.leaveVoiceChannel(GUILD_ID);
  await env.discord.until(() => !env.discord.session(GUILD_ID).isConnected, "the end of voice");
  expect(await rest.getPlayers()).toEqual([]);
  env.discord.assertClean();
});

it("follows to another voice server, and no packet that reached Discord is missing", async () => {
  const player = await joinVoice();
  await player.playTrack({ track: { encoded: await load(player) }, endTime: 3000 });
  await receiveMore(25);
  const old = env.discord.session(GUILD_ID);
  const closed = once(player, "closed");
  connector.shard.changeServer(GUILD_ID);
  const [event] = await closed;
  expect([1000, 4014]).toContain(event.code);
  const [end] = await once(player, "end");
  expect(end).toMatchObject({ reason: "finished" });
  const moved = env.discord.session(GUILD_ID);
  expect(old.audioFrameCount + moved.audioFrameCount).toBe(PACKETS_IN_3_S);
  env.discord.assertClean();
});

it("shoukaku loses its connection and resumes: the music continues, and missed events arrive", async () => {
  const player = await joinVoice();
  await player.playTrack({ track: { encoded: await load(player) }, endTime: 2000 });
  await receiveMore(10);
  const ended = once(player, "end");
  const resumed = once(shoukaku, "ready");
  link.cut();
  expect(await resumed).toEqual(["test", true, false]);
  expect((await ended)[0]).toMatchObject({ reason: "finished" });
  const song = await packetsOf("chord.webm");
  expect(received()).toEqual(song.slice(0, received().length));
  expect(received().length).toBeGreaterThanOrEqual(100);
});
