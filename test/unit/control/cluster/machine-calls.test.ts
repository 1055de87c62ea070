import { beforeEach, expect, test } from "vitest";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { TestMachine } from "../../../support/clustered-machine.ts";
import { PausableClock } from "../../../support/pausable-clock.ts";
import { PlacingWorld, playerAt } from "../../../support/placing-world.ts";

let world: PlacingWorld;
let gateway: TestMachine;
let audio: TestMachine;
let clock: PausableClock;
let session: Session;

beforeEach(async () => {
  world = new PlacingWorld();
  clock = new PausableClock(world.clock);
  audio = await new TestMachine(world, "audio", { clock }).start();
  audio.bucket.transit = () => ({ requestMs: 1, answerMs: 1 });
  gateway = await world.gateway("gateway");
  world.target = audio;
  session = await world.lasting(gateway);
  await world.update(gateway, session, 50);
});

/** Asks for that volume; what it comes to, and how long it takes. */
async function asked(volume: number, msMax = 30_000): Promise<{ readonly outcome: unknown; readonly tookMs: number }> {
  const startMs = world.clock.now();
  const answer = gateway.ask(session.id, "7", { kind: "update", volume }).then(
    () => "answered",
    ({ code, message }) => `${code}: ${message}`,
  );
  const outcome = await world.within(answer, msMax);
  return { outcome, tookMs: world.clock.now() - startMs };
}

const SILENT = "cluster-away: the machine that has the request has not been heard of for some seconds";

test("a request to a machine that stands still is given up after some seconds, and the next one sooner", async () => {
  clock.pause();
  const first = await asked(60);
  expect(first).toEqual({ outcome: SILENT, tookMs: expect.toSatisfy((ms: number) => ms > 3500 && ms < 7000) });
  const second = await asked(61);
  expect(second).toEqual({ outcome: SILENT, tookMs: expect.toSatisfy((ms: number) => ms < 5000) });
  clock.resume();
  await world.pass(3000);
  expect((await asked(70)).outcome).toBe("answered");
  expect(playerAt(audio, session)?.intent.volume).toBe(70);
});

test("a request that takes long at a machine that lives is waited for", async () => {
  audio.cluster.onPlayerCall(
    () =>
      new Promise((resolve) => {
        world.clock.after(20_000, () => resolve(JSON.stringify({ isStored: true })));
      }),
  );
  expect(await asked(60)).toEqual({ outcome: "answered", tookMs: expect.toSatisfy((ms: number) => ms >= 20_000) });
});

test("a request is waited for while no machine could have been heard of", async () => {
  audio.cluster.onPlayerCall(
    () =>
      new Promise((resolve) => {
        world.clock.after(12_000, () => resolve(JSON.stringify({ isStored: true })));
      }),
  );
  world.clock.after(1000, () => world.nats.goAway({ isConnected: true, keepsRequests: false }));
  world.clock.after(9000, () => world.nats.comeBack());
  expect((await asked(60)).outcome).toBe("answered");
});
