// The DAVE session by itself, with a gateway made of an external sender and listeners, on the test's clock.

import { DAVESession as MlsSession } from "@snazzah/davey";
import { describe, expect, test, vi } from "vitest";
import {
  ExternalSender,
  encodeGroupId,
  encodeProposals,
  encodeRevoke,
  type Proposal,
} from "../../../../../lab/discord/external-sender.ts";
import { parseCommitWelcome } from "../../../../../lab/discord/mls-codec.ts";
import { createLogger } from "../../../../../src/log/log.ts";
import { DaveSession } from "../../../../../src/media/voice/dave/dave-session.ts";
import { createVoiceCounters } from "../../../../../src/media/voice/voice-counters.ts";
import { VoiceLimits, VoiceThreadLimits } from "../../../../../src/media/voice/voice-limits.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const CHANNEL = "6001";
const BOT = "5001";
const LISTENER = "701";
const OPUS = Buffer.from("fc0102030405060708", "hex");

class Call {
  readonly clock = new FakeClock();
  readonly counters = createVoiceCounters();
  readonly gateway = new ExternalSender(encodeGroupId(CHANNEL));
  readonly sent: { readonly op: number; readonly data: unknown }[] = [];
  readonly bot: DaveSession;
  readonly listener = new MlsSession(1, LISTENER, CHANNEL);
  /** So many frames lie ready for all players of the thread that MLS work may be done. */
  areFramesAhead = true;
  gateChanges = 0;
  stuckCount = 0;
  rekeyCount = 0;
  readonly floods: Error[] = [];
  readonly lines: string[] = [];
  readonly limits: VoiceLimits;

  constructor({ isPlainFallbackAllowed = true }: { readonly isPlainFallbackAllowed?: boolean } = {}) {
    this.listener.setExternalSender(this.gateway.packageBytes);
    this.limits = new VoiceLimits(
      this.clock,
      new VoiceThreadLimits({ clock: this.clock, areFramesAhead: () => this.areFramesAhead }),
    );
    this.bot = new DaveSession({
      userId: BOT,
      channelId: CHANNEL,
      isPlainFallbackAllowed,
      limits: this.limits,
      guardHandler: (handler) => handler,
      clock: this.clock,
      logger: createLogger((_level, message) => this.lines.push(message)),
      counters: this.counters,
      parent: {
        sendDaveJson: (op, data) => this.sent.push({ op, data }),
        sendDaveBinary: (op, data) => this.sent.push({ op, data: Buffer.from(data) }),
        onDaveGateChanged: () => this.gateChanges++,
        onDaveStuck: () => this.stuckCount++,
        onDaveRekeyed: () => this.rekeyCount++,
        onDaveFlooded: (error) => this.floods.push(error),
      },
    });
  }

  /** Messages sent with this opcode, oldest first. */
  all<Data = Buffer>(op: number): Data[] {
    return this.sent.filter((message) => message.op === op).map(({ data }) => data as Data);
  }

  lastOf(op: number): Buffer {
    const last = this.all(op).at(-1);
    if (last === undefined) throw new Error(`no opcode ${op} went out`);
    return last;
  }

  /** Op 4 with the listener present. */
  start({ version = 1, userIds = [LISTENER] }: { readonly version?: number; readonly userIds?: string[] } = {}): void {
    if (userIds.length > 0) this.enter(...userIds);
    this.bot.start(version);
    this.bot.handle({ kind: "externalSender", senderPackage: this.gateway.packageBytes });
  }

  enter(...userIds: string[]): void {
    this.bot.handle({ kind: "usersPresent", userIds });
  }

  append(...proposals: Proposal[]): void {
    this.bot.handle({ kind: "proposals", operation: 0, proposals: encodeProposals(proposals) });
  }

  commit(transitionId: number, commit: Buffer): void {
    this.bot.handle({ kind: "commit", transitionId, commit });
  }

  welcome(transitionId: number, welcome: Buffer): void {
    this.bot.handle({ kind: "welcome", transitionId, welcome });
  }

  execute(transitionId: number): void {
    this.bot.handle({ kind: "executeTransition", transitionId });
  }

  /** Bot and listener become a group by the listener's commit. */
  join(transitionId = 0): void {
    const { commit, welcome } = this.propose(this.listener, this.gateway.add(0n, this.lastOf(26)));
    this.listener.processCommit(commit);
    this.welcome(transitionId, welcome);
  }

  propose(member: MlsSession, ...proposals: Proposal[]): { readonly commit: Buffer; readonly welcome: Buffer } {
    const { commit, welcome } = member.processProposals(0, encodeProposals(proposals));
    if (commit === undefined) throw new Error("no commit");
    return { commit, welcome: welcome ?? Buffer.alloc(0) };
  }

  /** A newcomer's Add for the running group, and the listener's commit of it. */
  grow(userId: string): { readonly add: Proposal; readonly commit: Buffer; readonly welcome: Buffer } {
    const newcomer = new MlsSession(1, userId, CHANNEL);
    const add = this.gateway.add(this.listener.epoch ?? 0n, newcomer.getSerializedKeyPackage());
    return { add, ...this.propose(this.listener, add) };
  }

  /** What the listener decrypts from the next frame. */
  receive(): string {
    const frame = this.bot.encrypt(OPUS);
    if (frame === undefined) return "dropped";
    if (OPUS.equals(frame)) return "plain";
    try {
      return OPUS.equals(this.listener.decrypt(BOT, 0, Buffer.from(frame))) ? "decrypted" : "garbled";
    } catch {
      return "undecryptable";
    }
  }
}

function inGroup(): Call {
  const call = new Call();
  call.start();
  call.join();
  return call;
}

function flip(bytes: Buffer, index = bytes.length - 1): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[index] = flipped[index]! ^ 0xff;
  return flipped;
}

describe("before there is a group", () => {
  test("version 0 is plain at once, without a key package", () => {
    const call = new Call();
    call.start({ version: 0 });
    expect(call.bot.gate).toBe("send");
    expect(call.receive()).toBe("plain");
    expect(call.all(26)).toEqual([]);
  });

  test("the DAVE gate is closed until op 4, for any members", () => {
    const call = new Call();
    call.enter(LISTENER);
    expect(call.bot.gate).toBe("hold");
    expect(call.gateChanges).toBe(0);
  });

  test("the key package is sent with op 4, and frames are held for three seconds, then sent plain", () => {
    const call = new Call();
    call.start();
    expect(call.all(26)).toHaveLength(1);
    call.clock.advance(2999);
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(1);
    expect(call.bot.gate).toBe("send");
    expect(call.receive()).toBe("plain");
    expect(call.counters.plainFallbacks).toBe(1);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("with plain audio forbidden, time runs without sending instead", () => {
    const call = new Call({ isPlainFallbackAllowed: false });
    call.start();
    call.clock.advance(3000);
    expect(call.bot.gate).toBe("discard");
    expect(call.counters.plainFallbacks).toBe(0);
    call.join();
    expect(call.bot.gate).toBe("send");
  });

  test("alone for a second, time runs; a user that joins is waited for", () => {
    const call = new Call();
    call.start({ userIds: [] });
    call.enter(BOT);
    call.clock.advance(999);
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(1);
    expect(call.bot.gate).toBe("discard");
    call.clock.advance(60_000);
    expect(call.all(26)).toHaveLength(1);
    call.enter(LISTENER);
    expect(call.bot.gate).toBe("hold");
    call.bot.handle({ kind: "userLeft", userId: LISTENER });
    expect(call.bot.gate).toBe("discard");
  });

  test("messages before op 4 or for nobody are harmless, and the external sender is stored", () => {
    const call = new Call();
    call.bot.handle({ kind: "externalSender", senderPackage: call.gateway.packageBytes });
    call.bot.handle({ kind: "externalSender", senderPackage: Buffer.from("nonsense") });
    call.bot.handle({ kind: "externalSender", senderPackage: call.gateway.packageBytes });
    call.commit(1, Buffer.alloc(30));
    call.welcome(1, Buffer.alloc(30));
    call.append(call.gateway.remove(0n, 0));
    call.execute(5);
    expect(call.sent).toEqual([]);
    call.enter(LISTENER);
    call.bot.start(1);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("without a group a key package is sent again after 10 s, once, then the session is reported as stuck", () => {
    const call = new Call();
    call.start();
    call.clock.advance(9999);
    expect(call.all(26)).toHaveLength(1);
    call.clock.advance(1);
    expect(call.all(26)).toHaveLength(2);
    expect(call.stuckCount).toBe(0);
    call.clock.advance(60_000);
    expect(call.all(26)).toHaveLength(2);
    expect(call.stuckCount).toBe(1);
  });

  test("the second key package is the last one, also when the gateway resets the group after it", () => {
    const call = new Call();
    call.start();
    call.clock.advance(10_000);
    call.bot.handle({ kind: "prepareEpoch", epoch: 1, version: 1 });
    expect([call.all(26).length, call.stuckCount]).toEqual([3, 0]);
    call.clock.advance(10_000);
    expect([call.all(26).length, call.stuckCount]).toEqual([3, 1]);
  });
});

describe("joining a DAVE group", () => {
  test("the second key package still leads into a group after the channel was empty for a while", () => {
    const call = new Call();
    call.start();
    call.clock.advance(10_000);
    expect(call.all(26)).toHaveLength(2);
    call.bot.handle({ kind: "userLeft", userId: LISTENER });
    call.clock.advance(10_000);
    call.enter(LISTENER);
    call.join();
    expect([call.receive(), call.all(31).length]).toEqual(["decrypted", 0]);
  });

  test("a wait for a group, for op 22 or for a postponed commit leaves no timer when it is over", () => {
    const call = new Call();
    call.start();
    call.clock.advance(1000);
    call.join(7);
    call.execute(7);
    expect(call.clock.pendingCount).toBe(0);
    const grown = call.grow("702");
    call.enter("702");
    call.append(grown.add);
    call.commit(8, grown.commit);
    expect(call.clock.pendingCount).toBe(1);
    call.execute(8);
    expect(call.clock.pendingCount).toBe(0);
  });

  test("a Welcome with an id is confirmed, and audio waits for op 22", () => {
    const call = new Call();
    call.start();
    call.join(7);
    expect(call.all(23)).toEqual([{ transition_id: 7 }]);
    expect(call.bot.gate).toBe("hold");
    call.execute(7);
    expect(call.bot.gate).toBe("send");
    expect(call.receive()).toBe("decrypted");
  });

  test("without op 22 sending starts after two and a half seconds", () => {
    const call = new Call();
    call.start();
    call.clock.advance(1000);
    call.join(7);
    call.clock.advance(2499);
    expect(call.receive()).not.toBe("decrypted");
    call.clock.advance(1);
    expect(call.receive()).toBe("decrypted");
  });

  test("transition 0 is executed without op 23, and a repetition has no effect", () => {
    const call = inGroup();
    expect(call.all(23)).toEqual([]);
    call.execute(0);
    expect(call.receive()).toBe("decrypted");
    expect(call.counters.daveTransitions).toBe(1);
  });

  test("our own commit wins: op 28 carries a commit and a Welcome the listener can use", () => {
    const call = new Call();
    call.start();
    call.append(call.gateway.add(0n, call.listener.getSerializedKeyPackage()));
    const parsed = parseCommitWelcome(call.lastOf(28));
    call.listener.processWelcome(parsed?.welcome?.bytes ?? Buffer.alloc(0));
    call.commit(0, parsed?.commit.bytes ?? Buffer.alloc(0));
    expect(call.receive()).toBe("decrypted");
  });

  test("a commit of a group we are not in is ignored, without op 31", () => {
    const call = new Call();
    call.start();
    const other = new Call();
    other.start();
    other.join();
    call.commit(3, other.grow("702").commit);
    call.append(other.gateway.remove(5n, 0));
    expect(call.all(31)).toEqual([]);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("a broken Welcome is answered with op 31 and a new key package", () => {
    const call = new Call();
    call.start();
    const { commit, welcome } = call.propose(call.listener, call.gateway.add(0n, call.lastOf(26)));
    call.listener.processCommit(commit);
    call.welcome(9, flip(welcome));
    expect(call.all(31)).toEqual([{ transition_id: 9 }]);
    expect(call.all(26)).toHaveLength(2);
    const again = call.propose(call.listener, call.gateway.remove(1n, 1), call.gateway.add(1n, call.lastOf(26)));
    call.listener.processCommit(again.commit);
    call.welcome(10, again.welcome);
    call.execute(10);
    expect(call.receive()).toBe("decrypted");
  });
});

describe("in a group", () => {
  test("a commit with an id is confirmed at once and followed at op 22, until then the old key is used", () => {
    const call = inGroup();
    const { add, commit } = call.grow("702");
    call.enter("702");
    call.append(add);
    call.commit(4, commit);
    expect(call.all(23)).toEqual([{ transition_id: 4 }]);
    expect(call.receive()).toBe("decrypted");
    call.listener.processCommit(commit);
    expect(call.receive()).toBe("decrypted");
    const rekeys = call.rekeyCount;
    call.execute(4);
    // Frames that are ready are encrypted with the old keys from here on.
    expect(call.rekeyCount).toBe(rekeys + 1);
    expect(call.receive()).toBe("decrypted");
    expect(call.counters.daveTransitions).toBe(2);
  });

  test("a commit whose op 22 never comes is followed after five seconds", () => {
    const call = inGroup();
    const { add, commit } = call.grow("702");
    call.enter("702");
    call.append(add);
    call.commit(4, commit);
    call.clock.advance(4999);
    expect(call.counters.daveTransitions).toBe(1);
    call.clock.advance(1);
    expect(call.counters.daveTransitions).toBe(2);
    call.listener.processCommit(commit);
    expect(call.receive()).toBe("decrypted");
  });

  test("proposals of the next epoch first apply the commit before them", () => {
    const call = inGroup();
    const first = call.grow("702");
    call.enter("702", "703");
    call.append(first.add);
    call.commit(4, first.commit);
    call.listener.processCommit(first.commit);
    const second = call.grow("703");
    call.append(second.add);
    expect(call.counters.daveTransitions).toBe(2);
    expect(call.all(28)).toHaveLength(2);
    call.commit(5, second.commit);
    call.listener.processCommit(second.commit);
    call.execute(4);
    call.execute(5);
    expect(call.receive()).toBe("decrypted");
    expect(call.counters.daveRecoveries).toBe(0);
  });

  test("repeated messages of every kind change nothing", () => {
    const call = new Call();
    call.start();
    const { commit, welcome } = call.propose(call.listener, call.gateway.add(0n, call.lastOf(26)));
    call.listener.processCommit(commit);
    call.welcome(0, welcome);
    call.welcome(0, welcome);
    const grown = call.grow("702");
    call.enter("702");
    for (let round = 0; round < 2; round++) call.append(grown.add);
    expect(call.all(28)).toHaveLength(1);
    for (let round = 0; round < 2; round++) call.commit(4, grown.commit);
    for (let round = 0; round < 2; round++) call.execute(4);
    call.commit(4, grown.commit);
    call.append(grown.add);
    call.bot.handle({ kind: "externalSender", senderPackage: call.gateway.packageBytes });
    call.listener.processCommit(grown.commit);
    expect(call.receive()).toBe("decrypted");
    expect(call.all(31)).toEqual([]);
    expect(call.all(23)).toHaveLength(1);
  });

  test("revoked proposals leave nothing to commit, and unknown ones are harmless", () => {
    const call = inGroup();
    call.enter("702");
    const { add } = call.grow("702");
    const revoke = encodeRevoke([add.ref]).subarray(1);
    call.append(add);
    call.bot.handle({ kind: "proposals", operation: 1, proposals: revoke });
    call.bot.handle({ kind: "proposals", operation: 1, proposals: revoke });
    expect(call.all(28)).toHaveLength(1);
    expect(call.receive()).toBe("decrypted");
    expect(call.all(31)).toEqual([]);
  });

  test("a user that was not announced is not added, until the announcement arrives", () => {
    const call = inGroup();
    const { add, commit } = call.grow("702");
    call.append(add);
    expect(call.all(28)).toEqual([]);
    call.clock.advance(4000);
    call.enter("702");
    expect(call.all(28)).toHaveLength(1);
    call.commit(0, commit);
    call.listener.processCommit(commit);
    expect(call.receive()).toBe("decrypted");
    call.clock.advance(10_000);
    expect(call.counters.daveRecoveries).toBe(0);
  });

  test("if the announcement does not arrive within five seconds, we ask to be added again", () => {
    const call = inGroup();
    call.append(call.grow("702").add);
    call.clock.advance(5000);
    expect(call.all(31)).toEqual([{ transition_id: 0 }]);
    expect(call.all(26)).toHaveLength(2);
  });

  test("an announced earlier commit of ours is detected and not followed into a wrong epoch", () => {
    const call = inGroup();
    call.enter("702", "703");
    call.append(call.grow("702").add);
    call.append(call.grow("703").add);
    const [first] = call.all(28);
    call.commit(4, parseCommitWelcome(first ?? Buffer.alloc(0))?.commit.bytes ?? Buffer.alloc(0));
    expect(call.all(31)).toEqual([{ transition_id: 4 }]);
  });

  test("several transitions may be pending, and are executed in any order", () => {
    const call = inGroup();
    call.bot.handle({ kind: "prepareTransition", transitionId: 11, version: 0 });
    call.bot.handle({ kind: "prepareTransition", transitionId: 12, version: 1 });
    expect(call.all(23)).toEqual([{ transition_id: 11 }, { transition_id: 12 }]);
    call.execute(12);
    expect(call.receive()).toBe("decrypted");
    call.execute(11);
    expect(call.receive()).toBe("plain");
  });

  test("a resume repeats op 23 for transitions of the last two and a half seconds that were not executed", () => {
    const call = inGroup();
    const prepare = (transitionId: number) => call.bot.handle({ kind: "prepareTransition", transitionId, version: 1 });
    prepare(7);
    call.clock.advance(2400);
    prepare(8);
    prepare(9);
    call.execute(9);
    call.clock.advance(100);
    call.bot.onResumed();
    const repeated = call.all<{ transition_id: number }>(23).slice(3);
    expect(repeated).toEqual([{ transition_id: 8 }]);
  });

  test("a resume waits a second for the group that the replay may bring before another key package goes out", () => {
    const call = new Call();
    call.start();
    call.clock.advance(500);
    call.bot.onResumed();
    call.clock.advance(999);
    expect(call.all(26)).toHaveLength(1);
    call.join();
    call.clock.advance(60_000);
    expect([call.all(26).length, call.stuckCount, call.receive()]).toEqual([1, 0, "decrypted"]);
  });

  test("a key package that was lost with the connection is sent again after the resume", () => {
    const call = new Call();
    call.start();
    call.clock.advance(500);
    call.bot.onResumed();
    call.clock.advance(1000);
    expect([call.all(26).length, call.all(31).length]).toEqual([2, 0]);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("a key package that was lost with the connection in an empty channel is sent again after the resume", () => {
    const call = new Call();
    call.start({ userIds: [] });
    call.bot.onResumed();
    call.clock.advance(1000);
    expect(call.all(26)).toHaveLength(2);
    call.clock.advance(60_000);
    expect([call.all(26).length, call.stuckCount]).toEqual([2, 0]);
  });

  test("a key package is not sent again after a resume while messages of the replay wait", () => {
    const call = new Call();
    call.start();
    call.areFramesAhead = false;
    call.bot.onResumed();
    call.clock.advance(990);
    const { commit, welcome } = call.propose(call.listener, call.gateway.add(0n, call.lastOf(26)));
    call.listener.processCommit(commit);
    call.welcome(0, welcome);
    call.clock.advance(10);
    expect(call.all(26)).toHaveLength(1);
    call.areFramesAhead = true;
    call.clock.advance(60_000);
    expect([call.all(26).length, call.receive()]).toEqual([1, "decrypted"]);
  });

  test("op 21 with id 0 is executed at once, without op 23", () => {
    const call = inGroup();
    call.bot.handle({ kind: "prepareTransition", transitionId: 0, version: 0 });
    expect(call.receive()).toBe("plain");
    expect(call.all(23)).toEqual([]);
  });

  test("an epoch above 1 resets nothing", () => {
    const call = inGroup();
    call.bot.handle({ kind: "prepareEpoch", epoch: 2, version: 1 });
    expect(call.all(26)).toHaveLength(1);
    expect(call.receive()).toBe("decrypted");
  });
});

describe("recovery", () => {
  /** The gateway removes and adds us again, by the listener's commit. */
  function readmit(call: Call, transitionId: number): void {
    const epoch = call.listener.epoch ?? 0n;
    const { commit, welcome } = call.propose(
      call.listener,
      call.gateway.remove(epoch, 1),
      call.gateway.add(epoch, call.lastOf(26)),
    );
    call.listener.processCommit(commit);
    call.welcome(transitionId, welcome);
  }

  test("recovery from a broken commit uses the old keys until we are back in the group", () => {
    const call = inGroup();
    const { commit } = call.grow("702");
    call.commit(4, flip(commit));
    call.execute(4);
    call.listener.processCommit(commit);
    expect(call.all(31)).toEqual([{ transition_id: 4 }]);
    expect(call.bot.gate).toBe("send");
    expect(call.receive()).toBe("decrypted");
    readmit(call, 5);
    expect(call.receive()).toBe("decrypted");
    call.execute(5);
    expect(call.receive()).toBe("decrypted");
    expect(call.counters.daveRecoveries).toBe(1);
  });

  test("recovery follows an unreadable commit, and proposals of a later epoch", () => {
    const unreadable = inGroup();
    unreadable.commit(4, Buffer.alloc(40));
    expect(unreadable.all(31)).toEqual([{ transition_id: 4 }]);
    const late = inGroup();
    late.append(late.gateway.remove(9n, 0));
    expect(late.all(31)).toEqual([{ transition_id: 0 }]);
    expect(late.all(26)).toHaveLength(2);
  });

  test("the old keys are used for eight seconds at most during recovery", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.clock.advance(7999);
    expect(call.bot.gate).toBe("send");
    call.clock.advance(1);
    expect(call.bot.gate).toBe("hold");
  });

  test("a bot whose recovery takes too long sends nothing instead of plain audio, whatever is configured", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.clock.advance(8000 + 2999);
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(1);
    expect([call.bot.gate, call.counters.plainFallbacks]).toEqual(["discard", 0]);
    call.clock.advance(5000);
    expect(call.bot.gate).toBe("discard");
    // Also between the Welcome and op 22.
    readmit(call, 5);
    call.enter("702");
    expect(call.bot.gate).toBe("discard");
    call.execute(5);
    expect([call.bot.gate, call.receive()]).toEqual(["send", "decrypted"]);
  });

  test("a bot whose first Welcome was broken sends nothing instead of plain audio", () => {
    const call = new Call();
    call.start();
    const { welcome } = call.propose(call.listener, call.gateway.add(0n, call.lastOf(26)));
    call.welcome(9, flip(welcome));
    call.clock.advance(9000);
    expect([call.bot.gate, call.counters.plainFallbacks]).toEqual(["discard", 0]);
  });

  test("another group that the gateway begins during recovery is waited for from the start", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.clock.advance(8000 + 3000);
    call.bot.handle({ kind: "prepareEpoch", epoch: 1, version: 1 });
    call.clock.advance(2999);
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(1);
    expect([call.bot.gate, call.counters.plainFallbacks]).toEqual(["send", 1]);
  });

  test("a downgrade during recovery makes frames plain", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.clock.advance(8000 + 3000);
    call.bot.handle({ kind: "prepareTransition", transitionId: 6, version: 0 });
    expect(call.bot.gate).toBe("discard");
    call.execute(6);
    expect([call.bot.gate, call.receive()]).toEqual(["send", "plain"]);
  });

  test("op 31 and a key package that were lost with the connection are sent again after the resume", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.clock.advance(12_000);
    const keyPackageCount = call.all(26).length;
    call.bot.onResumed();
    call.clock.advance(1000);
    expect(call.all(31)).toEqual([{ transition_id: 4 }, { transition_id: 4 }]);
    expect(call.all(26)).toHaveLength(keyPackageCount + 1);
    expect(call.sent.slice(-2).map(({ op }) => op)).toEqual([31, 26]);
    call.clock.advance(5000);
    readmit(call, 5);
    call.execute(5);
    expect([call.receive(), call.stuckCount, call.counters.daveRecoveries]).toEqual(["decrypted", 0, 1]);
  });

  test("a second failure during recovery does not start another, and three a minute are the limit", () => {
    const call = inGroup();
    call.commit(4, Buffer.alloc(40));
    call.append(call.gateway.remove(9n, 0));
    call.append(call.gateway.add(0n, new MlsSession(1, "999", CHANNEL).getSerializedKeyPackage()));
    call.clock.advance(5000);
    expect(call.all(31)).toHaveLength(1);
    for (let round = 0; round < 2; round++) {
      readmit(call, 0);
      call.commit(4, Buffer.alloc(40));
    }
    expect(call.all(31)).toHaveLength(3);
    expect(call.stuckCount).toBe(0);
    readmit(call, 0);
    call.commit(4, Buffer.alloc(40));
    expect(call.all(31)).toHaveLength(3);
    expect(call.stuckCount).toBe(1);
    call.clock.advance(60_000);
    call.commit(4, Buffer.alloc(40));
    expect(call.all(31)).toHaveLength(4);
  });

  test("the reset of a group (op 24, epoch 1) holds audio until the next", () => {
    const call = inGroup();
    call.bot.handle({ kind: "prepareEpoch", epoch: 1, version: 1 });
    expect(call.bot.gate).toBe("hold");
    expect(call.all(26)).toHaveLength(2);
    call.listener.reinit(1, LISTENER, CHANNEL);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test.each([
    ["the gateway asked for another", (call: Call) => call.bot.handle({ kind: "prepareEpoch", epoch: 1, version: 1 })],
    ["no group followed the first", (call: Call) => call.clock.advance(10_000)],
  ])("a bot that sent a second key package as %s is removed and added again with it", (_why, sendSecond) => {
    const call = new Call();
    call.start();
    sendSecond(call);
    expect(call.all(26)).toHaveLength(2);
    // The gateway has formed the group with the first one.
    call.append(call.gateway.add(0n, call.listener.getSerializedKeyPackage()));
    const founding = parseCommitWelcome(call.lastOf(28));
    call.commit(0, founding?.commit.bytes ?? Buffer.alloc(0));
    call.listener.processWelcome(founding?.welcome?.bytes ?? Buffer.alloc(0));
    expect(call.receive()).toBe("decrypted");
    const [removal, addition] = [call.gateway.remove(1n, 0), call.gateway.add(1n, call.lastOf(26))];
    call.append(removal, addition);
    const { commit, welcome } = call.propose(call.listener, removal, addition);
    call.listener.processCommit(commit);
    call.welcome(5, welcome);
    expect(call.all(23)).toEqual([{ transition_id: 5 }]);
    // With the keys of the group before, which the listener keeps for a while.
    expect(call.receive()).toBe("decrypted");
    call.execute(5);
    const grown = call.grow("702");
    call.enter("702");
    call.append(grown.add);
    call.commit(0, grown.commit);
    call.listener.processCommit(grown.commit);
    expect(call.receive()).toBe("decrypted");
    call.welcome(5, welcome);
    expect(call.all(23)).toHaveLength(1);
    expect(call.all(31)).toEqual([]);
    expect(call.bot.describe()).toMatchObject({ epoch: 3, state: "encrypted" });
  });

  test("a closed DAVE session does nothing any more", () => {
    const call = inGroup();
    call.commit(4, call.grow("702").commit);
    call.bot.close();
    const before = call.sent.length;
    call.execute(4);
    call.enter("702");
    call.clock.advance(60_000);
    expect(call.clock.pendingCount).toBe(0);
    expect(call.sent).toHaveLength(before);
  });
});

describe("while frames of others are short", () => {
  test("while frames are short a change of the group waits, and audio continues for its current members", () => {
    const call = inGroup();
    call.areFramesAhead = false;
    const { add, commit } = call.grow("702");
    call.enter("702");
    call.append(add);
    call.commit(0, commit);
    expect(call.all(28)).toEqual([]);
    expect(call.receive()).toBe("decrypted");
    call.listener.processCommit(commit);
    expect(call.receive()).toBe("decrypted");
    call.areFramesAhead = true;
    call.clock.advance(2);
    expect(call.all(28)).toHaveLength(1);
    expect(call.bot.describe().epoch).toBe(2);
    expect(call.receive()).toBe("decrypted");
  });

  test("messages without MLS work are answered at once, unless an earlier message waits", () => {
    const call = inGroup();
    call.areFramesAhead = false;
    call.commit(4, call.grow("702").commit);
    expect(call.all(23)).toEqual([{ transition_id: 4 }]);
    call.bot.handle({ kind: "executeTransition", transitionId: 4 });
    call.bot.handle({ kind: "prepareTransition", transitionId: 5, version: 1 });
    expect(call.all(23)).toHaveLength(1);
    call.clock.advance(50);
    expect(call.all(23)).toEqual([{ transition_id: 4 }, { transition_id: 5 }]);
  });

  test("a group begins after 50 ms even while frames are short", () => {
    const call = new Call();
    call.areFramesAhead = false;
    call.start();
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(49);
    expect(call.all(26)).toEqual([]);
    call.clock.advance(1);
    expect(call.all(26)).toHaveLength(1);
    // Op 25 waits for a slot.
    call.clock.advance(50);
    call.join();
    call.clock.advance(50);
    expect(call.receive()).toBe("decrypted");
  });

  test("a Welcome that waits makes our own answer needless", () => {
    const call = new Call();
    call.start();
    call.areFramesAhead = false;
    const newcomer = new MlsSession(1, "702", CHANNEL);
    call.enter("702");
    call.append(call.gateway.add(0n, newcomer.getSerializedKeyPackage()));
    call.join();
    call.areFramesAhead = true;
    call.clock.advance(10);
    expect(call.all(28)).toEqual([]);
    expect(call.receive()).toBe("decrypted");
  });

  test("a session that is closed while its messages wait does nothing more", () => {
    const call = new Call();
    call.areFramesAhead = false;
    call.start();
    call.bot.close();
    expect(call.clock.pendingCount).toBe(0);
    call.areFramesAhead = true;
    call.clock.advance(60_000);
    expect(call.sent).toEqual([]);
  });

  test("the wait for a group is twice as long while the message that brings it waits, and no longer", () => {
    const call = new Call();
    call.start();
    call.limits.spendMls(10_000);
    call.clock.advance(0);
    call.join();
    call.clock.advance(4999);
    expect(call.bot.gate).toBe("hold");
    call.clock.advance(1);
    expect([call.bot.gate, call.receive(), call.counters.plainFallbacks]).toEqual(["send", "decrypted", 0]);

    const late = new Call();
    late.start();
    late.limits.spendMls(10_000);
    late.clock.advance(0);
    late.join();
    late.clock.advance(4000);
    late.limits.spendMls(10_000);
    late.clock.advance(1999);
    expect(late.bot.gate).toBe("hold");
    late.clock.advance(1);
    expect([late.bot.gate, late.receive(), late.counters.plainFallbacks]).toEqual(["send", "plain", 1]);
  });

  test("a session whose list of users waits is not taken to be alone", () => {
    const call = new Call();
    call.limits.spendMls(10_000);
    call.start({ userIds: [] });
    call.enter(LISTENER);
    call.clock.advance(4999);
    expect([call.bot.gate, call.bot.hasCompany]).toEqual(["hold", false]);
    call.clock.advance(1);
    expect([call.bot.gate, call.bot.hasCompany]).toEqual(["hold", true]);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("no group after 10 s causes no new key package while the message that may bring one waits", () => {
    const call = new Call();
    call.start();
    call.clock.advance(8000);
    call.limits.spendMls(10_000);
    call.clock.advance(0);
    call.join();
    call.clock.advance(4000);
    expect(call.all(26)).toHaveLength(1);
    call.clock.advance(1000);
    expect(call.receive()).toBe("decrypted");
    call.clock.advance(60_000);
    expect(call.all(26)).toHaveLength(1);
    expect(call.stuckCount).toBe(0);
  });
});

describe("key packages", () => {
  test("a key package is made when op 4 offers DAVE, not before, and none for a plain or closed call", () => {
    const made = vi.spyOn(MlsSession.prototype, "getSerializedKeyPackage");
    const [call, plain, closed] = [new Call(), new Call(), new Call()];
    for (const { clock } of [call, plain, closed]) clock.advance(1000);
    plain.start({ version: 0 });
    closed.bot.close();
    for (const { clock } of [plain, closed]) clock.advance(1000);
    expect(made).not.toHaveBeenCalled();
    call.start();
    expect(made).toHaveBeenCalledOnce();
    expect(call.all(26)).toHaveLength(1);
    made.mockRestore();
  });

  test("each key package is sent once only", () => {
    const call = new Call();
    call.start();
    call.join();
    call.bot.handle({ kind: "prepareEpoch", epoch: 1, version: 1 });
    call.clock.advance(10_000);
    const all = call.all(26).map((keyPackage) => keyPackage.toString("hex"));
    expect(all).toHaveLength(3);
    expect(new Set(all).size).toBe(3);
  });
});

describe("a gateway that demands too much MLS work", () => {
  test("an excessive gateway is served later once MLS work has used its share, in order", () => {
    const call = inGroup();
    call.limits.spendMls(600);
    call.clock.advance(0);
    const { add, commit } = call.grow("702");
    call.enter("702");
    call.append(add);
    call.commit(4, commit);
    call.execute(4);
    call.clock.advance(999);
    expect([call.all(28), call.all(23)]).toEqual([[], []]);
    expect(call.receive()).toBe("decrypted");
    call.clock.advance(1);
    expect([call.all(28).length, call.all(23)]).toEqual([1, [{ transition_id: 4 }]]);
    call.listener.processCommit(commit);
    expect(call.receive()).toBe("decrypted");
  });

  test("an excessive gateway is served one piece of work per event loop iteration", () => {
    const call = inGroup();
    call.limits.spendMls(5);
    const { add } = call.grow("702");
    call.enter("702");
    call.append(add);
    expect(call.all(28)).toEqual([]);
    call.clock.advance(0);
    expect(call.all(28)).toHaveLength(1);
  });

  test("an excessive gateway is cut off when more waits than any channel causes, by count and by bytes", () => {
    for (const proposals of [Buffer.alloc(1), Buffer.alloc(60_000)]) {
      const call = inGroup();
      call.limits.spendMls(10_000);
      const most = proposals.length === 1 ? 512 : 4;
      for (let count = 0; count < most; count++) call.bot.handle({ kind: "proposals", operation: 0, proposals });
      expect(call.floods).toEqual([]);
      call.bot.handle({ kind: "proposals", operation: 0, proposals });
      expect(call.floods).toMatchObject([{ code: "voice-limit-exceeded" }]);
      call.bot.close();
      call.clock.advance(60_000);
      expect(call.floods).toHaveLength(1);
      expect(call.clock.pendingCount).toBe(0);
    }
  });

  test("a session outside a group leaves checking a crowd to others and joins by their Welcome", () => {
    const call = new Call();
    const crowd = Array.from({ length: 20 }, (_, index) => String(800 + index));
    call.start({ userIds: [LISTENER, ...crowd] });
    const keyPackages = crowd.map((userId) => new MlsSession(1, userId, CHANNEL).getSerializedKeyPackage());
    call.append(...keyPackages.map((keyPackage) => call.gateway.add(0n, keyPackage)));
    expect(call.all(28)).toEqual([]);
    call.join();
    expect(call.receive()).toBe("decrypted");
  });

  test("a session in a group asks to be removed and added again when a crowd is proposed in one epoch", () => {
    const call = inGroup();
    const epoch = call.listener.epoch ?? 0n;
    const addOf = (userId: string) =>
      call.gateway.add(epoch, new MlsSession(1, userId, CHANNEL).getSerializedKeyPackage());
    const crowd = Array.from({ length: 20 }, (_, index) => String(800 + index));
    call.enter(...crowd);
    // One by one, for each is worked through again with the next.
    for (const userId of crowd) call.append(addOf(userId));
    const answered = call.all(28).length;
    expect(answered).toBeGreaterThan(10);
    expect(answered).toBeLessThan(20);
    expect(call.all(31)).toHaveLength(1);
    expect(call.counters.daveRecoveries).toBe(1);
    expect(call.receive()).toBe("decrypted");
  });

  test("warnings about an excessive gateway are rate limited", () => {
    const call = inGroup();
    const epoch = call.listener.epoch ?? 0n;
    for (let count = 0; count < 200; count++) {
      const noise = Buffer.from(call.gateway.add(epoch, Buffer.alloc(8, count)).message);
      call.bot.handle({
        kind: "proposals",
        operation: 0,
        proposals: Buffer.concat([Buffer.from([0x40, noise.length]), noise]),
      });
    }
    expect(call.lines.length).toBeGreaterThan(0);
    expect(call.lines.length).toBeLessThanOrEqual(20);
  });
});
