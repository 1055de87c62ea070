// shoukaku, unmodified, through the whole node: what its users do, heard by a listener in an encrypted call.

import { once } from "node:events";
import { type Player, type PlayerUpdate, Shoukaku } from "shoukaku";
import { afterEach, beforeEach, expect, it } from "vitest";
import { STAGE_PASSWORD, type Stage } from "../../../lab/stage/stage.ts";
import { walk } from "../../support/client-walk.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { ShardConnector } from "../../support/shard-connector.ts";
import { packetsOf, packetText, SONGS } from "../../support/song.ts";
import { startStage } from "../../support/start-stage.ts";

const USER_ID = "100000000000000043";
const GUILD_ID = "1";
const CHANNEL_ID = "17";
/** With the one that holds what the decoder skips at the start. */
const PACKETS_IN_3_S = 151;

let stage: Stage;
let link: CuttableLink;
let connector: ShardConnector;
let shoukaku: Shoukaku;

beforeEach(async () => {
  stage = await startStage({
    media: { root: SONGS.pathname },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
  link = await CuttableLink.open(stage.node.address.port);
  connector = new ShardConnector(stage.discord, USER_ID);
  const nodes = [{ name: "stage", url: `127.0.0.1:${link.port}`, auth: STAGE_PASSWORD }];
  shoukaku = new Shoukaku(connector, nodes, { resume: true, resumeTimeout: 60, reconnectInterval: 0.02 });
  shoukaku.on("error", () => undefined); // a cut connection: `close` follows
  await once(shoukaku, "ready");
});
afterEach(async () => {
  for (const name of [...shoukaku.nodes.keys()]) shoukaku.removeNode(name);
  link.close();
  await stage.close();
});

async function joinVoice(): Promise<Player> {
  const player = await shoukaku.joinVoiceChannel({ guildId: GUILD_ID, channelId: CHANNEL_ID, shardId: 0 });
  await stage.discord.until(() => stage.discord.session(GUILD_ID).isOpen, "a voice session");
  await stage.discord.channel(CHANNEL_ID).settled();
  return player;
}

async function load(player: Player): Promise<string> {
  const result = await player.node.rest.resolve(`${stage.media.url}/chord.webm`);
  if (result?.loadType !== "track") throw new Error(`not a track: ${JSON.stringify(result)}`);
  return result.data.encoded;
}

function heard(): string[] {
  return stage.discord.channel(CHANNEL_ID).listener.heardSound.map(({ opus }) => packetText(opus));
}

async function hearMore(count: number): Promise<void> {
  const enough = heard().length + count;
  await stage.discord.until(() => heard().length >= enough, `${enough} frames`);
}

it("loads, plays, pauses, resumes, seeks, sets volume, and is told of start, updates and end", async () => {
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
  await walk(controls, { discord: stage.discord, guildId: GUILD_ID, channelId: CHANNEL_ID, song });
  await once(player, "end");
  expect(events).toEqual(["start Chord", "end finished"]);
  expect(heard().at(-1)).toBe(song.at(-1));
  expect(updates.length).toBeGreaterThanOrEqual(3);
  expect(updates.at(-1)?.state).toMatchObject({ connected: true });

  const { rest } = player.node;
  await shoukaku.leaveVoiceChannel(GUILD_ID);
  await stage.discord.until(() => !stage.discord.session(GUILD_ID).isConnected, "the end of voice");
  expect(await rest.getPlayers()).toEqual([]);
  stage.discord.assertClean();
});

it("follows to another voice server, and no packet that reached Discord is missing", async () => {
  const player = await joinVoice();
  await player.playTrack({ track: { encoded: await load(player) }, endTime: 3000 });
  await hearMore(25);
  const old = stage.discord.session(GUILD_ID);
  const closed = once(player, "closed");
  connector.shard.changeServer(GUILD_ID);
  const [event] = await closed;
  expect([1000, 4014]).toContain(event.code);
  const [end] = await once(player, "end");
  expect(end).toMatchObject({ reason: "finished" });
  const moved = stage.discord.session(GUILD_ID);
  expect(old.soundFrameCount + moved.soundFrameCount).toBe(PACKETS_IN_3_S);
  stage.discord.assertClean();
});

it("loses its connection and resumes: the music goes on, and what happened meanwhile is told", async () => {
  const player = await joinVoice();
  await player.playTrack({ track: { encoded: await load(player) }, endTime: 2000 });
  await hearMore(10);
  const ended = once(player, "end");
  const resumed = once(shoukaku, "ready");
  link.cut();
  expect(await resumed).toEqual(["stage", true, false]);
  expect((await ended)[0]).toMatchObject({ reason: "finished" });
  const song = await packetsOf("chord.webm");
  expect(heard()).toEqual(song.slice(0, heard().length));
  expect(heard().length).toBeGreaterThanOrEqual(100);
});
