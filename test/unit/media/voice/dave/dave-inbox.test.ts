// Whose message is handled next, of all sessions of a thread.

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
  /** From here on whatever comes waits. */
  const occupy = () => thread.groupQueue.spend(PIECE_MS);
  return { clock, handled, createInbox, occupy };
}

test("who waits for a first group goes ahead of what came later, by three seconds at most", () => {
  const { clock, handled, createInbox, occupy } = createThread();
  clock.advance(10_000);
  occupy();
  createInbox("running").take(COMMIT);
  clock.stall(2000);
  createInbox("begun long ago", 0).take(WELCOME);
  createInbox("begun since", 11_000).take(WELCOME);
  createInbox("running too").take(COMMIT);
  clock.stall(2000);
  createInbox("late", 0).take(WELCOME);
  clock.advance(200);
  expect(handled.map((line) => line.replace(/ \w+$/, ""))).toEqual([
    "begun long ago", // held to have come at 9 s
    "running",
    "begun since",
    "late", // 11 s as well, but came later
    "running too",
  ]);
});

test("what others can answer as well waits for them, not for ever", () => {
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

test("a key package goes out before those go on who began less than three seconds sooner", () => {
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

test("within a session all is handled as it came, and what costs nothing with what was before it", () => {
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

test("what costs nothing is handled at once when nothing of its session waits, whoever else does", () => {
  const { handled, createInbox, occupy } = createThread();
  occupy();
  createInbox("a").take(COMMIT);
  createInbox("b").take(LEFT);
  expect(handled).toEqual(["b userLeft"]);
});
