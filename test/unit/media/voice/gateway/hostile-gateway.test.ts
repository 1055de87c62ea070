// The voice connection against gateways that attack (lab/discord/hostile-gateway.ts): each costs its own connection, in
// bounded steps, and nothing stays behind.

import { afterEach, describe, expect, test } from "vitest";
import { FLOODS, type FloodName } from "../../../../../lab/discord/hostile-floods.ts";
import {
  type HostileBehaviour,
  type HostileGateway,
  startHostileGateway,
} from "../../../../../lab/discord/hostile-gateway.ts";
import { createHandlerGuard } from "../../../../../src/media/pacer/handler-guard.ts";
import { GatewaySocket, type GatewaySocketListener } from "../../../../../src/media/voice/gateway/gateway-socket.ts";
import { VoiceLimits, VoiceThreadLimits } from "../../../../../src/media/voice/voice-limits.ts";
import { OutboundGuard } from "../../../../../src/network/outbound-guard.ts";
import { systemSockets } from "../../../../../src/network/sockets.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { ScriptedVoiceGateway } from "../../../../support/scripted-voice-gateway.ts";
import { createVoice, settle, until, type VoiceFixture } from "../../../../support/voice-builders.ts";

const OPUS = Buffer.from("fc0102030405060708", "hex");
const CHANNEL = "6001";
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

interface Attack {
  readonly gateway: HostileGateway;
  readonly clock: FakeClock;
  readonly voice: VoiceFixture;
  /** Result of `connect`. */
  readonly outcome: { error?: Error; isOpen?: boolean };
}

async function attack(behaviour: HostileBehaviour): Promise<Attack> {
  const gateway = await startHostileGateway({ behaviour, channelId: CHANNEL });
  const clock = new FakeClock();
  const voice = createVoice({ endpoint: gateway.endpoint, clock });
  open.push(gateway, voice.connection);
  const outcome: Attack["outcome"] = {};
  voice.connection.connect(voice.credentials({ channelId: CHANNEL })).then(
    () => {
      outcome.isOpen = true;
    },
    (error: Error) => {
      outcome.error = error;
    },
  );
  return { gateway, clock, voice, outcome };
}

/** Advances the clock whenever nothing else is to be done, until the connection has been given up. */
async function untilGivenUp({ clock, voice, outcome }: Attack): Promise<void> {
  await until(() => {
    if (voice.states.at(-1)?.isConnected !== true) clock.advance(250);
    else clock.advance(0);
    return voice.connection.gate === "down" && (outcome.error !== undefined || voice.closes.length > 0);
  }, 20_000);
}

async function expectNothingLeft({ gateway, clock }: Attack): Promise<void> {
  await until(() => gateway.openCount === 0);
  await settle();
  clock.advance(2000);
  expect(clock.pendingCount).toBe(0);
}

describe("a gateway that floods", () => {
  const isAfterOpening = (name: FloodName) => FLOODS[name].env !== "upgrade";
  // The clock stands still in these tests: limits over time are tested below.
  const byTime: readonly FloodName[] = ["epochs", "proposals", "large-proposals", "external-senders"];
  const names = (Object.keys(FLOODS) as FloodName[]).filter((name) => !byTime.includes(name));

  test.each(names.filter(isAfterOpening))(
    "a gateway that floods with %s is cut off, tried again a few times, and given up",
    async (name) => {
      const attacked = await attack(name);
      await untilGivenUp(attacked);
      const { voice, gateway } = attacked;
      expect(voice.closes).toEqual([
        {
          code: 1006,
          reason: expect.stringMatching(/was cut: it |the WebSocket broke: /),
          isByRemote: expect.any(Boolean),
        },
      ]);
      expect(gateway.connectionCount).toBeLessThanOrEqual(8);
      await expectNothingLeft(attacked);
    },
  );

  test.each(names.filter((name) => !isAfterOpening(name)))(
    "a gateway that floods with %s never opens",
    async (name) => {
      const attacked = await attack(name);
      await untilGivenUp(attacked);
      expect(attacked.outcome.error).toMatchObject({ code: "voice-connect-failed" });
      expect(attacked.voice.closes).toEqual([]);
      await expectNothingLeft(attacked);
    },
  );

  test.each(["silent", "drip"] as const)("a gateway that is %s never opens", async (name) => {
    const attacked = await attack(name);
    await untilGivenUp(attacked);
    expect(attacked.outcome.error).toMatchObject({ code: "voice-connect-failed" });
    await expectNothingLeft(attacked);
  });

  test.each(["close-at-once", "close-when-live"] as const)(
    "a gateway that does %s is given up in the end",
    async (name) => {
      const attacked = await attack(name);
      await untilGivenUp(attacked);
      expect(attacked.gateway.connectionCount).toBeLessThanOrEqual(8);
      await expectNothingLeft(attacked);
    },
  );
});

/** Connected to a gateway that says what the test says. */
async function converse() {
  const gateway = await ScriptedVoiceGateway.start();
  const clock = new FakeClock();
  const voice = createVoice({ endpoint: gateway.endpoint, clock });
  open.push(gateway, voice.connection);
  await voice.connection.connect(voice.credentials());
  await until(() => voice.connection.gate === "send");
  const say = (count: number) => {
    for (let index = 0; index < count; index++) gateway.last.send(18, {});
  };
  return { gateway, clock, voice, say };
}

describe("limits of a gateway's messages", () => {
  test("a gateway may send 2,000 messages at once, some of which were used by the handshake", async () => {
    const { gateway, voice, say } = await converse();
    say(1990);
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    expect(voice.states.at(-1)?.isConnected).toBe(true);
    say(10);
    await until(() => voice.states.at(-1)?.isConnected === false);
    expect(voice.lines.at(-1)?.fields).toMatchObject({
      code: 1006,
      reason: "the connection to the voice server was cut: it sends more than 200 messages per second",
      isByRemote: false,
    });
  });

  test("a gateway may send 200 messages per second later on, and a reconnect grants no new ones", async () => {
    const { clock, gateway, voice, say } = await converse();
    voice.sendNow(OPUS);
    say(2000);
    await until(() => voice.states.at(-1)?.isConnected === false);
    clock.advance(250);
    await until(() => voice.connection.counters.resumes === 1);
    say(60);
    await until(() => voice.states.at(-1)?.isConnected === false);
    expect(gateway.connections).toHaveLength(2);
    // Audio continues over UDP meanwhile.
    expect(voice.connection.gate).toBe("send");
  });

  test("a gateway that does not read our answers is disconnected", async () => {
    const { gateway, clock, voice } = await converse();
    gateway.last.socket.pause();
    await until(() => {
      // Each reports a change to the gateway.
      for (let count = 0; count < 10_000; count++) {
        voice.sendNow(OPUS);
        voice.connection.stopSpeaking();
      }
      clock.advance(0);
      return voice.states.at(-1)?.isConnected === false;
    });
    expect(voice.lines.at(-1)?.fields).toMatchObject({ code: 1006, reason: expect.stringContaining("unread") });
  });

  test("a gateway may send no message of more than 64 kB", async () => {
    const { gateway, voice } = await converse();
    gateway.last.send(18, { x: "x".repeat(65_000) });
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    gateway.last.send(18, { x: "x".repeat(65_600) });
    await until(() => voice.states.at(-1)?.isConnected === false);
    expect(voice.lines.at(-1)?.fields).toMatchObject({ code: 1006, reason: expect.stringContaining("payload size") });
  });

  test("a gateway makes us send one heartbeat a second at most, whatever interval it names", async () => {
    const { gateway, clock } = await converse();
    for (const interval of [1e-9, 1e308, 0, -1]) gateway.last.send(8, { heartbeat_interval: interval });
    gateway.last.send(3, null);
    // The regular one, one for each of the two positive numbers, and the requested one.
    await until(() => gateway.last.all(3).length === 4);
    gateway.last.send(8, { heartbeat_interval: 1e-9 });
    await until(() => gateway.last.all(3).length === 5);
    clock.advance(999);
    await settle();
    expect(gateway.last.all(3)).toHaveLength(5);
    clock.advance(1);
    await until(() => gateway.last.all(3).length === 6);
  });
});

describe("a gateway that causes endless MLS work", () => {
  test.each(["epochs", "proposals", "large-proposals", "external-senders"] as const)(
    "a gateway that causes MLS work by %s is cut off",
    async (behaviour) => {
      const gateway = await startHostileGateway({ behaviour, channelId: CHANNEL });
      const voice = createVoice({ endpoint: gateway.endpoint });
      open.push(gateway, voice.connection);
      await voice.connection.connect(voice.credentials({ channelId: CHANNEL }));
      const losses = () => voice.lines.filter(({ message }) => message === "voice connection lost");
      await until(() => losses().length > 0, 20_000);
      expect(losses()[0]?.fields).toMatchObject({ code: 1006, reason: expect.stringContaining("was cut: it ") });
    },
  );
});

describe("one event loop iteration", () => {
  test.each(["heartbeat-acks", "ignored-opcodes", "unknown-opcodes", "empty-pings"] as const)(
    "one event loop iteration handles at most one message of a flood of %s",
    async (behaviour) => {
      const gateway = await startHostileGateway({ behaviour });
      open.push(gateway);
      const clock = new FakeClock();
      const seen = { handled: 0, mostPerIteration: 0, isClosed: false };
      const thrown: unknown[] = [];
      const guardHandler = createHandlerGuard({
        work: (handler) => handler(),
        onThrown: (error) => thrown.push(error),
      });
      const listener: GatewaySocketListener = {
        onGatewayOpen: () => undefined,
        onGatewayMessage: () => undefined,
        onGatewayPing: () => undefined,
        onGatewayClosed: () => {
          seen.isClosed = true;
        },
      };
      const limits = new VoiceLimits(clock, new VoiceThreadLimits({ clock, areFramesAhead: () => true }));
      const take = limits.takeMessage.bind(limits);
      limits.takeMessage = () => {
        seen.handled++;
        return take();
      };
      const socket = new GatewaySocket({
        url: `ws://${gateway.endpoint}/?v=8`,
        connectTimeoutMs: 5000,
        guard: new OutboundGuard(["127.0.0.0/8"]),
        sockets: systemSockets,
        limits,
        guardHandler,
        clock,
        lastSeq: -1,
        listener,
      });
      open.push({ close: () => socket.close(1000) });
      const watch = () => {
        seen.mostPerIteration = Math.max(seen.mostPerIteration, seen.handled);
        seen.handled = 0;
        if (!seen.isClosed) setImmediate(watch);
      };
      watch();
      await until(() => seen.isClosed);
      // Measured between two iterations: the end of one and the beginning of the next.
      expect(seen.mostPerIteration).toBeLessThanOrEqual(2);
      expect(thrown).toEqual([]);
    },
  );
});

describe("other connections", () => {
  test("other connections reach their servers while three hundred attempts wait for one that does not answer", async () => {
    const silent = await startHostileGateway({ behaviour: "silent" });
    const control = await ScriptedVoiceGateway.start();
    open.push(silent, control);
    const clock = new FakeClock();
    const threadLimits = new VoiceThreadLimits({ clock, areFramesAhead: () => true });
    for (let count = 0; count < 300; count++) {
      const voice = createVoice({ endpoint: silent.endpoint, clock, threadLimits });
      open.push(voice.connection);
      void voice.connection.connect(voice.credentials()).catch(() => undefined);
    }
    const voice = createVoice({ endpoint: control.endpoint, clock, threadLimits });
    open.push(voice.connection);
    const opened = voice.connection.connect(voice.credentials());
    await until(() => silent.connectionCount >= 100);
    expect(silent.connectionCount).toBeLessThanOrEqual(128);
    clock.advance(1000);
    await opened;
    await until(() => voice.connection.gate === "send");
    expect(voice.sendNow(OPUS)).toBe(true);
  });
});
