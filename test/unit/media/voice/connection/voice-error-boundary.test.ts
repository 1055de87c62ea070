// An exception inside a voice connection ends that connection, is reported like any other close, and gets no further.

import { afterEach, describe, expect, test } from "vitest";
import type { Random } from "../../../../../src/lib/random.ts";
import { VoiceThreadLimits } from "../../../../../src/media/voice/voice-limits.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { ScriptedVoiceGateway } from "../../../../support/scripted-voice-gateway.ts";
import { createVoice, fixedRandom, settle, until } from "../../../../support/voice-builders.ts";

const OPUS = Buffer.from("fc0102030405060708", "hex");
const INSIDE = { code: 1006, reason: "the voice connection failed unexpectedly", isByRemote: false };
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function prepare(random: Random = fixedRandom) {
  const gateway = await ScriptedVoiceGateway.start();
  const clock = new FakeClock();
  const threadLimits = new VoiceThreadLimits({ clock, areFramesAhead: () => true });
  const create = (how: { random?: Random } = {}) => {
    const voice = createVoice({ endpoint: gateway.endpoint, clock, threadLimits, ...how });
    open.push(voice.connection);
    return voice;
  };
  open.push(gateway);
  const broken = create({ random });
  const control = create();
  await control.connection.connect(control.credentials());
  await until(() => control.connection.gate === "send");
  const expectControlUnharmed = () => {
    expect(control.sendNow(OPUS)).toBe(true);
    expect(control.closes).toEqual([]);
  };
  return { gateway, clock, broken, expectControlUnharmed };
}

/** Random numbers that end, as anything that is called might throw. */
function randomThatThrows(at: "uint32" | "unit"): Random {
  return {
    ...fixedRandom,
    [at]: () => {
      throw new Error("no random numbers");
    },
  };
}

/** No player sends such a frame: it stands for any bug further down. */
function poisonedFrame(): Uint8Array {
  return Object.defineProperty(Buffer.from(OPUS), "length", {
    get: () => {
      throw new Error("no length");
    },
  });
}

describe("exceptions inside a voice connection", () => {
  test("an exception in the handler of a message ends its connection", async () => {
    const { gateway, broken, expectControlUnharmed, clock } = await prepare(randomThatThrows("uint32"));
    await broken.connection.connect(broken.credentials());
    await until(() => broken.closes.length > 0);
    expect(broken.closes).toEqual([INSIDE]);
    expect(broken.connection.gate).toBe("down");
    expect(broken.lines.some(({ level }) => level === "error")).toBe(true);
    await until(() => gateway.last.closeCode === 1000);
    expectControlUnharmed();
    // Nothing of it is left: only heartbeat and keep-alive of the other connection.
    await settle();
    clock.advance(1000);
    expect(clock.pendingCount).toBe(2);
  });

  test("an exception in a timer ends its connection", async () => {
    const { gateway, broken, clock, expectControlUnharmed } = await prepare();
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    gateway.last.socket.close(4009);
    await until(() => broken.states.at(-1)?.isConnected === false);
    // Read-only outside, yet the object that is counted in: the timer cannot count its reconnect.
    Object.freeze(broken.connection.counters);
    clock.advance(250);
    await until(() => broken.closes.length > 0);
    expect(broken.closes).toEqual([INSIDE]);
    expectControlUnharmed();
  });

  test("an exception in the close of a socket ends its connection", async () => {
    const { gateway, broken, expectControlUnharmed } = await prepare(randomThatThrows("unit"));
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    gateway.last.socket.terminate();
    await until(() => broken.closes.length > 0);
    expect(broken.closes).toEqual([INSIDE]);
    expectControlUnharmed();
  });

  test("an exception in sending a frame, from the tick, ends its connection", async () => {
    const { broken, expectControlUnharmed } = await prepare();
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    expect(broken.sendNow(poisonedFrame())).toBe(false);
    expect(broken.closes).toEqual([INSIDE]);
    expect(broken.sendNow(OPUS)).toBe(false);
    expectControlUnharmed();
  });

  test("an exception in a notified listener changes nothing", async () => {
    const { broken, expectControlUnharmed } = await prepare();
    broken.closes.push = () => {
      throw new Error("listener");
    };
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    broken.sendNow(poisonedFrame());
    expect(broken.connection.gate).toBe("down");
    expectControlUnharmed();
  });

  test("an exception does not keep the client from connecting again", async () => {
    const { broken } = await prepare();
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    broken.sendNow(poisonedFrame());
    await broken.connection.connect(broken.credentials());
    await until(() => broken.connection.gate === "send");
    expect(broken.sendNow(OPUS)).toBe(true);
  });
});

test("events of sockets and timers are handled in the player's name", async () => {
  const gateway = await ScriptedVoiceGateway.start();
  const clock = new FakeClock();
  const named = { isWorking: false, states: 0, unexpected: 0 };
  const voice = createVoice({
    endpoint: gateway.endpoint,
    clock,
    work: (handler) => {
      named.isWorking = true;
      handler();
      named.isWorking = false;
    },
  });
  open.push(gateway, voice.connection);
  voice.states.push = (...states) => {
    if (named.isWorking) named.states++;
    else named.unexpected++;
    return states.length;
  };
  await voice.connection.connect(voice.credentials());
  await until(() => voice.connection.gate === "send");
  gateway.last.socket.close(4009);
  await until(() => voice.connection.gate === "hold");
  clock.advance(250);
  await until(() => voice.connection.gate === "send");
  expect(named.states).toBeGreaterThan(4);
  expect(named.unexpected).toBe(0);
});
