import { expect, test } from "vitest";
import { BodyMemory } from "../../../../src/control/server/body-memory.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const MIB = 1024 * 1024;

/** Bodies by name; those that had to make room are in `dropped`. */
function memory() {
  const clock = new FakeClock();
  const bodies = new BodyMemory(clock);
  const keys = new Map<string, object>();
  const dropped: string[] = [];
  const keyOf = (name: string): object => {
    const key = keys.get(name) ?? { name };
    keys.set(name, key);
    return key;
  };
  const hold = (account: string, name: string, sizeBytes: number): boolean =>
    bodies.hold(keyOf(name), sizeBytes, { account, onDropped: () => dropped.push(name) });
  /** Sends bodies of that size until one is refused or another has to go. Returns how many are there then. */
  const fill = (account: string, sizeBytes: number): number => {
    let count = 0;
    while (hold(account, `${account} ${count}`, sizeBytes) && dropped.length === 0) count++;
    return count;
  };
  return {
    clock,
    dropped,
    hold,
    fill,
    arrived: (name: string) => bodies.arrived(keyOf(name)),
    release: (name: string) => bodies.release(keyOf(name)),
  };
}

test("one account gets three quarters of the body memory, and another one then has room", () => {
  const { hold, fill, dropped } = memory();
  expect(fill("greedy", 40_000) * 40_000).toBeGreaterThan(47 * MIB);
  expect(hold("honest", "body", 4 * MIB)).toBe(true);
  expect(dropped).toEqual([]);
});

test("the slowest body of the account with most makes room for another account", () => {
  const { clock, hold, fill, dropped } = memory();
  hold("greedy", "slow", 20_000);
  clock.advance(100);
  fill("greedy", 4 * MIB);
  expect(dropped).toEqual([]);
  fill("honest", 4 * MIB);
  expect(dropped).toEqual(["slow"]);
});

test("an account makes room for its own bodies with one that arrives slowly for a second", () => {
  const { clock, hold, fill, dropped } = memory();
  hold("one", "slow", 20_000);
  clock.advance(900);
  fill("one", 4 * MIB);
  expect(hold("one", "more", 20_000)).toBe(true);
  expect(hold("one", "large", 4 * MIB)).toBe(false);
  expect(dropped).toEqual([]);
  clock.advance(200);
  hold("one", "large", 20_000 + 4 * MIB);
  expect(dropped).toEqual(["slow"]);
});

test("a body that is there as a whole makes no room, and neither does one of an account with less", () => {
  const { clock, hold, fill, dropped, arrived } = memory();
  const count = fill("greedy", 4 * MIB);
  for (let index = 0; index < count; index++) arrived(`greedy ${index}`);
  hold("modest", "small", 4 * MIB);
  clock.advance(5000);
  expect(fill("third", 4 * MIB)).toBe(3);
  expect(dropped).toEqual([]);
});

test("the bytes of released bodies are free again", () => {
  const { hold, fill, release } = memory();
  const count = fill("one", 4 * MIB);
  for (let index = 0; index <= count; index++) release(`one ${index}`);
  expect(release("one 0")).toBe(0);
  for (let index = 0; index < count; index++) expect(hold("one", `again ${index}`, 4 * MIB)).toBe(true);
});
