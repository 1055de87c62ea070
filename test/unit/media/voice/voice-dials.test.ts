// Who may dial when many want to, in the time the test says.

import { describe, expect, test } from "vitest";
import { type Dial, VoiceDials } from "../../../../src/media/voice/voice-dials.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const AT_ONCE = 128;

class Dialler {
  turns = 0;
  ousted = 0;
  dial: Dial | undefined;
}

function prepare() {
  const clock = new FakeClock();
  const dials = new VoiceDials(clock);
  const enter = (remote: string): Dialler => {
    const dialler = new Dialler();
    dialler.dial = dials.enter({
      remote,
      onTurn: () => {
        dialler.turns++;
      },
      onOusted: () => {
        dialler.ousted++;
      },
    });
    return dialler;
  };
  const enterMany = (count: number, remote: string) => Array.from({ length: count }, () => enter(remote));
  return { clock, dials, enter, enterMany };
}

describe("dialling", () => {
  test("begins at once while there is room, and waits for an answer as long as nobody else waits", () => {
    const { clock, dials, enterMany } = prepare();
    const all = enterMany(AT_ONCE, "a:1");
    expect(all.every(({ turns }) => turns === 1)).toBe(true);
    clock.advance(60_000);
    expect([dials.diallingCount, clock.pendingCount]).toEqual([AT_ONCE, 0]);
    expect(all.some(({ ousted }) => ousted > 0)).toBe(false);
  });

  test("waits when there is none, and begins as soon as another has ended", () => {
    const { enterMany, enter, dials } = prepare();
    const [first] = enterMany(AT_ONCE, "a:1");
    const next = enter("a:1");
    expect(next.turns).toBe(0);
    first?.dial?.end();
    expect(next.turns).toBe(1);
    first?.dial?.end();
    expect(dials.diallingCount).toBe(AT_ONCE);
  });

  test("loses its turn after a second without an answer when others wait: the oldest of the greediest first", () => {
    const { clock, enterMany, enter } = prepare();
    const modest = enter("modest:1");
    clock.advance(10);
    const greedy = enterMany(AT_ONCE - 1, "greedy:1");
    const next = enter("other:1");
    clock.advance(989);
    expect(next.turns).toBe(0);
    clock.advance(1);
    // Only the modest one is old enough yet.
    expect([modest.ousted, next.turns]).toEqual([1, 1]);
    const another = enter("other:1");
    clock.advance(10);
    expect([greedy.filter(({ ousted }) => ousted === 1).length, greedy[0]?.ousted, another.turns]).toEqual([1, 1, 1]);
  });

  test("goes to the server with the fewest dials first, so that a crowd before one server delays only itself", () => {
    const { clock, enterMany, enter } = prepare();
    enterMany(AT_ONCE, "silent:1");
    const crowd = enterMany(1000, "silent:1");
    const honest = enter("honest:1");
    clock.advance(1000);
    expect(honest.turns).toBe(1);
    expect(crowd.filter(({ turns }) => turns === 1)).toHaveLength(AT_ONCE - 1);
  });

  test("is forgotten by who gives up waiting, and no timer stays", () => {
    const { clock, enterMany, enter, dials } = prepare();
    const all = enterMany(AT_ONCE, "a:1");
    const waiting = enter("b:1");
    waiting.dial?.end();
    for (const { dial } of all) dial?.end();
    expect([dials.diallingCount, dials.waitingCount, waiting.turns]).toEqual([0, 0, 0]);
    clock.advance(1000);
    expect(clock.pendingCount).toBe(0);
  });
});
