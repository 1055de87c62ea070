// Which session's message is handled next on a thread.

import { expect, test } from "vitest";
import { DaveInbox, type DaveTask } from "../../../../../src/media/voice/dave/dave-inbox.ts";
import { VoiceLimits, VoiceThreadLimits } from "../../../../../src/media/voice/voice-limits.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const PIECE_MS = 10;
const COMMIT = { kind: "commit", transitionId: 0, commit: Buffer.alloc(8) } as const;
const WELCOME = { kind: "welcome", transitionId: 0, welcome: Buffer.alloc(8) } as const;
const PROPOSALS = { kind: "proposals", operation: 0, proposals: Buffer.alloc(8) } as const;
const LEFT = { kind: "userLeft", userId: "1" } as const;

function createThread() {
  const clock = new FakeClock();
  const thread = new VoiceThreadLimits({ clock, areFramesAhead: () => true });
  const handled: string[] = [];
  const createInbox = (name: string, startedMs?: number) => {
    const limits = new VoiceLimits(clock, thread);
    return new DaveInbox({
      limits,
      clock,
      guardHandler: (handler) => handler,
      waitsForGroupSinceMs: () => startedMs,
      isLight: (task: DaveTask) => task.kind === "userLeft",
      onTask: ({ kind }) => {
        handled.push(`${name} ${kind}`);
        if (kind === "userLeft") return;
        clock.stall(PIECE_MS);
        limits.spendMls(PIECE_MS);
      },
      onFull: (error) => {
        throw error;
      },
    });
  };
  /** Every message that arrives from here on waits. */
  const occupy = () => thread.groupQueue.spend(PIECE_MS);
  return { clock, handled, createInbox, occupy };
}

test("a session that waits for its first group overtakes later messages, by three seconds at most", () => {
  const { clock, handled, createInbox, occupy } = createThread();
  clock.advance(10_000);
  occupy();
  createInbox("running").take(COMMIT);
  clock.stall(2000);
  createInbox("waiting for long", 0).take(WELCOME);
  createInbox("waiting shortly", 11_000).take(WELCOME);
  createInbox("running as well").take(COMMIT);
  clock.stall(2000);
  createInbox("late", 0).take(WELCOME);
  clock.advance(200);
  expect(handled.map((line) => line.replace(/ \w+$/, ""))).toEqual([
    "waiting for long", // treated as arrived at 9 s
    "running",
    "waiting shortly",
    "late", // 11 s as well, but came later
    "running as well",
  ]);
});

test("answers that others can give as well are delayed, but not for ever", () => {
  const { clock, handled, createInbox, occupy } = createThread();
  occupy();
  createInbox("first", 0).take(PROPOSALS);
  createInbox("second", 0).take(WELCOME);
  clock.stall(150);
  createInbox("third", 150).take(WELCOME);
  clock.stall(100);
  createInbox("fourth", 250).take(WELCOME);
  clock.advance(100);
  expect(handled).toEqual(["second welcome", "third welcome", "first proposals", "fourth welcome"]);
});

test("a key package is sent before the work of sessions that began less than three seconds sooner", () => {
  const { clock, handled, createInbox, occupy } = createThread();
  clock.advance(10_000);
  occupy();
  createInbox("long ago", 6000).take(WELCOME);
  createInbox("lately", 9000).take(WELCOME);
  clock.stall(500);
  createInbox("new", 10_500).take({ kind: "begin" });
  clock.advance(100);
  expect(handled).toEqual(["long ago welcome", "new begin", "lately welcome"]);
});

test("within a session all is handled in order, and light messages together with the previous one", () => {
  const { clock, handled, createInbox, occupy } = createThread();
  occupy();
  const inbox = createInbox("a", 0);
  for (const task of [PROPOSALS, LEFT, LEFT, WELCOME, LEFT, COMMIT]) inbox.take(task);
  expect(handled).toEqual([]);
  const iterations: (readonly string[])[] = [];
  const poll = () => {
    iterations.push([...handled.splice(0)]);
    if (inbox.isWaiting) clock.after(0, poll);
  };
  clock.after(0, poll);
  clock.advance(5 * PIECE_MS);
  expect(iterations).toEqual([["a proposals", "a userLeft", "a userLeft"], ["a welcome", "a userLeft"], ["a commit"]]);
  expect(inbox.isWaiting).toBe(false);
});

test("light messages are handled at once when nothing of their session waits, even if others wait", () => {
  const { handled, createInbox, occupy } = createThread();
  occupy();
  createInbox("a").take(COMMIT);
  createInbox("b").take(LEFT);
  expect(handled).toEqual(["b userLeft"]);
});
