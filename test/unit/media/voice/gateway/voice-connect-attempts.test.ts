// Which attempts get permits when many wait, on the test's clock.

import { describe, expect, test } from "vitest";
import {
  type ConnectAttempt,
  VoiceConnectAttempts,
} from "../../../../../src/media/voice/gateway/voice-connect-attempts.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const AT_ONCE = 128;

class Connector {
  permits = 0;
  ousted = 0;
  attempt: ConnectAttempt | undefined;
}

function prepare() {
  const clock = new FakeClock();
  const connectAttempts = new VoiceConnectAttempts(clock);
  const enter = (remote: string): Connector => {
    const connector = new Connector();
    connector.attempt = connectAttempts.enter({
      remote,
      onPermit: () => {
        connector.permits++;
      },
      onOusted: () => {
        connector.ousted++;
      },
    });
    return connector;
  };
  const enterMany = (count: number, remote: string) => Array.from({ length: count }, () => enter(remote));
  return { clock, connectAttempts, enter, enterMany };
}

describe("connect attempts", () => {
  test("an attempt begins at once while a permit is free, and may wait for its answer while nobody else waits", () => {
    const { clock, connectAttempts, enterMany } = prepare();
    const all = enterMany(AT_ONCE, "a:1");
    expect(all.every(({ permits }) => permits === 1)).toBe(true);
    clock.advance(60_000);
    expect([connectAttempts.connectingCount, clock.pendingCount]).toEqual([AT_ONCE, 0]);
    expect(all.some(({ ousted }) => ousted > 0)).toBe(false);
  });

  test("an attempt waits when no permit is free, and begins as soon as another has ended", () => {
    const { enterMany, enter, connectAttempts } = prepare();
    const [first] = enterMany(AT_ONCE, "a:1");
    const next = enter("a:1");
    expect(next.permits).toBe(0);
    first?.attempt?.end();
    expect(next.permits).toBe(1);
    first?.attempt?.end();
    expect(connectAttempts.connectingCount).toBe(AT_ONCE);
  });

  test("an attempt loses its permit after a second without an answer when others wait: the oldest of the busiest server first", () => {
    const { clock, enterMany, enter } = prepare();
    const modest = enter("modest:1");
    clock.advance(10);
    const heavy = enterMany(AT_ONCE - 1, "greedy:1");
    const next = enter("other:1");
    clock.advance(989);
    expect(next.permits).toBe(0);
    clock.advance(1);
    // Only the modest one is old enough yet.
    expect([modest.ousted, next.permits]).toEqual([1, 1]);
    const another = enter("other:1");
    clock.advance(10);
    expect([heavy.filter(({ ousted }) => ousted === 1).length, heavy[0]?.ousted, another.permits]).toEqual([1, 1, 1]);
  });

  test("a free permit goes to the server with the fewest attempts, so that a crowd for one server delays only itself", () => {
    const { clock, enterMany, enter } = prepare();
    enterMany(AT_ONCE, "silent:1");
    const crowd = enterMany(1000, "silent:1");
    const control = enter("control:1");
    clock.advance(1000);
    expect(control.permits).toBe(1);
    expect(crowd.filter(({ permits }) => permits === 1)).toHaveLength(AT_ONCE - 1);
  });

  test("an attempt that gives up waiting is forgotten, and leaves no timer", () => {
    const { clock, enterMany, enter, connectAttempts } = prepare();
    const all = enterMany(AT_ONCE, "a:1");
    const waiting = enter("b:1");
    waiting.attempt?.end();
    for (const { attempt } of all) attempt?.end();
    expect([connectAttempts.connectingCount, connectAttempts.waitingCount, waiting.permits]).toEqual([0, 0, 0]);
    clock.advance(1000);
    expect(clock.pendingCount).toBe(0);
  });
});
