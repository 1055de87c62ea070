// The DAVE mistakes of a bot that the fake Discord reports.

import { DAVESession } from "@snazzah/davey";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MemberSlot } from "../../../../lab/discord/dave-member.ts";
import { ExternalSender, encodeGroupId, encodeProposals } from "../../../../lab/discord/external-sender.ts";
import { FakeDiscord } from "../../../../lab/discord/fake-discord.ts";
import type { VoiceChannel } from "../../../../lab/discord/voice-channel.ts";
import type { IssuedVoice } from "../../../../lab/discord/voice-session.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { ReferenceVoiceClient } from "../../../support/reference-voice-client.ts";
import { timeFor, timePasses } from "../../../support/time-passes.ts";

const GUILD = "100000000000000001";
const BOT = "200000000000000002";
const CHANNEL = "300000000000000003";
const OPUS = Buffer.from([0xfc, 1, 2, 3]);

let clock: FakeClock;
let discord: FakeDiscord;
let client: ReferenceVoiceClient;
let voice: IssuedVoice;
let channel: VoiceChannel;

beforeEach(async () => {
  clock = new FakeClock();
  discord = await FakeDiscord.start({ clock });
  channel = discord.createChannel({ guildId: GUILD, channelId: CHANNEL });
});

afterEach(async () => {
  client.close();
  await discord.close();
});

async function connect(mute: readonly number[] = [], daveVersionMax = 1): Promise<void> {
  voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
  await identify(mute, daveVersionMax);
}

async function identify(mute: readonly number[] = [], daveVersionMax = 1): Promise<void> {
  await begin(mute, daveVersionMax);
  await select();
}

/** Up to op 2. */
async function begin(mute: readonly number[] = [], daveVersionMax = 1): Promise<void> {
  client = new ReferenceVoiceClient({ guildId: GUILD, userId: BOT, voice, daveVersionMax });
  for (const op of mute) client.mute.add(op);
  await client.open();
  client.identify();
  await client.ready();
}

async function select(): Promise<void> {
  await client.discover();
  client.select();
  await client.until(() => client.has(4));
  client.speaking(1);
}

async function join(): Promise<void> {
  await connect();
  await client.until(() => client.isEncrypting);
  await channel.settled();
}

function untilViolation(kind: string): Promise<void> {
  return discord.until(() => discord.violations.some((violation) => violation.kind === kind), kind);
}

test("a negotiation that op 24 overtakes is abandoned, and the commits for it are not announced", async () => {
  await connect([28]);
  await client.until(() => client.has(27));
  client.mute.delete(28);
  await timeFor(clock, channel.upgrade());
  await client.until(() => client.isEncrypting);
  expect([client.count(29), discord.violations]).toEqual([1, []]);
});

test("a missing key package is reported", async () => {
  await connect([26]);
  await timeFor(clock, untilViolation("dave-key-package-missing"));
});

test("a foreign key package and an invalid one are reported", async () => {
  await connect([26]);
  client.sendBinary(26, new DAVESession(1, "5", CHANNEL).getSerializedKeyPackage());
  await untilViolation("dave-key-package");
  expect(discord.violations[0]?.detail).toContain("identity 5");
  client.sendBinary(26, Buffer.from([1, 2, 3]));
  await client.until(() => client.closeCode === 4002);
});

test("a missing commit is reported, and the call continues with the listener's", async () => {
  await connect([28]);
  await client.until(() => client.has(27));
  await timeFor(clock, untilViolation("dave-commit-missing"));
  await client.until(() => client.isEncrypting);
});

test("a bot that identifies again during a negotiation does not get the Welcome for its previous member", async () => {
  await connect([28]);
  await client.until(() => client.has(27));
  const before = client;
  await identify();
  before.close();
  await client.until(() => client.isEncrypting);
  await channel.settled();
  expect(client.messages.map(({ op }) => op)).not.toContain(30);
  expect(discord.violations).toEqual([]);
});

test("a bot that identifies again after a lost connection is no longer addressed as its previous member", async () => {
  await join();
  const before = client;
  before.drop();
  await discord.until(() => !discord.session(voice).isConnected, "loss");
  await begin();
  await timeFor(clock, channel.downgrade());
  await select();
  await channel.settled();
  expect(client.messages.map(({ op }) => op)).not.toContain(21);
  expect(discord.violations).toEqual([]);
  before.close();
});

test("a commit of a group with another id is reported", async () => {
  await connect([28]);
  await client.until(() => client.has(27));
  const outsider = new DAVESession(1, BOT, "4");
  const sender = new ExternalSender(encodeGroupId("4"));
  outsider.setExternalSender(sender.packageBytes);
  const keyPackage = new DAVESession(1, "800000000000000001", "4").getSerializedKeyPackage();
  const { commit, welcome } = outsider.processProposals(0, encodeProposals([sender.add(0n, keyPackage)]));
  client.sendBinary(28, Buffer.concat([commit ?? OPUS, welcome ?? OPUS]));
  await untilViolation("dave-commit");
  expect(discord.violations[0]?.detail).toContain("group id");
});

test("a commit without a proposal is reported", async () => {
  await join();
  await channel.addListener("81");
  const proposals = client.messages.findLast(({ op }) => op === 27)?.payload;
  const commit = client.messages.findLast(({ op }) => op === 29)?.payload;
  expect(proposals).toBeDefined();
  // Repeating the announced commit is only late; one for a future epoch is not.
  const again = Buffer.from(commit?.subarray(2) ?? []);
  client.sendBinary(28, again);
  again.writeBigUInt64BE(9n, 13);
  client.sendBinary(28, again);
  await untilViolation("dave-commit");
  expect(discord.violations).toHaveLength(1);
});

test("a commit for proposals of a dissolved group is only counted as late", async () => {
  await join();
  client.mute.add(28);
  await timeFor(clock, channel.addListener("81"));
  await untilViolation("dave-commit-missing");
  const commit = client.messages.findLast(({ op }) => op === 29)?.payload?.subarray(2);
  await timeFor(clock, channel.downgrade());
  expect(channel.epoch).toBe(0n);
  client.sendBinary(28, commit ?? OPUS);
  client.send(23, { transition_id: 0 });
  await untilViolation("dave-transition-ready");
  expect(discord.violations.map(({ kind }) => kind)).not.toContain("dave-commit");
});

test("a transition without op 23 is executed after two seconds, and reported after eight", async () => {
  await join();
  client.mute.add(23);
  const beganMs = clock.now();
  await timeFor(clock, channel.addListener("81"));
  expect(clock.now() - beganMs).toBeGreaterThanOrEqual(2000);
  expect(clock.now() - beganMs).toBeLessThan(3000);
  await client.until(() => client.has(22));
  expect(discord.violations).toEqual([]);
  await timePasses(clock, () => discord.violations.length > 0);
  expect(discord.violations.map(({ kind }) => kind)).toEqual(["dave-transition-timeout"]);
  expect(clock.now() - beganMs).toBeGreaterThanOrEqual(8000);
});

test("an op 23 after the execution of its transition is late, which is no violation", async () => {
  await join();
  client.mute.add(23);
  await timeFor(clock, channel.addListener("81"));
  await client.until(() => client.has(22));
  const { transition_id: id } = client.last(22) as { transition_id: number };
  client.send(23, { transition_id: id });
  await discord.until(() => discord.session(GUILD).countOf(23) > 0, "op 23");
  const sentMs = clock.now();
  await timePasses(clock, () => clock.now() - sentMs > 10_000);
  expect(discord.violations).toEqual([]);
});

test("op 23 for transition 0 and for an unknown one is reported", async () => {
  await join();
  client.send(23, { transition_id: 0 });
  client.send(23, { transition_id: 77 });
  await discord.until(() => discord.violations.length === 2, "violations");
  expect(discord.violations.map(({ kind }) => kind)).toEqual(["dave-transition-ready", "dave-transition-ready"]);
});

test("op 31 for a valid commit is reported, and the bot is removed and added again all the same", async () => {
  await join();
  client.send(31, { transition_id: 0 });
  await untilViolation("dave-commit");
  client.sendBinary(26, client.dave?.getSerializedKeyPackage() ?? Buffer.alloc(0));
  await client.until(() => client.has(30));
});

test("an encrypted frame before op 22 is reported", async () => {
  await channel.addListener("81");
  channel.policy.executeDelayMs = 200;
  await connect();
  await client.until(() => client.dave?.ready === true);
  client.isEncrypting = true;
  client.sendOpus(OPUS);
  await untilViolation("dave-frame-early");
});

test("plain frames after encrypted ones are reported where nothing has ended the group", async () => {
  await join();
  client.sendOpus(OPUS);
  await discord.until(() => channel.listener.receivedCount === 1, "an encrypted frame");
  client.isEncrypting = false;
  clock.advance(1000);
  client.sendOpus(OPUS);
  await untilViolation("dave-frame-downgraded");
  expect(discord.violations).toHaveLength(1);
});

test("plain frames of a bot that asked to be added again with op 31 are reported", async () => {
  await join();
  client.sendOpus(OPUS);
  await discord.until(() => channel.listener.receivedCount === 1, "an encrypted frame");
  client.mute.add(26);
  void channel.sendBrokenCommit().catch(() => undefined);
  await discord.until(() => discord.session(GUILD).countOf(31) === 1, "op 31");
  clock.advance(1000);
  client.isEncrypting = false;
  client.sendOpus(OPUS);
  await untilViolation("dave-frame-downgraded");
});

test("plain frames after op 21 and op 22 are allowed, also when they reach the bot late", async () => {
  await join();
  channel.policy.executeDelayMs = 5000;
  client.sendOpus(OPUS);
  await discord.until(() => channel.listener.receivedCount === 1, "an encrypted frame");
  const downgraded = channel.downgrade();
  await client.until(() => client.has(21));
  clock.advance(1000);
  client.sendOpus(OPUS);
  await discord.until(() => channel.listener.receivedCount === 2, "another encrypted frame");
  await timeFor(clock, downgraded);
  await client.until(() => client.has(22));
  clock.advance(2000);
  client.sendOpus(OPUS);
  await discord.until(() => channel.listener.receivedCount === 3, "a plain frame");
  expect(discord.violations.filter(({ kind }) => kind.startsWith("dave-"))).toEqual([]);
});

test("a sender key changed before op 22 is noticed by a listener that is slower", async () => {
  await join();
  client.isEagerAtCommit = true;
  client.sendOpus(OPUS);
  channel.policy.listenersProcess = "execute";
  channel.policy.commitWinner = "listener";
  channel.policy.executeDelayMs = 200;
  channel.enter("81");
  await client.until(() => client.count(29) === 2);
  client.sendOpus(OPUS);
  await untilViolation("dave-frame-undecryptable");
  expect(channel.listener.undeliveredCount).toBe(1);
});

test("an encrypted frame in a stage channel is reported", async () => {
  await join();
  const voice = discord.moveVoice({ guildId: GUILD, channelId: "9", daveVersion: 0 });
  const { dave } = client;
  client.close();
  client = await ReferenceVoiceClient.connect({ guildId: GUILD, userId: BOT, voice });
  client.speaking(1);
  client.sendPacket(dave?.encryptOpus(OPUS) ?? OPUS);
  await untilViolation("dave-version");
  expect(client.last(4)).toMatchObject({ dave_protocol_version: 0 });
});

test("plain and encrypted frames are allowed by the state of the group, with a second of grace", () => {
  const nothing = () => undefined;
  const member = {
    userId: BOT,
    kind: "bot",
    sendProposals: nothing,
    announceCommit: nothing,
    sendWelcome: nothing,
    prepareTransition: nothing,
    executeTransition: nothing,
    prepareEpoch: nothing,
  } as const;
  const slot = new MemberSlot(member, { underWayMs: 1000 });
  expect([slot.allowsPlain(0), slot.allowsEncrypted(0)]).toEqual([true, false]);
  slot.setActive(true, 5000);
  expect([slot.allowsPlain(5999), slot.allowsEncrypted(5000)]).toEqual([true, true]);
  expect([slot.allowsPlain(6000), slot.isEstablished(6000)]).toEqual([false, true]);
  slot.setActive(false, 9000);
  expect([slot.allowsPlain(9000), slot.allowsEncrypted(9999), slot.allowsEncrypted(10_000)]).toEqual([
    true,
    true,
    false,
  ]);
});
