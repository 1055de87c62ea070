import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeDiscord, type IssueVoiceOptions } from "../../../../lab/discord/fake-discord.ts";
import type { Listener } from "../../../../lab/discord/listener.ts";
import type { VoiceChannel } from "../../../../lab/discord/voice-channel.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { ReferenceVoiceClient } from "../../../support/reference-voice-client.ts";
import { timeFor } from "../../../support/time-passes.ts";

const GUILD = "100000000000000001";
const BOT = "200000000000000002";
const CHANNEL = "300000000000000003";

let clock: FakeClock;
let discord: FakeDiscord;
let client: ReferenceVoiceClient;

beforeEach(async () => {
  clock = new FakeClock();
  discord = await FakeDiscord.start({ clock });
});

afterEach(async () => {
  client.close();
  await discord.close();
});

/** A channel with its listeners, before any bot. */
function channelWith(options: Partial<IssueVoiceOptions> = {}): VoiceChannel {
  return discord.createChannel({ guildId: GUILD, channelId: CHANNEL, ...options });
}

/** The bot joins and waits for its group. */
async function join(): Promise<ReferenceVoiceClient> {
  const channel = discord.channel(CHANNEL);
  await channel.settled();
  const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
  client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
  client.speaking(1);
  await discord.until(() => channel.isInGroup(BOT), "bot in the group");
  await channel.settled();
  await client.until(() => client.isEncrypting);
  return client;
}

let frameNumber = 0;

/** Sends frames and expects each listener to receive exactly them. */
async function expectReceived(listeners: readonly Listener[], { isEncrypted = true } = {}): Promise<void> {
  const frames = Array.from({ length: 5 }, () => Buffer.from([0xfc, 1, frameNumber++ & 0xff, 3, 4, 5]));
  const before = listeners.map((listener) => listener.receivedCount);
  const undelivered = listeners.map((listener) => listener.undeliveredCount);
  for (const frame of frames) client.sendOpus(frame);
  for (const [index, listener] of listeners.entries()) {
    const start = before[index] ?? 0;
    await discord.until(() => listener.receivedCount >= start + frames.length, `frames at ${listener.userId}`);
    const received = listener.received.slice(start);
    expect(received.map((frame) => frame.opus)).toEqual(frames);
    expect(received.every((frame) => frame.daveDecrypted === isEncrypted)).toBe(true);
    expect(listener.undeliveredCount).toBe(undelivered[index]);
  }
}

function expectSameCode(channel: VoiceChannel): void {
  for (const listener of channel.listeners) {
    expect(channel.voicePrivacyCode(listener)).toBe(client.dave?.voicePrivacyCode);
  }
}

describe("a first group", () => {
  test.each([
    ["bot", 0],
    ["bot", 7],
    ["listener", 0],
    ["listener", 65_535],
    ["first", 0],
  ] as const)(
    "a first group with the commit of the %s and id %i is formed, and its frames are decrypted",
    async (commitWinner, id) => {
      const channel = channelWith();
      channel.policy.commitWinner = commitWinner;
      channel.policy.firstTransitionId = id;
      await join();
      expect(client.count(commitWinner === "bot" ? 29 : 30)).toBe(1);
      expect(client.count(22)).toBe(id === 0 ? 0 : 1);
      expectSameCode(channel);
      await expectReceived(channel.listeners);
      discord.assertClean();
    },
  );

  test("a first group forms when a listener joins a lone bot, with op 25 ahead of op 4", async () => {
    const channel = channelWith({ listenerIds: [] });
    channel.policy.externalSenderAt = "beforeSessionDescription";
    const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
    client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
    expect(client.messages.findIndex(({ op }) => op === 25)).toBeLessThan(
      client.messages.findIndex(({ op }) => op === 4),
    );
    client.speaking(1);
    await channel.settled();
    await channel.addListener();
    await client.until(() => client.isEncrypting);
    await expectReceived(channel.listeners);
    discord.assertClean();
  });
});

describe("a running group", () => {
  test("a running group adds the bot, which stays silent until op 22", async () => {
    const channel = channelWith({ listenerIds: ["81", "82"] });
    channel.policy.executeDelayMs = 50;
    await timeFor(clock, join());
    const ops = client.messages.map((message) => message.op);
    expect(ops.filter((op) => [27, 29, 30, 22].includes(op))).toEqual([27, 30, 22]);
    await expectReceived(channel.listeners);
    discord.assertClean();
  });

  test.each(["announce", "execute"] as const)(
    "a running group adds a third member; listeners process at %s",
    async (when) => {
      const channel = channelWith();
      await join();
      channel.policy.commitWinner = "listener";
      channel.policy.listenersProcess = when;
      channel.policy.executeDelayMs = 30;
      const [first] = channel.listeners;
      const adding = channel.addListener("82");
      await client.until(() => client.count(29) === 2);
      await expectReceived(first === undefined ? [] : [first]);
      const second = await timeFor(clock, adding);
      await client.until(() => client.has(22));
      await expectReceived([first, second].flatMap((listener) => listener ?? []));
      expectSameCode(channel);
      discord.assertClean();
    },
  );

  test("a running group announces the bot's own commit when it wins", async () => {
    const channel = channelWith();
    await join();
    await channel.addListener("82");
    await client.until(() => client.has(22));
    await expectReceived(channel.listeners);
    discord.assertClean();
  });

  test("a running group loses a member and reuses its leaf for the next", async () => {
    const channel = channelWith({ listenerIds: ["81", "82"] });
    await join();
    await channel.removeListener("81");
    await channel.addListener("83");
    await channel.addListener("84");
    await client.until(() => client.count(22) === 4);
    await expectReceived(channel.listeners);
    expectSameCode(channel);
    discord.assertClean();
  });

  test("transition ids of a running group go up to 65535 and continue with 1", async () => {
    const channel = channelWith();
    await join();
    channel.policy.nextTransitionId = 65_535;
    await channel.addListener("82");
    await channel.addListener("83");
    await client.until(() => client.count(22) === 2);
    const ids = client.messages.filter(({ op }) => op === 22).map(({ d }) => d);
    expect(ids).toEqual([{ transition_id: 65_535 }, { transition_id: 1 }]);
    discord.assertClean();
  });

  test("a running group survives 25 listeners that join at once", async () => {
    const channel = channelWith();
    await join();
    for (let index = 0; index < 24; index++) channel.enter(String(900 + index));
    await channel.settled();
    await client.until(() => client.has(22));
    await expectReceived(channel.listeners);
    discord.assertClean();
  });
});

describe("the last member", () => {
  test.each([1, 0])(
    "a bot that remains alone resets its group (op 21 with version %i) and is joined by the next listener",
    async (version) => {
      const channel = channelWith();
      channel.policy.soleMemberVersion = version;
      await join();
      await channel.removeListener(channel.listener);
      expect(client.last(24)).toEqual({ protocol_version: 1, epoch: 1 });
      expect(client.last(21)).toEqual({ protocol_version: version, transition_id: 0 });
      expect(discord.session(GUILD).countOf(26)).toBe(2);
      expect(client.isEncrypting).toBe(false);
      await channel.addListener("82");
      await client.until(() => client.isEncrypting);
      await expectReceived(channel.listeners);
      discord.assertClean();
    },
  );

  test("a bot that returns to a lone listener joins a new first group", async () => {
    const channel = channelWith();
    await join();
    client.close();
    await discord.until(() => !channel.isInGroup(BOT), "bot left");
    await channel.settled();
    await join();
    await expectReceived(channel.listeners);
    discord.assertClean();
  });
});

describe("a downgrade", () => {
  test("a downgrade makes frames plain from op 22 on, and an upgrade encrypts them again", async () => {
    const channel = channelWith();
    await join();
    await expectReceived(channel.listeners);
    await channel.downgrade();
    await client.until(() => !client.isEncrypting);
    await expectReceived(channel.listeners, { isEncrypted: false });
    await channel.upgrade();
    await client.until(() => client.isEncrypting);
    await expectReceived(channel.listeners);
    discord.assertClean();
  });
});

describe("recovery", () => {
  test("a broken commit is answered with op 31, and the bot is removed and added again", async () => {
    const channel = channelWith();
    await join();
    await channel.sendBrokenCommit();
    expect(discord.session(GUILD).countOf(31)).toBe(1);
    await client.until(() => client.isEncrypting);
    await expectReceived(channel.listeners);
    expectSameCode(channel);
    discord.assertClean();
  });

  test("a broken Welcome is answered with op 31, and the bot is removed and added again", async () => {
    const channel = channelWith({ listenerIds: ["81", "82"] });
    await channel.settled();
    channel.breakNextWelcome();
    const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
    client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
    client.speaking(1);
    await discord.until(() => discord.session(GUILD).countOf(31) === 1, "op 31");
    await channel.recovered();
    await client.until(() => client.isEncrypting);
    await expectReceived(channel.listeners);
    discord.assertClean();
  });

  test.each(["atOnce", "afterCommits"] as const)("a revoked proposal (%s) changes nothing", async (when) => {
    const channel = channelWith();
    await join();
    const epoch = channel.epoch;
    await channel.proposeAndRevoke(when);
    expect(channel.epoch).toBe(epoch);
    await expectReceived(channel.listeners);
    await channel.addListener("82");
    await client.until(() => client.has(22));
    await expectReceived(channel.listeners);
    discord.assertClean();
  });

  test("repeated op 25, 29, 30 and an unknown op 22 have no effect", async () => {
    const channel = channelWith({ listenerIds: ["81", "82"] });
    discord.faults.add("welcome", { kind: "duplicate" });
    await join();
    discord.faults.add("announceCommit", { kind: "duplicate" });
    await channel.addListener("83");
    channel.repeatExternalSender();
    channel.executeUnknownTransition(999);
    await client.until(() => client.count(25) === 2 && client.count(22) === 3);
    await expectReceived(channel.listeners);
    discord.assertClean();
  });

  test.each(["proposals", "announceCommit", "executeTransition"] as const)(
    "a connection cut at %s resumes and loses nothing",
    async (step) => {
      const channel = channelWith();
      await join();
      discord.session(GUILD).faults.add(step, { kind: "terminate" });
      const adding = channel.addListener("82");
      await client.until(() => client.closeCode === 1006);
      await client.resume();
      const second = await adding;
      await client.until(() => client.has(22));
      await expectReceived([channel.listener, second]);
      discord.assertClean();
    },
  );
});

test.each(["externalSender", "proposals", "announceCommit", "executeTransition"] as const)(
  "a connection cut at %s while the first group forms resumes into it",
  async (step) => {
    const channel = channelWith();
    channel.policy.firstTransitionId = 5;
    discord.faults.add(step, { kind: "terminate" });
    const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
    client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
    await client.until(() => client.closeCode === 1006);
    await client.resume();
    await client.until(() => client.isEncrypting);
    client.speaking(1);
    await expectReceived(channel.listeners);
    discord.assertClean();
  },
);

test("a voice server change in the same channel lets both servers receive until the old one closes", async () => {
  const channel = channelWith({ listenerIds: ["81", "82"] });
  const old = await join();
  await expectReceived(channel.listeners);
  const voice = discord.moveVoice({ guildId: GUILD, closeOld: "never" });
  const next = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
  await next.until(() => next.isEncrypting);
  next.speaking(1);
  await expectReceived(channel.listeners); // still from the old one
  client = next;
  await expectReceived(channel.listeners);
  old.close();
  await channel.addListener("83");
  await client.until(() => client.count(22) === 2);
  await expectReceived(channel.listeners);
  discord.assertClean();
});

test("a move to another channel makes a new group", async () => {
  channelWith();
  const old = await join();
  const voice = discord.moveVoice({ guildId: GUILD, channelId: "400000000000000004" });
  const channel = discord.channel("400000000000000004");
  client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
  old.close();
  client.speaking(1);
  await client.until(() => client.isEncrypting);
  await expectReceived(channel.listeners);
  discord.assertClean();
});
