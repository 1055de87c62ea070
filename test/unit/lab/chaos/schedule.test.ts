// What the chaos lab draws from a seed, and what it must not draw.

import { expect, test } from "vitest";
import { type ChaosEvent, drawSchedule, eventNames, type Subject, spareOf } from "../../../../lab/chaos/schedule.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";

const DURATION_MS = 300_000;

function subjects(counts: Readonly<Record<string, number>>): readonly Subject[] {
  return Object.entries(counts).flatMap(([role, count]) =>
    // The keys are roles.
    Array.from({ length: count }, (_, index) => ({ name: `${role}-${index + 1}`, role: role as Subject["role"] })),
  );
}

const ALL = subjects({ gateway: 3, audio: 4, nats: 3 });

function draw(seed: number, names?: ReadonlySet<string>): readonly ChaosEvent[] {
  return drawSchedule({ subjects: ALL, durationMs: DURATION_MS, names, random: seededRandom(seed) });
}

test("a seed draws the same events each time, and another seed others", () => {
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test("no event begins in the calm at the beginning, nor after the time", () => {
  const times = draw(7).map(({ atMs }) => atMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(Math.min(...times)).toBeGreaterThanOrEqual(10_000);
  expect(Math.max(...times)).toBeLessThan(DURATION_MS);
});

test("a majority of the NATS servers and half of the machines of each role are there at all times", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const events = draw(seed);
    for (const { atMs } of events) {
      const away = events.filter((event) => event.atMs <= atMs && event.atMs + event.forMs >= atMs);
      const there = ALL.filter((subject) => !away.some((event) => event.subject === subject));
      const count = (role: string): number => there.filter((subject) => subject.role === role).length;
      expect([seed, count("nats") >= 2, count("gateway") >= 2, count("audio") >= 2]).toEqual([seed, true, true, true]);
    }
  }
});

test("nothing is struck while it is away", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const lastMs = new Map<Subject, number>();
    for (const { subject, atMs, forMs } of draw(seed)) {
      expect(atMs).toBeGreaterThan(lastMs.get(subject) ?? 0);
      lastMs.set(subject, atMs + forMs);
    }
  }
});

test("many seeds together draw every kind of event, and only the wanted ones if there are some", () => {
  const drawn = (names?: ReadonlySet<string>): readonly string[] => [
    ...new Set(
      Array.from({ length: 50 }, (_, seed) => draw(seed, names)).flatMap((events) =>
        events.map(({ fault, subject }) => `${fault}-${subject.role}`),
      ),
    ),
  ];
  expect(drawn().toSorted()).toEqual([...eventNames(ALL)].toSorted());
  expect(drawn(new Set(["kill-gateway", "cut-audio"])).toSorted()).toEqual(["cut-audio", "kill-gateway"]);
});

test("the last machine of a role is spared, and machines that do both count for each", () => {
  const [single, ...natsServers] = subjects({ both: 1, nats: 1 });
  expect(spareOf([single!, ...natsServers], [])).toEqual([]);
  const mixed = subjects({ gateway: 1, both: 1, audio: 1 });
  const [gateway, both, audio] = mixed;
  expect(spareOf(mixed, [])).toEqual(mixed);
  expect(spareOf(mixed, [both!])).toEqual([]);
  expect(spareOf(mixed, [gateway!])).toEqual([audio]);
});
