import { beforeEach, describe, expect, test } from "vitest";
import { DEAD_MS } from "../../../../src/cluster/lease-times.ts";
import { NO_GATEWAY_MS } from "../../../../src/control/cluster/no-gateway.ts";
import { SWEEP_MS } from "../../../../src/control/cluster/record-sweep.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import { NodeError } from "../../../../src/errors.ts";
import { TestMachine } from "../../../support/clustered-machine.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { PlacingWorld, playerAt } from "../../../support/placing-world.ts";

const TIMEOUT_MS = 600_000;
/** What the checks, each 10 s, and the death of a machine may add. */
const LATE_MS = 25_000;
const CUT_OFF_MS = DEAD_MS + 1000;

let world: PlacingWorld;
let gateway: TestMachine;
/** Play audio only; the players are at the first. */
let audio: TestMachine;
let otherAudio: TestMachine;

beforeEach(async () => {
  world = new PlacingWorld();
  audio = await new TestMachine(world, "audio", { roles: ["audio"], aheadMs: 3_600_000 }).start();
  otherAudio = await new TestMachine(world, "other audio", { roles: ["audio"] }).start();
  gateway = await newGateway("gateway");
});

function newGateway(name: string): Promise<TestMachine> {
  return new TestMachine(world, name, { roles: ["gateway"], choose: () => audio.id }).start();
}

/** In steps that are long enough for many minutes. */
async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    world.clock.advance(490);
    await world.pass(10);
  }
}

/** With a player at `audio`. */
async function playing(session: Session): Promise<Session> {
  await world.update(gateway, session);
  expect(playerAt(audio, session)).toBeDefined();
  return session;
}

function isPlaying(session: Session): boolean {
  return playerAt(audio, session)?.isDestroyed === false;
}

describe("players of a session whose gateway has died, while there is no other one", () => {
  test("end after a minute when its client was not to come back, and nothing is left of it", async () => {
    const session = await playing(await gateway.open());
    gateway.kill();
    await pass(CUT_OFF_MS + NO_GATEWAY_MS - 5000);
    expect(isPlaying(session)).toBe(true);
    await pass(LATE_MS);
    expect([isPlaying(session), audio.sessions.all()]).toEqual([false, []]);
    await pass(2 * SWEEP_MS + 5000);
    expect(world.recordsOf(session)).toEqual([]);
    const lines = [audio, otherAudio].flatMap(({ lines }) => lines.filter((line) => line.includes("no gateway has")));
    expect(lines).toHaveLength(1);
  });

  test("end a minute after the time that it waits for its client", async () => {
    const session = await playing(await world.lasting(gateway));
    gateway.kill();
    await pass(CUT_OFF_MS + TIMEOUT_MS + NO_GATEWAY_MS - 5000);
    expect(isPlaying(session)).toBe(true);
    await pass(LATE_MS);
    expect(isPlaying(session)).toBe(false);
    await pass(2 * SWEEP_MS + 5000);
    expect(world.recordsOf(session)).toEqual([]);
  });

  test("end by the time at which its client should have come back, whatever the clocks say", async () => {
    const socket = new FakeSocket();
    const session = await playing(await world.lasting(gateway, socket));
    session.socketClosed(socket);
    await pass(TIMEOUT_MS / 2);
    gateway.kill();
    await pass(TIMEOUT_MS / 2 + NO_GATEWAY_MS - 5000);
    expect(isPlaying(session)).toBe(true);
    await pass(LATE_MS);
    expect(isPlaying(session)).toBe(false);
  });

  test("stay when a gateway comes in time, which takes the session", async () => {
    const session = await playing(await world.lasting(gateway));
    const player = playerAt(audio, session);
    gateway.kill();
    await pass(CUT_OFF_MS + TIMEOUT_MS);
    const next = await newGateway("next");
    await pass(NO_GATEWAY_MS + LATE_MS);
    expect(next.sessions.own(session.id)?.isWaiting).toBe(true);
    expect(playerAt(audio, session)).toBe(player);
    expect(player?.isDestroyed).toBe(false);
  });

  test("stay while there is a gateway that cannot take the session yet", async () => {
    const next = await newGateway("next");
    const session = await playing(await gateway.open());
    const { write } = next.bucket;
    next.bucket.write = async (changes, options) => {
      if (changes[0]?.key.startsWith("owner/") === true) throw new NodeError("cluster-away", "no answer");
      return await write.call(next.bucket, changes, options);
    };
    gateway.kill();
    await pass(CUT_OFF_MS + 2 * NO_GATEWAY_MS);
    expect(isPlaying(session)).toBe(true);
    next.bucket.write = write;
    await pass(5000);
    expect(isPlaying(session)).toBe(false);
  });

  test("stay when a gateway has the session that is not known here yet", async () => {
    const session = await playing(await gateway.open());
    gateway.kill();
    await pass(CUT_OFF_MS + NO_GATEWAY_MS - 15_000);
    for (const { bucket } of [audio, otherAudio]) {
      const { write } = bucket;
      bucket.write = async (changes, options) => {
        const [change] = changes;
        if (change?.key === `owner/${session.id}`) {
          // At the last moment.
          bucket.write = write;
          await write.call(bucket, [{ key: change.key, value: JSON.stringify({ machine: otherAudio.id }) }], options);
        }
        return await write.call(bucket, changes, options);
      };
    }
    await pass(LATE_MS);
    expect(isPlaying(session)).toBe(true);
    expect(world.nats.value(`owner/${session.id}`)).toContain(otherAudio.id);
  });

  test("stay while that cannot be known or written", async () => {
    const session = await playing(await gateway.open());
    gateway.kill();
    await pass(CUT_OFF_MS);
    const { get } = audio.bucket;
    for (const { bucket } of [audio, otherAudio])
      bucket.get = async () => {
        throw new NodeError("cluster-away", "no answer");
      };
    await pass(2 * NO_GATEWAY_MS);
    expect(isPlaying(session)).toBe(true);
    audio.bucket.get = get;
    world.nats.goAway();
    await pass(2 * NO_GATEWAY_MS);
    expect(isPlaying(session)).toBe(true);
    world.nats.comeBack();
    await pass(NO_GATEWAY_MS + LATE_MS);
    expect(isPlaying(session)).toBe(false);
  });

  test("stay while their gateway lives", async () => {
    const session = await playing(await gateway.open());
    await pass(TIMEOUT_MS);
    expect(isPlaying(session)).toBe(true);
  });
});
