// lavalink-client, unmodified, through the whole node: the usual calls, with a listener in an encrypted call.

import { once } from "node:events";
import { LavalinkManager, type Player, type Track, type VoicePacket } from "lavalink-client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { walk } from "../../support/client-walk.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { FakeShard } from "../../support/fake-shard.ts";
import { packetsOf, packetText, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const USER_ID = "100000000000000042";
const GUILD_ID = "1";
const CHANNEL_ID = "17";
/** With the one that holds what the decoder skips at the start. */
const PACKETS_IN_3_S = 151;

let env: TestEnvironment;
let link: CuttableLink;
const managers: LavalinkManager[] = [];
let shard: FakeShard;

beforeEach(async () => {
  env = await startTestEnvironment({
    media: { root: SONGS.pathname },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
  link = await CuttableLink.open(env.node.address.port);
});
afterEach(async () => {
  for (const manager of managers.splice(0)) for (const node of manager.nodeManager.nodes.values()) node.destroy();
  link.close();
  await env.close();
});

/** A bot's process: the library, its shard, its connection to the node. */
async function startBot(sessionId?: string): Promise<LavalinkManager> {
  const manager = new LavalinkManager({
    nodes: [
      {
        id: "test",
        host: "127.0.0.1",
        port: link.port,
        authorization: TEST_PASSWORD,
        retryDelay: 20,
        ...(sessionId === undefined ? {} : { sessionId }),
      },
    ],
    sendToShard: (_guildId, payload) => shard.receive(payload),
    client: { id: USER_ID, username: "bot" },
  });
  managers.push(manager);
  shard = new FakeShard(env.discord, USER_ID, (packet) => void manager.sendRawData(packet as unknown as VoicePacket));
  manager.nodeManager.on("error", () => undefined); // `disconnect` follows
  const isConnected = once(manager.nodeManager, "connect");
  await manager.init({ id: USER_ID, username: "bot" });
  await isConnected;
  return manager;
}

async function joinVoice(manager: LavalinkManager): Promise<Player> {
  const player = manager.createPlayer({ guildId: GUILD_ID, voiceChannelId: CHANNEL_ID, selfDeaf: true });
  await player.connect();
  const { discord } = env;
  await discord.until(() => discord.session(GUILD_ID).isOpen, "a voice session");
  await discord.channel(CHANNEL_ID).settled();
  return player;
}

async function load(player: Player): Promise<Track> {
  const result = await player.search({ query: `${env.media.url}/chord.webm`, source: "http" }, { id: USER_ID });
  expect(result.loadType).toBe("track");
  return result.tracks[0] as Track; // not an unresolved one: it has just been loaded
}

function received(): string[] {
  return env.discord.channel(CHANNEL_ID).listener.receivedAudio.map(({ opus }) => packetText(opus));
}

async function receiveMore(count: number): Promise<void> {
  const enough = received().length + count;
  await env.discord.until(() => received().length >= enough, `${enough} frames`);
}

it("lavalink-client loads, plays, pauses, resumes, seeks, sets volume, and receives start, updates and end", async () => {
  const manager = await startBot();
  const player = await joinVoice(manager);
  const track = await load(player);
  expect(track.info).toMatchObject({ title: "Chord", author: "Tonearm Lab", isSeekable: true, isStream: false });
  const events: string[] = [];
  manager.on("trackStart", (_player, started) => events.push(`start ${started?.info.title}`));
  manager.on("queueEnd", (_player, _track, payload) => events.push(`end ${"reason" in payload ? payload.reason : ""}`));
  let updates = 0;
  manager.on("playerUpdate", () => updates++);

  const controls = {
    play: () => player.play({ clientTrack: track }),
    pause: () => player.pause(),
    resume: () => player.resume(),
    seek: (positionMs: number) => player.seek(positionMs),
    setVolume: (volume: number) => player.setVolume(volume),
  };
  const song = await packetsOf("chord.webm");
  await walk(controls, { discord: env.discord, guildId: GUILD_ID, channelId: CHANNEL_ID, song });
  expect(player.connected).toBe(true);
  await once(manager, "queueEnd");
  expect(events).toEqual(["start Chord", "end finished"]);
  expect(received().at(-1)).toBe(song.at(-1));
  expect(updates).toBeGreaterThanOrEqual(3);

  await player.destroy();
  await env.discord.until(() => !env.discord.session(GUILD_ID).isConnected, "the end of voice");
  expect(await manager.nodeManager.nodes.get("test")?.fetchAllPlayers()).toEqual([]);
  env.discord.assertClean();
});

it("follows to another voice server, and no packet that reached Discord is missing", async () => {
  const manager = await startBot();
  const player = await joinVoice(manager);
  await player.play({ clientTrack: await load(player), endTime: 3000 });
  await receiveMore(25);
  const old = env.discord.session(GUILD_ID);
  const closed = once(manager, "playerSocketClosed");
  shard.changeServer(GUILD_ID);
  const [, event] = await closed;
  expect([1000, 4014]).toContain(event.code);
  const [, , end] = await once(manager, "queueEnd");
  expect(end).toMatchObject({ reason: "finished" });
  const moved = env.discord.session(GUILD_ID);
  expect(old.audioFrameCount + moved.audioFrameCount).toBe(PACKETS_IN_3_S);
  env.discord.assertClean();
});

it("lavalink-client loses its connection and resumes: the music continues, and missed events arrive", async () => {
  const manager = await startBot();
  const node = manager.nodeManager.nodes.get("test");
  if (node === undefined) throw new Error("no node");
  await node.updateSession(true, 60);
  const player = await joinVoice(manager);
  await player.play({ clientTrack: await load(player), endTime: 2000 });
  await receiveMore(10);
  node.options.sessionId = node.sessionId ?? "";
  const ended = once(manager, "queueEnd");
  const resumed = once(manager.nodeManager, "resumed");
  link.cut();
  const [, ready, players] = await resumed;
  expect(ready).toMatchObject({ resumed: true, sessionId: node.sessionId });
  expect(players).toMatchObject([{ guildId: GUILD_ID, state: { connected: true } }]);
  const [, , end] = await ended;
  expect(end).toMatchObject({ reason: "finished" });
  const song = await packetsOf("chord.webm");
  expect(received()).toEqual(song.slice(0, received().length));
  expect(received().length).toBeGreaterThanOrEqual(100);
});

it("a bot that starts again takes up its old session", async () => {
  const first = await startBot();
  const node = first.nodeManager.nodes.get("test");
  await node?.updateSession(true, 60);
  const sessionId = node?.sessionId ?? "";
  const player = await joinVoice(first);
  await player.play({ clientTrack: await load(player) });
  await receiveMore(10);
  // The old process has ended silently; its library must not reconnect by itself.
  if (node !== undefined) Object.assign(node, { reconnect: () => undefined });
  link.cut();

  const second = await startBot(sessionId);
  const players = await second.nodeManager.nodes.get("test")?.fetchAllPlayers();
  expect(players).toMatchObject([{ guildId: GUILD_ID, track: { info: { title: "Chord" } } }]);
  await receiveMore(25);
  const song = await packetsOf("chord.webm");
  expect(received()).toEqual(song.slice(0, received().length));
});
