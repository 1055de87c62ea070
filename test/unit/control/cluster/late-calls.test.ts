import { expect, test } from "vitest";
import { TestMachine } from "../../../support/clustered-machine.ts";
import { PlacingWorld, playerAt } from "../../../support/placing-world.ts";

const HOUR_MS = 3_600_000;

test("a request that arrives late is not carried out, and the next one is, whatever the machines' clocks say", async () => {
  const world = new PlacingWorld();
  const a = await new TestMachine(world, "a", { choose: () => world.target?.id, aheadMs: HOUR_MS }).start();
  const b = await new TestMachine(world, "b", { aheadMs: -HOUR_MS }).start();
  world.target = b;
  const session = await world.lasting(a);
  await world.update(a, session, 44);
  await world.pass(3000);

  a.bucket.transit = () => ({ requestMs: 2100, answerMs: 0 });
  const late = a.ask(session.id, "7", { kind: "update", volume: 45 });
  late.catch(() => undefined);
  await world.pass(3000);
  a.bucket.transit = () => ({ requestMs: 0, answerMs: 0 });

  await expect(late).rejects.toMatchObject({ code: "cluster-away" });
  expect(playerAt(b, session)?.intent.volume).toBe(44);
  await world.update(a, session, 47);
  expect(playerAt(b, session)?.intent.volume).toBe(47);
});
