import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  DEFAULT_LISTENER_ID,
  FakeDiscord,
  type FakeDiscordOptions,
  type IssueVoiceOptions,
} from "../../../../lab/discord/fake-discord.ts";
import { SILENCE_FRAME } from "../../../../lab/discord/rtp-receiver.ts";
import { TRANSPORT_MODES } from "../../../../lab/discord/transport-crypto.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type ReferenceClientOptions, ReferenceVoiceClient } from "../../../support/reference-voice-client.ts";
import { timePasses } from "../../../support/time-passes.ts";

const GUILD = "100000000000000001";
const BOT = "200000000000000002";
const CHANNEL = "300000000000000003";

let discord: FakeDiscord;
let clock: FakeClock;
let clients: ReferenceVoiceClient[] = [];

async function start(options: FakeDiscordOptions = {}): Promise<void> {
  await discord?.close();
  clock = new FakeClock();
  discord = await FakeDiscord.start({ clock, ...options });
}

function issue(options: Partial<IssueVoiceOptions> = {}) {
  return discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL, daveVersion: 0, ...options });
}

function newClient(options: Partial<ReferenceClientOptions> = {}): ReferenceVoiceClient {
  const client = new ReferenceVoiceClient({ guildId: GUILD, userId: BOT, voice: options.voice ?? issue(), ...options });
  clients.push(client);
  return client;
}

async function connect(options: Partial<ReferenceClientOptions> = {}): Promise<ReferenceVoiceClient> {
  const voice = options.voice ?? issue();
  const client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice, ...options });
  clients.push(client);
  return client;
}

/** Sends `count` different frames and waits until the listener has them. */
async function play(client: ReferenceVoiceClient, count: number): Promise<Buffer[]> {
  const session = discord.session(client.options.voice);
  const before = session.frameCount;
  const frames = Array.from({ length: count }, (_, index) => Buffer.from([0xfc, index, 1, 2, 3]));
  for (const frame of frames) client.sendOpus(frame);
  await discord.until(() => session.frameCount >= before + count, `${count} frames`);
  return frames;
}

function kinds(): string[] {
  return discord.violations.map((violation) => violation.kind);
}

async function closeCodeOf(client: ReferenceVoiceClient): Promise<number | undefined> {
  await client.until(() => client.closeCode !== undefined);
  return client.closeCode;
}

beforeEach(() => start());

afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await discord.close();
});

describe("a well-behaved client", () => {
  test.each(TRANSPORT_MODES)("the fake Discord receives frames encrypted with %s", async (mode) => {
    const client = await connect({ mode });
    client.speaking(1);
    const frames = await play(client, 60);
    client.stop();
    await discord.until(() => discord.session(GUILD).speaking === 0, "op 5 zero");
    const { listener } = discord.channel(CHANNEL);
    await discord.until(() => listener.receivedCount === 65, "silence frames");
    expect(listener.receivedAudio.map((frame) => frame.opus)).toEqual(frames);
    expect(listener.received.at(-1)).toMatchObject({ isSilence: true, daveDecrypted: false, userId: BOT });
    discord.assertClean();
  });

  test("a client learns its address by IP discovery and may send keepalives", async () => {
    const client = await connect();
    const answer = await client.discover();
    expect(answer.toString("ascii", 8, answer.indexOf(0, 8))).toBe("127.0.0.1");
    expect(answer.readUInt16BE(72)).toBe((await client.udp()).address().port);
    client.sendUdp(Buffer.alloc(8));
    client.sendUdp(Buffer.from("c90000000000000000", "hex"));
    await discord.until(() => discord.session(GUILD).keepaliveCount === 2, "keepalives");
    discord.assertClean();
  });

  test("heartbeats are acknowledged with the client's nonce", async () => {
    await start({ heartbeatIntervalMs: 20 });
    const client = await connect();
    await client.until(() => client.count(6) >= 3);
    expect(client.last(6)).toEqual({ t: expect.any(Number) });
    discord.assertClean();
  });

  test("a client is notified of listeners that are present, join and leave", async () => {
    const client = await connect();
    expect(client.last(11)).toEqual({ user_ids: [DEFAULT_LISTENER_ID] });
    await discord.channel(CHANNEL).addListener("77");
    await client.until(() => client.count(11) === 2);
    await discord.channel(CHANNEL).removeListener("77");
    await client.until(() => client.has(13));
    expect(client.last(13)).toEqual({ user_id: "77" });
  });

  test("messages to a client are numbered across the wrap", async () => {
    await start({ firstSeq: 65_534 });
    const client = await connect();
    await discord.channel(CHANNEL).addListener("77");
    await client.until(() => client.count(11) === 2);
    const numbers = client.messages.flatMap((message) => message.seq ?? []);
    expect(numbers.slice(0, 4)).toEqual([65_534, 65_535, 0, 1]);
  });
});

describe("Resume", () => {
  test("Resume replays missed messages, and audio continues", async () => {
    const client = await connect();
    client.speaking(1);
    await play(client, 3);
    const session = discord.session(GUILD);
    client.drop();
    await discord.until(() => !session.isConnected, "lost connection");
    await discord.channel(CHANNEL).addListener("77");
    await play(client, 3);
    await client.resume();
    await client.until(() => client.count(11) === 2);
    expect(client.messages.find((message) => message.op === 9)).toEqual({ op: 9, d: null });
    await play(client, 3);
    expect(session.resumeCount).toBe(1);
    expect(discord.channel(CHANNEL).listener.receivedCount).toBe(9);
  });

  test("Resume is refused with 4006 for another session, an unknown number, and after a close that forbids it", async () => {
    const client = await connect();
    client.drop();
    await discord.until(() => !discord.session(GUILD).isConnected, "lost connection");
    await client.resume({ session_id: "other" });
    expect(await closeCodeOf(client)).toBe(4006);
    await client.resume({ seq_ack: 999 });
    expect(await closeCodeOf(client)).toBe(4006);
    await client.resume();
    await client.until(() => client.has(9));
    discord.session(GUILD).close(4009);
    expect(await closeCodeOf(client)).toBe(4009);
    await client.resume();
    expect(await closeCodeOf(client)).toBe(4006);
  });

  test("Resume replays a message that was lost with a cut connection", async () => {
    const client = await connect();
    discord.session(GUILD).faults.add("clientsConnect", { kind: "terminate" });
    await discord.channel(CHANNEL).addListener("77");
    expect(await closeCodeOf(client)).toBe(1006);
    expect(client.count(11)).toBe(1);
    await client.resume();
    await client.until(() => client.count(11) === 2);
    expect(client.last(11)).toEqual({ user_ids: ["77"] });
  });
});

describe("refused messages", () => {
  test("credentials that Discord refuses are closed with its code", async () => {
    const voice = issue();
    const attempts: [ReferenceClientOptions["identify"], number][] = [
      [{ token: "stolen" }, 4004],
      [{ session_id: "other" }, 4006],
      [{ server_id: "9" }, 4011],
      [{ user_id: 5 }, 4002],
    ];
    for (const [identify, code] of attempts) {
      const client = newClient({ voice, identify: identify ?? {} });
      await client.open();
      client.identify();
      expect(await closeCodeOf(client)).toBe(code);
    }
    expect(kinds()).toEqual(["gateway-identify", "gateway-identify", "gateway-identify"]);
    expect(discord.connections.map((record) => record.closedBy)).toEqual(["server", "server", "server", "server"]);
  });

  test("a client without DAVE gets 4017 in a channel that demands it", async () => {
    const client = newClient({ voice: issue({ daveVersion: 1 }), daveVersionMax: 0 });
    await client.open();
    client.identify();
    expect(await closeCodeOf(client)).toBe(4017);
  });

  test("anything before Identify gets 4003, a second Identify 4005, an unknown opcode 4001, rubbish 4002", async () => {
    const early = newClient();
    await early.open();
    early.speaking(1);
    expect(await closeCodeOf(early)).toBe(4003);
    const twice = await connect();
    twice.identify();
    expect(await closeCodeOf(twice)).toBe(4005);
    const unknown = await connect();
    unknown.send(99, {});
    expect(await closeCodeOf(unknown)).toBe(4001);
    const rubbish = await connect();
    rubbish.sendText("{");
    expect(await closeCodeOf(rubbish)).toBe(4002);
  });

  test("an unknown protocol gets 4012, a mode that was not offered 4016", async () => {
    for (const [select, code] of [
      [(client: ReferenceVoiceClient) => client.send(1, { protocol: "webrtc" }), 4012],
      [(client: ReferenceVoiceClient) => client.select({ mode: "xsalsa20_poly1305" }), 4016],
    ] as const) {
      const client = newClient();
      await client.open();
      client.identify();
      await client.ready();
      select(client);
      expect(await closeCodeOf(client)).toBe(code);
    }
  });

  test("a client that stops heartbeating is closed with 4009", async () => {
    await start({ heartbeatIntervalMs: 10 });
    const client = await connect();
    await client.until(() => client.has(6));
    client.mute.add(3);
    await timePasses(clock, () => client.closeCode !== undefined);
    expect(client.closeCode).toBe(4009);
    expect(kinds()).toContain("gateway-heartbeat-missing");
  });

  test("a heartbeat must acknowledge exactly the messages sent", async () => {
    const client = await connect();
    client.send(3, { t: 1, seq_ack: 9999 });
    client.send(3, { t: 2 });
    await client.until(() => client.count(6) === 2);
    expect(kinds()).toEqual(["gateway-seq-ack", "gateway-seq-ack"]);
  });

  test("a malformed discovery request gets no answer", async () => {
    const client = await connect();
    const request = client.discoveryRequest();
    request[20] = 1;
    client.sendUdp(request);
    await client.discover(); // datagrams of one socket arrive in order
    expect(kinds()).toEqual(["discovery-malformed"]);
  });
});

describe("faulty audio", () => {
  test.each([
    ["a repeated sequence", "rtp-sequence", { sequence: 65_535 }],
    ["a hole in the sequence", "rtp-lost", { sequence: 5 }],
    ["an odd timestamp", "rtp-timestamp", { timestamp: 1 }],
    ["a timestamp that stands still", "rtp-timestamp", { timestamp: 0 }],
    ["a used nonce", "nonce-reuse", { nonce: 1 }],
    ["a foreign SSRC", "rtp-unknown-ssrc", { ssrc: 1 }],
    ["a header extension", "rtp-header", { firstByte: 0x90 }],
  ])("a packet with %s is reported", async (_name, kind, overrides) => {
    const client = await connect();
    client.speaking(1);
    await play(client, 2);
    client.sendPacket(Buffer.from([0xfc, 1]), overrides);
    // Behind it on the same socket, so that it has been judged when this is answered.
    await client.discover();
    expect(kinds()).toContain(kind);
    expect(() => discord.assertClean()).toThrow(kind);
  });

  test("frames skipped on purpose are counted, not reported", async () => {
    const client = await connect();
    client.speaking(1);
    await play(client, 1);
    client.timestamp += 960 * 7;
    await play(client, 1);
    expect(discord.session(GUILD).receiver.skippedFrames).toBe(7);
    expect(kinds()).toEqual([]);
  });

  test("audio without op 5, and a stop without silence, are reported when settled", async () => {
    const client = await connect();
    await play(client, 1);
    expect(() => discord.assertClean()).toThrow("speaking-missing");
    discord.clearViolations();
    client.speaking(1);
    await play(client, 1);
    client.speaking(0);
    await discord.until(
      () => discord.session(GUILD).received.at(-1)?.op === 5 && discord.session(GUILD).speaking === 0,
      "op 5",
    );
    expect(() => discord.assertClean()).toThrow("silence-missing");
  });

  test("a packet that does not decrypt is reported", async () => {
    const client = await connect();
    client.secretKey = Buffer.alloc(32, 7);
    client.sendPacket(Buffer.from([1, 2, 3]));
    await client.discover();
    expect(kinds()).toContain("transport-undecryptable");
  });
});

describe("a move", () => {
  test("a move closes the old connection with 4014 and retires its credentials", async () => {
    const client = await connect();
    const old = client.options.voice;
    const moved = discord.moveVoice({ guildId: GUILD, channelId: "400", daveVersion: 0 });
    expect(await closeCodeOf(client)).toBe(4014);
    expect(moved).toMatchObject({ endpoint: discord.endpoint, channelId: "400" });
    const stale = newClient({ voice: old });
    await stale.open();
    stale.identify();
    expect(await closeCodeOf(stale)).toBe(4006);
    const next = await connect({ voice: moved });
    next.speaking(1);
    await play(next, 3);
    expect(discord.channel("400").listener.receivedCount).toBe(3);
  });

  test("a move can leave the old connection playing until the new one identifies", async () => {
    const client = await connect();
    client.speaking(1);
    const moved = discord.moveVoice({ guildId: GUILD, closeOld: "afterIdentify", closeCode: 4022 });
    await play(client, 3);
    await connect({ voice: moved });
    expect(await closeCodeOf(client)).toBe(4022);
    expect(discord.channel(CHANNEL).listener.receivedCount).toBe(3);
  });
});

describe("faults", () => {
  test("a client that connects with TLS is refused, and counted as such", async () => {
    const [host = "", port] = discord.endpoint.split(":");
    for (const hello of ["\u0016\u0003\u0001 and what follows", "no HTTP at all\r\n\r\n"]) {
      const socket = connectTcp(Number(port), host);
      socket.resume().end(hello, "latin1");
      await once(socket, "close");
    }
    expect(discord.tlsAttemptCount).toBe(1);
    expect(discord.upgradeCount).toBe(0);
  });

  test("a fault refuses an upgrade with a status, drops it, or leaves it unanswered", async () => {
    const client = newClient();
    discord.faults.add("upgrade", { kind: "status", status: 521 });
    await expect(client.open()).rejects.toThrow("521");
    discord.faults.add("upgrade", { kind: "terminate" });
    await expect(client.open()).rejects.toThrow();
    discord.faults.add("upgrade", { kind: "hang" });
    const hanging = client.open();
    hanging.catch(() => undefined);
    await discord.until(() => discord.upgradeCount === 3, "third upgrade");
    expect(discord.connections).toEqual([]);
  });

  test.each([
    ["hello", 8],
    ["ready", 2],
    ["sessionDescription", 4],
  ] as const)("a fault withholds %s, closes with a code in its place, or delays it", async (step, op) => {
    discord.faults.add(step, { kind: "withhold" }).add(step, { kind: "close", code: 4015 });
    discord.faults.add(step, { kind: "delay", delayMs: 30 });
    const silent = newClient();
    await walkTo(silent, step);
    silent.send(3, { t: 1, seq_ack: silent.seqAck });
    await silent.until(() => silent.has(6));
    expect(silent.has(op)).toBe(false);
    const closed = newClient();
    await walkTo(closed, step);
    expect(await closeCodeOf(closed)).toBe(4015);
    const late = newClient();
    await walkTo(late, step);
    await timePasses(clock, () => late.has(op));
  });

  test("a fault drops discovery answers, sends a foreign one first, or makes UDP unreachable", async () => {
    const client = await connect();
    const session = discord.session(GUILD);
    session.faults.add("discovery", { kind: "withhold" }, 2).add("discovery", { kind: "foreignAnswer" });
    const before = session.discoveryCount;
    const udp = await client.udp();
    let answers = 0;
    udp.on("message", () => answers++);
    client.sendUdp(client.discoveryRequest());
    client.sendUdp(client.discoveryRequest());
    await discord.until(() => session.discoveryCount === before + 2, "requests");
    expect((await client.discover()).toString("ascii", 8, 17)).toBe("127.0.0.1");
    expect(answers).toBe(1); // a connected socket never receives the foreign answer
    session.isUdpReachable = false;
    client.sendPacket(Buffer.from([1]));
    session.isUdpReachable = true;
    discord.assertClean();
  });

  test("a fault can withhold heartbeat acknowledgements without end", async () => {
    await start({ heartbeatIntervalMs: 10 });
    discord.faults.add("heartbeatAck", { kind: "withhold" }, Number.POSITIVE_INFINITY);
    const client = await connect();
    await discord.until(() => discord.session(GUILD).heartbeatCount >= 5, "heartbeats");
    expect(client.has(6)).toBe(false);
  });
});

describe("a cut", () => {
  test("a cut after the Session Description is repaired by Resume, and audio continues", async () => {
    discord.faults.add("sessionDescription", { kind: "terminate", when: "after" });
    const client = newClient();
    await walkTo(client, "sessionDescription");
    expect(await closeCodeOf(client)).toBe(1006);
    await client.resume();
    await client.until(() => client.has(9));
    await client.discover();
    client.speaking(1);
    await play(client, 3);
    expect(discord.connections.map((record) => record.binding)).toEqual(["identify", "resume"]);
  });

  test("a cut that loses the Session Description needs a new Identify, which gets a new SSRC", async () => {
    discord.faults.add("sessionDescription", { kind: "terminate", canResume: false });
    const client = newClient();
    await walkTo(client, "sessionDescription");
    expect(await closeCodeOf(client)).toBe(1006);
    await client.resume();
    expect(await closeCodeOf(client)).toBe(4006);
    const again = await connect({ voice: client.options.voice });
    expect(again.ssrc).toBe(client.ssrc + 1);
    again.speaking(1);
    await play(again, 3);
    expect(discord.session(GUILD).identifyCount).toBe(2);
    discord.assertClean();
  });

  test("packets for the old SSRC are accepted until half a second after the new Identify", async () => {
    const client = await connect();
    client.drop();
    const again = await connect({ voice: client.options.voice });
    again.speaking(1);
    const late = Buffer.alloc(40);
    late.writeUInt16BE(0x8078, 0);
    late.writeUInt32BE(client.ssrc, 8);
    // One socket for both streams: the second shows that the first has arrived.
    clock.advance(500);
    again.sendUdp(late);
    await play(again, 1);
    expect(kinds()).toEqual([]);
    clock.advance(1);
    again.sendUdp(late);
    await play(again, 1);
    expect(kinds()).toEqual(["rtp-unknown-ssrc"]);
    expect(discord.session(GUILD).frameCount).toBe(2);
  });

  test("a cut longer than the Resume window ends the session", async () => {
    await start({ resumeWindowMs: 5000 });
    const client = await connect();
    const next = await connect({ guildId: "5", userId: "6", voice: issue({ guildId: "5", userId: "6" }) });
    const isHere = () => discord.session(GUILD).isConnected;
    client.drop();
    await discord.until(() => !isHere(), "the end of the connection");
    clock.advance(4999);
    await client.resume();
    await client.until(() => client.has(9));
    client.drop();
    await discord.until(() => !isHere(), "the end of the connection");
    expect(next.has(13)).toBe(false);
    clock.advance(5000);
    await next.until(() => next.has(13));
    await client.resume();
    expect(await closeCodeOf(client)).toBe(4006);
  });

  test("a cut of UDP is reported to the sender as an error", async () => {
    const client = await connect();
    const udp = await client.udp();
    const refused = once(udp, "error");
    discord.closeUdp();
    // Sent until the kernel has answered one: closing the port may come after the first.
    const timer = setInterval(() => client.sendPacket(Buffer.from([1])), 5);
    expect((await refused)[0]).toMatchObject({ code: "ECONNREFUSED" });
    clearInterval(timer);
  });
});

describe("many players", () => {
  test("many players are distinguished by SSRC, on several sockets, and counted without keeping frames", async () => {
    await start({ keepFrames: false, decryptEvery: 4, udpSocketCount: 3, firstSsrc: 0xffff_fff0 });
    const players = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const guildId = String(500 + index);
        const voice = issue({ guildId, channelId: String(600 + index) });
        const client = await connect({ guildId, voice });
        client.speaking(1);
        await play(client, 8);
        client.stop();
        await discord.until(() => discord.session(voice).frameCount === 13, "silence frames");
        await discord.until(() => discord.session(voice).speaking === 0, "op 5 zero");
        return voice;
      }),
    );
    discord.assertClean();
    const stats = discord.stats();
    expect(stats.streams).toHaveLength(8);
    expect(stats.total).toMatchObject({ frames: 8 * 13, audioFrames: 8 * 8, lostPackets: 0, packets: 8 * 13 });
    expect(structuredClone(stats)).toEqual(stats);
    const { listener } = discord.channel(players[0]?.channelId ?? "");
    expect(listener.received).toEqual([]);
    expect(listener.receivedCount).toBe(4);
    discord.clearArrivals();
    expect(discord.stats().total.packets).toBe(0);
  });

  test("the time of a player's first audio is recorded, without silence before it", async () => {
    const client = await connect();
    const { receiver } = discord.session(GUILD);
    client.sendOpus(SILENCE_FRAME);
    await discord.until(() => receiver.frameCount === 1, "a silence frame");
    expect(receiver.firstAudioMs).toBeUndefined();
    clock.advance(40);
    await play(client, 2);
    expect(receiver.firstAudioMs).toBe(clock.now());
    clock.advance(20);
    await play(client, 1);
    expect(receiver.firstAudioMs).toBe(clock.now() - 20);
    expect(discord.receivers).toEqual([receiver]);
  });

  test("players in one channel are notified of each other, and listeners of each", async () => {
    const first = await connect();
    const second = await connect({ userId: "9", voice: issue({ userId: "9" }) });
    await first.until(() => first.count(11) === 2);
    expect(second.last(11)).toEqual({ user_ids: [DEFAULT_LISTENER_ID, BOT] });
    second.speaking(1);
    await first.until(() => first.has(5));
    expect(first.last(5)).toEqual({ user_id: "9", ssrc: second.ssrc, speaking: 1 });
    await play(second, 2);
    expect(discord.channel(CHANNEL).listener.received.map((frame) => frame.userId)).toEqual(["9", "9"]);
  });
});

/** As far as the client gets before `step`. */
async function walkTo(client: ReferenceVoiceClient, step: "hello" | "ready" | "sessionDescription"): Promise<void> {
  await client.open();
  if (step !== "hello") client.identify();
  if (step === "sessionDescription") {
    await client.ready();
    client.select();
  }
}
