// The whole voice side against the fake Discord of lab/: every frame that went out is decrypted and compared, while the
// call changes around it (discord-voice.md section 4.3, variants b1 to b8). In virtual time.

import { beforeAll, describe, expect, test } from "vitest";
import { type ChannelOptions, FakeDiscord, type FakeDiscordOptions } from "../../../../../lab/discord/fake-discord.ts";
import type { Listener } from "../../../../../lab/discord/listener.ts";
import type { IssuedVoice } from "../../../../../lab/discord/voice-session.ts";
import { Dice } from "../../../../../lab/simulate/dice.ts";
import { ThreadGate } from "../../../../../lab/simulate/thread-gate.ts";
import { VirtualClock } from "../../../../../lab/simulate/virtual-clock.ts";
import { NEAR, VirtualNetwork } from "../../../../../lab/simulate/virtual-network.ts";
import type { Timer } from "../../../../../src/lib/clock.ts";
import { prepareEncryption } from "../../../../../src/media/pacer/transport-encryption.ts";
import { untilOn } from "../../../../support/until-on.ts";
import { createVoice, type VoiceFixture } from "../../../../support/voice-builders.ts";

const GUILD = "4001";
const USER = "5001";
const CHANNEL = "6001";
const FRAME_MS = 20;
/** The look-ahead of audio workers. */
const LOOK_AHEAD_FRAMES = 5;
const open: { close(): unknown }[] = [];
let clock: VirtualClock;
let network: VirtualNetwork;

beforeAll(prepareEncryption);

/** A test of a story, with a separate clock and network. */
function narrated<Given extends unknown[]>(story: (...given: Given) => Promise<void>) {
  return (...given: Given): Promise<void> => {
    clock = new VirtualClock();
    network = new VirtualNetwork(clock, new Dice(1), NEAR);
    return clock.drive(
      story(...given).finally(async () => {
        for (const thing of open.splice(0).reverse()) await thing.close();
      }),
    );
  };
}

/** Lets time pass until `condition` holds; fails naming it when it never does. */
function until(condition: () => boolean): Promise<void> {
  return untilOn(clock, condition, String(condition), 1);
}

interface Call extends VoiceFixture {
  readonly discord: FakeDiscord;
  readonly voice: IssuedVoice;
  readonly music: Music;
}

/** Plays numbered frames by the gate, some ahead of their time as players do, and remembers which went out. */
class Music {
  readonly sent: number[] = [];
  discarded = 0;
  held = 0;
  revokedCount = 0;
  #next = 0;
  #dueMs = 0;
  /** Frames sent since one could not be sent: those at the end of the unsent ones. */
  #row = 0;
  readonly #connection: VoiceFixture["connection"];
  #timer: Timer;

  constructor({ connection }: VoiceFixture) {
    this.#connection = connection;
    this.#timer = clock.after(FRAME_MS, () => this.#tick());
  }

  close(): void {
    this.#timer.cancel();
  }

  /** Resolves when `count` more frames have been sent. */
  async more(count = 12): Promise<void> {
    const target = this.sent.length + count;
    await until(() => this.sent.length >= target);
  }

  /** Unsent frames are sent again. */
  revoke(): void {
    const count = this.#connection.sink.revoke(Math.min(this.#row, LOOK_AHEAD_FRAMES));
    this.revokedCount += count;
    this.#row -= count;
    this.#next -= count;
    this.#dueMs -= count * FRAME_MS;
    this.sent.length -= count;
  }

  #tick(): void {
    this.#timer = clock.after(FRAME_MS, () => this.#tick());
    const nowMs = clock.now();
    const { gate } = this.#connection.sink;
    if (gate === "hold" || gate === "down") {
      this.held++;
      return;
    }
    this.#dueMs = Math.max(this.#dueMs, nowMs);
    const lookAheadMs = gate === "send" ? LOOK_AHEAD_FRAMES * FRAME_MS : 0;
    for (; this.#dueMs <= nowMs + lookAheadMs; this.#dueMs += FRAME_MS) this.#sendNext();
  }

  #sendNext(): void {
    const number = this.#next++;
    if (this.#connection.sink.gate === "send" && this.#connection.sink.sendFrame(frameOf(number), this.#dueMs)) {
      this.sent.push(number);
      this.#row++;
    } else {
      this.discarded++;
      this.#row = 0;
    }
  }

  /** How often a number between the first and the last was not sent. */
  get gaps(): number {
    return (this.sent.at(-1) ?? 0) - (this.sent[0] ?? 0) + 1 - this.sent.length;
  }
}

function frameOf(number: number): Buffer {
  const frame = Buffer.alloc(60, number & 0xff);
  frame[0] = 0xfc;
  frame.writeUInt32BE(number, 1);
  return frame;
}

const numbersOf = (listener: Listener) => listener.receivedAudio.map(({ opus }) => opus.readUInt32BE(1));

async function join(
  channel: ChannelOptions & { readonly channelId?: string | undefined } = {},
  options: FakeDiscordOptions & { readonly prepare?: (discord: FakeDiscord) => void } = {},
): Promise<Call> {
  const discord = await FakeDiscord.start({ ...options, clock, network: network.discordNetwork });
  open.push(discord);
  discord.createChannel({ guildId: GUILD, ...channel, channelId: CHANNEL });
  options.prepare?.(discord);
  const voice = discord.issueVoice({ guildId: GUILD, userId: USER, channelId: CHANNEL });
  const sockets = network.socketsFor(new ThreadGate());
  let music: Music | undefined;
  const onSendPathChanging = () => music?.revoke();
  const { endpoint } = voice;
  const fixture = createVoice({ endpoint, guildId: GUILD, userId: USER, clock, sockets, onSendPathChanging });
  open.push(fixture.connection);
  await fixture.connection.connect({ ...voice, channelId: "channelId" in channel ? channel.channelId : CHANNEL });
  music = new Music(fixture);
  open.push(music);
  return { ...fixture, discord, voice, music };
}

/** Expects that `listener` received every frame sent since it joined, bit for bit and in order. */
async function expectAllReceived({ music }: Call, listener: Listener): Promise<void> {
  music.close();
  await until(() => numbersOf(listener).at(-1) === music.sent.at(-1));
  const received = numbersOf(listener);
  expect(received).toEqual(music.sent.slice(-received.length));
  for (const { opus } of listener.receivedAudio) expect(opus.equals(frameOf(opus.readUInt32BE(1)))).toBe(true);
}

async function stop({ connection, discord }: Call): Promise<void> {
  for (let count = 0; count < 5; count++) connection.sink.sendSilence(clock.now());
  connection.sink.stopSpeaking();
  await until(() => discord.session(GUILD).speaking === 0);
}

/** Expects that the listener received everything, all of it encrypted, and that Discord found no violation. */
async function expectFlawless(call: Call, listener = call.discord.channel(CHANNEL).listener): Promise<void> {
  await expectAllReceived(call, listener);
  expect(numbersOf(listener).length).toBe(call.music.sent.length);
  expect(listener.receivedAudio.every(({ daveDecrypted }) => daveDecrypted)).toBe(true);
  expect(call.music.gaps).toBe(0);
  await stop(call);
  call.discord.assertClean();
}

describe("without DAVE", () => {
  test.each([
    [["aead_xchacha20_poly1305_rtpsize"] as const],
    [["aead_aes256_gcm_rtpsize"] as const],
    [["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"] as const],
  ])(
    "a stage channel receives every frame unchanged (%j)",
    narrated(async (modes) => {
      const call = await join({ daveVersion: 0 }, { modes });
      await call.music.more(20);
      await expectAllReceived(call, call.discord.channel(CHANNEL).listener);
      expect(call.music.sent[0]).toBe(0);
      await stop(call);
      call.discord.assertClean();
    }),
  );

  test.each([
    ["lost discovery requests", "discovery", { kind: "withhold" }],
    ["a discovery response from another sender", "discovery", { kind: "foreignAnswer" }],
    ["a repeated Session Description", "sessionDescription", { kind: "duplicate" }],
    ["a repeated Ready", "ready", { kind: "duplicate" }],
  ] as const)(
    "%s disturbs nothing",
    narrated(async (_name, step, action) => {
      const call = await join({ daveVersion: 0 }, { prepare: (discord) => discord.faults.add(step, action) });
      await call.music.more(20);
      await expectAllReceived(call, call.discord.channel(CHANNEL).listener);
      await stop(call);
      call.discord.assertClean();
    }),
  );
});

describe("b1, the first group", () => {
  test.each([
    ["bot", 0, "afterSessionDescription"],
    ["listener", 0, "afterSessionDescription"],
    ["bot", 7, "afterSessionDescription"],
    ["listener", 65_535, "afterSessionDescription"],
    ["bot", 0, "beforeSessionDescription"],
    ["listener", 7, "beforeSessionDescription"],
  ] as const)(
    "%s's commit, transition %i, op 25 %s: no frame is lost from the first on",
    narrated(async (winner, id, when) => {
      const call = await join(
        {},
        {
          prepare(discord) {
            Object.assign(discord.channel(CHANNEL).policy, {
              commitWinner: winner,
              firstTransitionId: id,
              externalSenderAt: when,
              executeDelayMs: 30,
            });
          },
        },
      );
      await call.music.more(20);
      expect(call.music.sent[0]).toBe(0);
      expect(call.music.discarded).toBe(0);
      await expectFlawless(call);
    }),
  );

  test(
    "ten listeners receive every frame",
    narrated(async () => {
      const listenerIds = Array.from({ length: 10 }, (_, index) => `7${index + 100}`);
      const call = await join({ listenerIds });
      await call.music.more(20);
      const { listeners } = call.discord.channel(CHANNEL);
      expect(listeners).toHaveLength(10);
      for (const listener of listeners) await expectAllReceived(call, listener);
      await stop(call);
      call.discord.assertClean();
    }),
  );
});

test(
  "b2, joining an established group: the Add for the others is ignored, audio waits for op 22",
  narrated(async () => {
    const call = await join(
      { listenerIds: ["701", "702"] },
      {
        prepare: (discord) => Object.assign(discord.channel(CHANNEL).policy, { executeDelayMs: 100 }),
      },
    );
    await call.music.more(20);
    expect(call.music.sent[0]).toBe(0);
    await expectFlawless(call);
  }),
);

describe("b3, a user joins while music plays", () => {
  test.each([
    ["bot", "announce", 0],
    ["listener", "announce", 0],
    ["listener", "execute", 100],
    ["bot", "execute", 100],
    ["first", "execute", 50],
  ] as const)(
    "%s's commit, listeners process at %s, op 22 after %i ms",
    narrated(async (winner, listenersProcess, executeDelayMs) => {
      const call = await join();
      await call.music.more();
      const channel = call.discord.channel(CHANNEL);
      Object.assign(channel.policy, { commitWinner: winner, listenersProcess, executeDelayMs });
      const third = await channel.addListener();
      // Frames sent before op 22 arrived are not for it.
      await until(() => numbersOf(third).length > 10);
      // Frames that were ready under the old keys were made again.
      expect(call.music.revokedCount).toBeGreaterThan(0);
      await expectAllReceived(call, third);
      await expectFlawless(call, channel.listeners[0]);
      expect(call.connection.counters.daveRecoveries).toBe(0);
    }),
  );

  test(
    "several users join and leave at once, one after the other, and no frame is lost",
    narrated(async () => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      const others = await Promise.all([channel.addListener(), channel.addListener(), channel.addListener()]);
      await call.music.more();
      await Promise.all(others.map((listener) => channel.removeListener(listener)));
      await call.music.more();
      await channel.addListener("777");
      await call.music.more();
      await channel.removeListener("777");
      await channel.addListener("777");
      await call.music.more();
      await expectFlawless(call, channel.listeners[0]);
      expect(call.connection.counters.daveRecoveries).toBe(0);
    }),
  );
});

test(
  "b4, a user leaves while music plays",
  narrated(async () => {
    const call = await join({ listenerIds: ["701", "702"] });
    await call.music.more();
    await call.discord.channel(CHANNEL).removeListener("702");
    await call.music.more();
    await expectFlawless(call);
  }),
);

describe("b5, the last listener leaves", () => {
  test.each([0, 1])(
    "time runs without sending until a user comes back (op 21 names version %i)",
    narrated(async (version) => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      channel.policy.soleMemberVersion = version;
      await call.music.more();
      await channel.removeListener(channel.listener);
      await until(() => call.connection.sink.gate === "discard");
      const before = call.music.discarded;
      await until(() => call.music.discarded > before + 10);
      const back = await channel.addListener();
      await call.music.more();
      await expectAllReceived(call, back);
      expect(back.receivedAudio.every(({ daveDecrypted }) => daveDecrypted)).toBe(true);
      expect(back.undeliveredCount).toBe(0);
      await stop(call);
      call.discord.assertClean({ except: ["silence-missing", "speaking-not-cleared"] });
    }),
  );

  test(
    "a bot that starts alone lets time run after a second, and plays when a user joins",
    narrated(async () => {
      const call = await join({ listenerIds: [] });
      await until(() => call.connection.sink.gate === "discard");
      expect(call.music.sent).toEqual([]);
      const first = await call.discord.channel(CHANNEL).addListener();
      await call.music.more();
      await expectAllReceived(call, first);
      expect(numbersOf(first)).toHaveLength(call.music.sent.length);
    }),
  );
});

test(
  "b6, a downgrade sends plain from op 22 on, an upgrade encrypts again, without a gap",
  narrated(async () => {
    const call = await join();
    const channel = call.discord.channel(CHANNEL);
    Object.assign(channel.policy, { executeDelayMs: 50 });
    await call.music.more();
    await channel.downgrade(9);
    await call.music.more();
    expect(channel.listener.receivedAudio.at(-1)?.daveDecrypted).toBe(false);
    await channel.upgrade();
    await until(() => channel.listener.receivedAudio.at(-1)?.daveDecrypted === true);
    await call.music.more();
    await expectAllReceived(call, channel.listener);
    expect(numbersOf(channel.listener)).toHaveLength(call.music.sent.length);
    expect(call.music.gaps).toBe(0);
    await stop(call);
    call.discord.assertClean();
  }),
);

test(
  "b6, a session that begins while the call is downgraded sends plain, and the upgrade encrypts it",
  narrated(async () => {
    let downgraded: Promise<void> | undefined;
    const call = await join(
      {},
      {
        prepare(discord) {
          downgraded = discord.channel(CHANNEL).downgrade();
        },
      },
    );
    await downgraded;
    const channel = call.discord.channel(CHANNEL);
    await call.music.more();
    expect(channel.listener.receivedAudio.at(-1)?.daveDecrypted).toBe(false);
    expect(call.discord.session(GUILD).countOf(26)).toBe(0);
    await channel.upgrade();
    await until(() => channel.listener.receivedAudio.at(-1)?.daveDecrypted === true);
    await expectAllReceived(call, channel.listener);
    await stop(call);
    call.discord.assertClean();
  }),
);

describe("b7, broken messages", () => {
  test(
    "after a broken commit the bot is removed and added again, and not one frame is missed",
    narrated(async () => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      await channel.sendBrokenCommit();
      await call.music.more();
      expect(call.connection.counters.daveRecoveries).toBe(1);
      expect(call.discord.session(GUILD).countOf(31)).toBe(1);
      await expectFlawless(call, channel.listeners[0]);
    }),
  );

  test(
    "after a broken Welcome audio waits for the second one",
    narrated(async () => {
      const call = await join(
        {},
        {
          prepare(discord) {
            discord.channel(CHANNEL).policy.commitWinner = "listener";
            discord.channel(CHANNEL).breakNextWelcome();
          },
        },
      );
      await call.discord.channel(CHANNEL).recovered();
      await call.music.more();
      expect(call.music.sent[0]).toBe(0);
      expect(call.connection.counters.daveRecoveries).toBe(1);
      await expectFlawless(call);
    }),
  );
});

test.each(["atOnce", "afterCommits"] as const)(
  "b8, revoked proposals %s",
  narrated(async (when) => {
    const call = await join();
    await call.music.more();
    await call.discord.channel(CHANNEL).proposeAndRevoke(when);
    await call.discord.channel(CHANNEL).addListener();
    await call.music.more();
    await expectFlawless(call, call.discord.channel(CHANNEL).listeners[0]);
  }),
);

describe("faults in transit", () => {
  test.each([
    "announceCommit",
    "welcome",
    "executeTransition",
    "proposals",
    "externalSender",
    "clientsConnect",
  ] as const)(
    "a repeated %s changes nothing",
    narrated(async (step) => {
      const call = await join(
        {},
        {
          prepare: (discord) => discord.faults.add(step, { kind: "duplicate" }, 10),
        },
      );
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      channel.policy.commitWinner = "listener";
      await channel.addListener();
      channel.repeatExternalSender();
      channel.executeUnknownTransition(4711);
      await channel.addListener();
      await call.music.more();
      expect(call.connection.counters.daveRecoveries).toBe(0);
      await expectFlawless(call, channel.listeners[0]);
    }),
  );

  test.each([
    "externalSender",
    "proposals",
    "announceCommit",
    "executeTransition",
    "clientsConnect",
    "sessionDescription",
  ] as const)(
    "a connection lost at %s is resumed, its replay carries on",
    narrated(async (step) => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      channel.policy.answerTimeoutMs = 4000;
      await call.music.more();
      call.discord.faults.add(step, { kind: "terminate" });
      if (step === "externalSender") channel.repeatExternalSender();
      await channel.addListener();
      await call.music.more();
      await expectFlawless(call, channel.listeners[0]);
      expect(call.connection.counters.resumes).toBe(step === "sessionDescription" ? 0 : 1);
    }),
  );

  test(
    "an op 31 that is lost with the connection is sent again after the resume, and members miss no frame",
    narrated(async () => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      call.discord.faults.add("invalidCommit", { kind: "terminate" });
      await channel.sendBrokenCommit();
      await call.music.more();
      expect(call.connection.counters).toMatchObject({ resumes: 1, daveRecoveries: 1, plainFallbacks: 0 });
      expect(call.discord.session(GUILD).countOf(31)).toBe(2);
      await expectAllReceived(call, channel.listener);
      expect(numbersOf(channel.listener).length).toBe(call.music.sent.length);
      expect(call.music.gaps).toBe(0);
      await stop(call);
      // The listener that has just joined never had the keys that the bot uses during recovery.
      call.discord.assertClean({ except: ["dave-frame-undecryptable"] });
    }),
  );

  test(
    "a bot whose op 31 is lost in a silent gateway sends nothing plain, and is back in the group after the resume",
    narrated(async () => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      for (const step of ["invalidCommit", "keyPackage"] as const) call.discord.faults.add(step, { kind: "withhold" });
      const recovered = channel.sendBrokenCommit().catch(() => undefined);
      await until(() => call.connection.counters.daveRecoveries === 1);
      network.breakConnections(Number(call.discord.endpoint.split(":").at(-1)), "silent");
      call.discord.faults.add("resume", { kind: "terminate" }, 2);
      await until(() => call.connection.sink.gate === "discard");
      expect(call.connection.counters.resumes).toBe(0);
      await until(() => call.connection.counters.resumes === 1);
      const resumedMs = clock.now();
      await until(() => call.connection.sink.gate === "send");
      expect(clock.now() - resumedMs).toBeLessThan(1500);
      await recovered;
      await call.music.more();
      await expectAllReceived(call, channel.listener);
      expect(channel.listener.receivedAudio.every(({ daveDecrypted }) => daveDecrypted)).toBe(true);
      expect(call.connection.counters).toMatchObject({ daveRecoveries: 1, plainFallbacks: 0 });
      await stop(call);
      // Silence frames are the player's.
      call.discord.assertClean({ except: ["dave-frame-undecryptable", "silence-missing"] });
    }),
  );

  test(
    "an op 23 that is lost with the connection is sent again after the resume",
    narrated(async () => {
      const call = await join();
      const channel = call.discord.channel(CHANNEL);
      await channel.downgrade();
      await call.music.more();
      call.discord.faults.add("transitionReady", { kind: "terminate" });
      const beganMs = clock.now();
      await channel.upgrade();
      await until(() => channel.listener.receivedAudio.at(-1)?.daveDecrypted === true);
      // The gateway would execute it after two seconds all the same.
      expect(clock.now() - beganMs).toBeLessThan(1000);
      expect(call.connection.counters.resumes).toBe(1);
      await call.music.more();
      await expectAllReceived(call, channel.listener);
      expect(call.music.gaps).toBe(0);
      await stop(call);
      call.discord.assertClean();
    }),
  );

  test.each([65_528, 65_532, 65_535])(
    "sequence numbers wrap, also across a resume (from %i)",
    narrated(async (firstSeq) => {
      const call = await join({}, { firstSeq });
      const channel = call.discord.channel(CHANNEL);
      await call.music.more(10);
      call.discord.session(GUILD).terminate();
      await channel.addListener();
      await call.music.more();
      await expectFlawless(call, channel.listeners[0]);
      expect(call.connection.counters.resumes).toBe(1);
    }),
  );

  test(
    "a resume that is refused is reported with the server's code",
    narrated(async () => {
      const call = await join();
      await call.music.more();
      call.discord.session(GUILD).terminate({ canResume: false });
      await until(() => call.closes.length > 0);
      expect(call.closes).toEqual([{ code: 4006, reason: "Session no longer valid", isByRemote: true }]);
      expect(call.connection.sink.gate).toBe("down");
    }),
  );
});

describe("moves", () => {
  test(
    "a move to another server while the old one still listens misses not one frame",
    narrated(async () => {
      const call = await join({ daveVersion: 0 });
      const { listener } = call.discord.channel(CHANNEL);
      await call.music.more();
      await call.connection.connect(call.discord.moveVoice({ guildId: GUILD, closeOld: "never" }));
      await call.music.more(40);
      await expectAllReceived(call, listener);
      expect(numbersOf(listener)).toHaveLength(call.music.sent.length);
      expect(new Set(listener.receivedAudio.map(({ ssrc }) => ssrc)).size).toBe(2);
      expect(call.music.gaps).toBe(0);
      expect(call.closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
    }),
  );

  test(
    "the old server closes when we identify with the new one: only frames in transit are missed",
    narrated(async () => {
      const call = await join({ daveVersion: 0 });
      const { listener } = call.discord.channel(CHANNEL);
      await call.music.more();
      await call.connection.connect(call.discord.moveVoice({ guildId: GUILD, closeOld: "afterIdentify" }));
      await call.music.more(40);
      call.music.close();
      await until(() => numbersOf(listener).at(-1) === call.music.sent.at(-1));
      // Frames that left before its close frame arrived here; at a tenth of the real distance between frames.
      expect(call.music.sent.length - numbersOf(listener).length).toBeLessThanOrEqual(5);
      expect(call.music.gaps).toBe(0);
      expect(call.closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
    }),
  );

  test(
    "a move into another channel with DAVE, the old session closed first: the clock stands, nothing is lost",
    narrated(async () => {
      const call = await join();
      await call.music.more();
      const next = call.discord.moveVoice({ guildId: GUILD, channelId: "6002" });
      await until(() => call.closes.length > 0);
      expect(call.closes).toEqual([{ code: 4014, reason: "Disconnected.", isByRemote: true }]);
      expect(call.connection.sink.gate).toBe("down");
      const before = call.music.sent.length;
      await call.connection.connect(next);
      await call.music.more();
      const there = call.discord.channel("6002").listener;
      await expectAllReceived(call, there);
      expect(numbersOf(there)).toEqual(call.music.sent.slice(before));
      expect(call.music.gaps).toBe(0);
    }),
  );
});

describe("clients that name no channel, or a wrong one", () => {
  test.each([
    [undefined, "bot", ["701"], true, 0],
    [undefined, "listener", ["701"], true, 1],
    [undefined, "bot", ["701", "702"], true, 1],
    [undefined, "bot", ["701", "702"], false, 1],
    ["999", "bot", ["701"], true, 0],
    ["999", "listener", ["701"], true, 1],
  ] as const)(
    "channelId %s, %s's commit, listeners %j, op 27 to newcomers %s: the channel is learnt, nothing is lost",
    narrated(async (channelId, commitWinner, listenerIds, areNewcomersOffered, recoveries) => {
      const call = await join(
        { channelId, listenerIds },
        {
          prepare: (discord) =>
            Object.assign(discord.channel(CHANNEL).policy, { commitWinner, areNewcomersOffered, answerTimeoutMs: 500 }),
        },
      );
      const channel = call.discord.channel(CHANNEL);
      await call.music.more();
      expect(call.connection.counters.daveRecoveries).toBe(0);
      await channel.addListener();
      await channel.recovered();
      await call.music.more();
      await channel.addListener();
      await call.music.more();
      await expectAllReceived(call, channel.listener);
      expect(call.music.sent[0]).toBe(0);
      expect(call.music.gaps).toBe(0);
      expect(numbersOf(channel.listener)).toHaveLength(call.music.sent.length);
      expect(call.connection.counters.daveRecoveries).toBe(recoveries);
    }),
  );
});
