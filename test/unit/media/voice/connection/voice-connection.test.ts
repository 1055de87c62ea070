// The voice connection against a gateway that does exactly what each test says, in the time the test says.

import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { RING_FRAMES } from "../../../../../src/media/pacer/frame-ring.ts";
import { LocalPacer } from "../../../../../src/media/pacer/local-pacer.ts";
import { systemSockets } from "../../../../../src/network/sockets.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import {
  type ScriptedGatewayOptions,
  ScriptedVoiceGateway,
  SECRET_KEY,
} from "../../../../support/scripted-voice-gateway.ts";
import {
  createVoice,
  settle,
  until,
  type VoiceFixture,
  type VoiceFixtureOptions,
} from "../../../../support/voice-builders.ts";

const OPUS = Buffer.from("fc0102030405060708", "hex");
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

interface Fixture extends VoiceFixture {
  readonly clock: FakeClock;
  readonly gateway: ScriptedVoiceGateway;
}

async function prepare(
  script: ScriptedGatewayOptions = {},
  options: Partial<VoiceFixtureOptions> = {},
): Promise<Fixture> {
  const gateway = await ScriptedVoiceGateway.start(script);
  const clock = new FakeClock();
  const voice = createVoice({ endpoint: gateway.endpoint, clock, ...options });
  open.push(gateway, voice.connection);
  return { ...voice, clock, gateway };
}

/** Connected, with audio flowing. */
async function goLive(
  script: ScriptedGatewayOptions = {},
  options: Partial<VoiceFixtureOptions> = {},
): Promise<Fixture> {
  const fixture = await prepare(script, options);
  await fixture.connection.connect(fixture.credentials());
  await until(() => fixture.connection.sink.gate === "send");
  await until(() => fixture.states.at(-1)?.pingMs === 1);
  return fixture;
}

/** The server closes; the client has noticed. */
async function closeByServer({ gateway, states }: Fixture, code: number, reason = ""): Promise<void> {
  const before = states.length;
  gateway.last.socket.close(code, reason);
  await until(() => states.length > before);
}

describe("connecting", () => {
  test("connecting identifies with the client's data, requests no incoming audio and announces its SSRC", async () => {
    const { gateway, connection, states } = await goLive();
    expect(gateway.last.all(0)).toEqual([
      {
        server_id: "4001",
        user_id: "5001",
        session_id: "session-1",
        token: "token-1",
        max_dave_protocol_version: 1,
      },
    ]);
    expect(gateway.last.all(15)).toEqual([{ any: 0 }]);
    const [select] = gateway.last.all(1);
    expect(select).toMatchObject({
      protocol: "udp",
      data: { address: "127.0.0.1", mode: "aead_xchacha20_poly1305_rtpsize" },
    });
    await until(() => gateway.last.all(5).length === 1);
    expect(gateway.last.all(5)).toEqual([{ speaking: 0, delay: 0, ssrc: 1000 }]);
    expect(states[0]).toEqual({ isConnected: true, isReady: false, pingMs: 0 });
    expect(states.at(-1)).toEqual({ isConnected: true, isReady: true, pingMs: 1 });
    expect(connection.sink.gate).toBe("send");
  });

  test("the connect promise resolves when the WebSocket is open, before audio can flow", async () => {
    const { connection, credentials, sendNow } = await prepare({ silentOn: [0] });
    await connection.connect(credentials());
    expect(connection.sink.gate).toBe("hold");
    expect(sendNow(OPUS)).toBe(false);
    expect(connection.counters.framesRefused).toBe(1);
  });

  test("identical voice data on an open connection change nothing", async () => {
    const { connection, credentials, gateway, story } = await goLive();
    const before = story.length;
    await connection.connect(credentials());
    await settle();
    expect(gateway.connections).toHaveLength(1);
    expect(story).toHaveLength(before);
  });

  test("a refused connection is tried three times, then rejected, and nothing stays half alive", async () => {
    const { connection, credentials, gateway, clock, closes, states } = await prepare();
    const { endpoint } = gateway;
    await gateway.close();
    open.shift();
    const outcome = connection.connect(credentials({ endpoint })).then(
      () => "opened",
      (error: unknown) => error,
    );
    let result: unknown;
    void outcome.then((value) => {
      result = value;
    });
    await until(() => {
      if (clock.pendingCount > 0 && result === undefined) clock.advance(50);
      return result !== undefined;
    });
    expect(result).toMatchObject({ code: "voice-connect-failed", message: expect.stringContaining("ECONNREFUSED") });
    expect(clock.now()).toBeLessThan(5000);
    expect(connection.sink.gate).toBe("down");
    expect([closes, states]).toEqual([[], []]);
    await settle();
    expect(clock.pendingCount).toBe(0);
  });

  test("a server that never answers is given up after the timeout of the settings", async () => {
    const { createServer } = await import("node:net");
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await until(() => silent.listening);
    const { connection, credentials, clock } = await prepare();
    const { port } = silent.address() as { port: number };
    const outcome = connection.connect(credentials({ endpoint: `127.0.0.1:${port}` }));
    const rejected = expect(outcome).rejects.toMatchObject({ code: "voice-connect-failed" });
    clock.advance(4999);
    expect(connection.sink.gate).toBe("hold");
    clock.advance(1);
    await rejected;
    expect(connection.sink.gate).toBe("down");
    silent.close();
  });

  describe("a patient connection", () => {
    interface RefusedFixture extends Fixture {
      readonly endpoint: string;
      /** From now on connections lead to the gateway. */
      admit(): void;
      outcome(): string;
    }

    /** Connects to a server that ends every connection. */
    async function refused(): Promise<RefusedFixture> {
      const { connect, createServer } = await import("node:net");
      const fixture = await prepare();
      let isOpen = false;
      const server = createServer((socket) => {
        socket.on("error", () => undefined);
        if (!isOpen) {
          socket.destroy();
          return;
        }
        const target = connect(Number(fixture.gateway.endpoint.split(":")[1]), "127.0.0.1");
        target.on("error", () => undefined);
        socket.pipe(target).pipe(socket);
      }).listen(0, "127.0.0.1");
      await until(() => server.listening);
      open.unshift({ close: () => server.close() });
      const { port } = server.address() as { port: number };
      const endpoint = `127.0.0.1:${port}`;
      let outcome = "pending";
      fixture.connection.connect(fixture.credentials({ endpoint }), { isPatient: true }).then(
        () => {
          outcome = "opened";
        },
        (error: Error & { code: string }) => {
          outcome = error.code;
        },
      );
      const admit = () => {
        isOpen = true;
      };
      return { ...fixture, endpoint, admit, outcome: () => outcome };
    }

    /** Time passes until that many attempts have failed, and none while one is being made. */
    async function failures({ connection, clock, lines }: Fixture, count: number): Promise<void> {
      while (connection.sink.gate === "hold") {
        await until(() => connection.describe().state !== "opening");
        if (lines.filter(({ message }) => message === "voice connection lost").length >= count) return;
        clock.advance(250);
      }
      throw new Error(`it was given up before ${count} attempts had failed`);
    }

    test("it is tried on and on after refusals, at ever longer intervals, and opens in the end", async () => {
      const fixture = await refused();
      const { clock, connection, states, closes, outcome } = fixture;
      const atMs: number[] = [];
      for (let count = 1; count <= 9; count++) {
        await failures(fixture, count);
        atMs.push(clock.now());
      }
      const intervalsMs = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
      expect(intervalsMs).toEqual([250, 750, 2000, 5000, 12_000, 12_000, 12_000, 12_000]);
      expect([outcome(), connection.sink.gate, states, closes]).toEqual(["pending", "hold", [], []]);
      fixture.admit();
      clock.advance(12_000);
      await until(() => connection.sink.gate === "send");
      expect([outcome(), closes]).toEqual(["opened", []]);
    });

    test("it is given up after two minutes", async () => {
      const fixture = await refused();
      const { clock, connection, outcome } = fixture;
      await failures(fixture, 9);
      clock.advance(120_000 - clock.now() - 1);
      await settle();
      expect(outcome()).toBe("pending");
      clock.advance(1);
      await until(() => outcome() !== "pending");
      expect([outcome(), connection.sink.gate, clock.pendingCount]).toEqual(["voice-connect-failed", "down", 0]);
    });

    test("it is tried again when a server does not answer", async () => {
      const { createServer } = await import("node:net");
      let connectionCount = 0;
      const silent = createServer(() => {
        connectionCount += 1;
      }).listen(0, "127.0.0.1");
      await until(() => silent.listening);
      const { connection, credentials, clock } = await prepare();
      const { port } = silent.address() as { port: number };
      void connection.connect(credentials({ endpoint: `127.0.0.1:${port}` }), { isPatient: true }).catch(() => 0);
      await until(() => connectionCount === 1);
      clock.advance(5000);
      clock.advance(250);
      await until(() => connectionCount === 2);
      expect(connection.sink.gate).toBe("hold");
      connection.close();
      silent.close();
    });

    test("it is given up at once when trying again cannot help", async () => {
      const { connection, credentials } = await prepare({}, { networkAllow: [] });
      const outcome = connection.connect(credentials(), { isPatient: true });
      await expect(outcome).rejects.toMatchObject({ cause: { code: "address-refused" } });
    });

    test.each([
      [408, true],
      [429, true],
      [503, true],
      [403, false],
      [404, false],
    ])("it is tried again after the status %i: %s", async (status, isTriedAgain) => {
      const server = createHttpServer((_request, response) => response.writeHead(status).end());
      server.listen(0, "127.0.0.1");
      await until(() => server.listening);
      open.unshift({ close: () => server.close() });
      const { connection, credentials, clock, lines } = await prepare();
      const { port } = server.address() as AddressInfo;
      let outcome = "pending";
      connection.connect(credentials({ endpoint: `127.0.0.1:${port}` }), { isPatient: true }).catch((error) => {
        outcome = error.code;
      });
      await until(() => lines.some(({ message }) => message === "voice connection lost"));
      await settle();
      expect([outcome, connection.sink.gate]).toEqual(
        isTriedAgain ? ["pending", "hold"] : ["voice-connect-failed", "down"],
      );
      connection.close();
      expect(clock.pendingCount).toBe(0);
    });

    test("what discord closes is reported with its code", async () => {
      const fixture = await prepare();
      await fixture.connection.connect(fixture.credentials(), { isPatient: true });
      await until(() => fixture.connection.sink.gate === "send");
      await closeByServer(fixture, 4006, "Session is no longer valid.");
      expect(fixture.closes).toEqual([{ code: 4006, reason: "Session is no longer valid.", isByRemote: true }]);
    });
  });

  test.each(["", "not an endpoint", "user@host"])("the voice endpoint %j is rejected", async (endpoint) => {
    const { connection, credentials } = await prepare();
    await expect(connection.connect(credentials({ endpoint }))).rejects.toMatchObject({ code: "voice-connect-failed" });
    expect(connection.sink.gate).toBe("down");
  });

  test("a forbidden gateway address is never connected to", async () => {
    const { connection, credentials, gateway } = await prepare({}, { networkAllow: [] });
    for (const endpoint of [gateway.endpoint, "localhost:1", "2130706433:80", "[::1]:80"]) {
      await expect(connection.connect(credentials({ endpoint }))).rejects.toMatchObject({
        code: "voice-connect-failed",
        cause: { code: "address-refused" },
      });
    }
    expect(gateway.connections).toEqual([]);
  });

  test("a forbidden UDP address in Ready ends the connection for good", async () => {
    const { connection, credentials, closes, gateway } = await prepare({ udpAddress: "10.0.0.1" });
    await connection.connect(credentials());
    await until(() => closes.length > 0);
    const reason = expect.stringMatching(/^the voice server's UDP address is refused: .* tonearm\.network\.allow$/);
    expect(closes).toEqual([{ code: 1006, reason, isByRemote: false }]);
    await until(() => gateway.last.closeCode === 1000);
    expect(connection.sink.gate).toBe("down");
  });

  test("credentials and keys appear in no log line", async () => {
    const fixture = await goLive();
    const { pacer, clock, connection, lines } = fixture;
    pacer.connect(new LocalPacer(clock, systemSockets));
    clock.advance(250);
    await until(() => connection.sink.gate === "send");
    await closeByServer(fixture, 4006);
    expect(lines.length).toBeGreaterThan(1);
    const text = JSON.stringify(lines);
    for (const secret of ["token-1", SECRET_KEY.slice(0, 5).join(","), Buffer.from(SECRET_KEY).toString("hex", 0, 5)]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe("UDP", () => {
  test("the discovery request is repeated until a response arrives", async () => {
    const { connection, credentials, gateway, clock } = await prepare({ lostDiscoveries: 2 });
    await connection.connect(credentials());
    await until(() => gateway.packets.length === 1);
    clock.advance(500);
    await until(() => gateway.packets.length === 2);
    clock.advance(500);
    await until(() => connection.sink.gate === "send");
    expect(gateway.packets).toHaveLength(3);
  });

  test("without any discovery response the session continues after six requests, because it only sends", async () => {
    const { connection, credentials, gateway, clock, lines } = await prepare({ lostDiscoveries: 99 });
    await connection.connect(credentials());
    for (let count = 1; count <= 6; count++) {
      await until(() => gateway.packets.length === count);
      clock.advance(500);
    }
    await until(() => connection.sink.gate === "send");
    expect(gateway.packets).toHaveLength(6);
    expect(lines.some(({ message }) => message.includes("no response to IP discovery"))).toBe(true);
  });

  test("a keep-alive is sent after every five seconds without audio", async () => {
    const { gateway, clock, sendNow } = await goLive();
    const keepAlives = () => gateway.packets.filter((packet) => packet.length === 8);
    clock.advance(5000);
    clock.advance(5000);
    await until(() => keepAlives().length >= 1);
    const before = keepAlives().length;
    sendNow(OPUS);
    clock.advance(5000);
    await until(() => gateway.rtpPackets.length === 1);
    await settle();
    expect(keepAlives()).toHaveLength(before);
    clock.advance(5000);
    await until(() => keepAlives().length === before + 1);
    expect(keepAlives().map((packet) => packet.readUInt32LE(0))).toEqual(keepAlives().map((_, index) => index + 1));
  });

  test("a network that accepts nothing for three seconds causes a new session", async () => {
    const { gateway, clock, connection, sendNow } = await goLive();
    await gateway.closeUdp();
    await until(() => {
      sendNow(OPUS);
      clock.advance(20);
      return connection.counters.reconnects === 1;
    });
    expect(connection.counters.udpErrors).toBeGreaterThan(1);
    await until(() => gateway.connections.length === 2);
    expect(gateway.connections[0]?.closeCode).toBe(1000);
  });
});

describe("audio packets", () => {
  test.each(["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"])(
    "frames are sent in %s with headers that count on",
    async (mode) => {
      const { connection, clock, gateway } = await goLive({ modes: [mode] });
      for (const dueMs of [20, 40, 60, 280]) {
        expect(connection.sink.sendFrame(OPUS, clock.now() + dueMs)).toBe(true);
      }
      clock.advance(280);
      await until(() => gateway.rtpPackets.length === 4);
      expect(gateway.rtpPackets.map((packet) => packet.readUInt16BE(2))).toEqual([7, 8, 9, 10]);
      expect(gateway.rtpPackets.map((packet) => packet.readUInt32BE(4))).toEqual([7, 967, 1927, 12_487]);
      expect(gateway.rtpPackets.map((packet) => packet.length)).toEqual(Array(4).fill(12 + OPUS.length + 20));
      expect(gateway.last.all(1)).toMatchObject([{ data: { mode } }]);
      expect(connection.counters.packetsSent).toBe(4);
    },
  );

  test("Speaking is sent on change only, and silence only ends audio", async () => {
    const { connection, clock, gateway, sendNow } = await goLive();
    connection.sink.sendSilence(clock.now());
    expect(connection.counters.packetsSent).toBe(0);
    connection.sink.stopSpeaking();
    sendNow(OPUS);
    sendNow(OPUS);
    connection.sink.sendSilence(clock.now());
    expect(connection.counters.packetsSent).toBe(3);
    connection.sink.stopSpeaking();
    connection.sink.stopSpeaking();
    sendNow(OPUS);
    await until(() => gateway.last.all(5).length >= 4);
    await settle();
    expect(gateway.last.all(5).map(({ speaking }) => speaking)).toEqual([0, 1, 0, 1]);
    await until(() => gateway.rtpPackets.length === 4);
  });

  test("a frame that is too large is refused, and its time passes", async () => {
    const { connection, clock, gateway } = await goLive();
    expect(connection.sink.sendFrame(OPUS, clock.now() + 20)).toBe(true);
    expect(connection.sink.sendFrame(Buffer.alloc(1400), clock.now() + 40)).toBe(false);
    expect(connection.counters).toMatchObject({ packetsSent: 1, framesRefused: 1 });
    expect(connection.sink.sendFrame(OPUS, clock.now() + 60)).toBe(true);
    clock.advance(60);
    await until(() => gateway.rtpPackets.length === 2);
    expect(gateway.rtpPackets.map((packet) => packet.readUInt32BE(4))).toEqual([7, 7 + 2 * 960]);
    expect(gateway.rtpPackets.map((packet) => packet.readUInt16BE(2))).toEqual([7, 8]);
  });

  test("frames are sent at their deadlines, and not before", async () => {
    const { connection, clock, gateway } = await goLive();
    for (const dueMs of [20, 40, 60]) connection.sink.sendFrame(OPUS, clock.now() + dueMs);
    expect(connection.sink.isDrained).toBe(false);
    clock.advance(39);
    await until(() => gateway.rtpPackets.length === 1);
    clock.advance(20);
    await until(() => gateway.rtpPackets.length === 2);
    await settle();
    expect([gateway.rtpPackets.length, connection.sink.isDrained]).toEqual([2, false]);
    clock.advance(1);
    await until(() => gateway.rtpPackets.length === 3);
    expect(connection.sink.isDrained).toBe(true);
  });

  test("unsent frames can be revoked, newest first, and are not counted as sent", async () => {
    const { connection, clock, gateway } = await goLive();
    const frames = [1, 2, 3, 4].map((number) => Buffer.alloc(10 * number));
    for (const [index, frame] of frames.entries()) connection.sink.sendFrame(frame, clock.now() + 20 * (index + 1));
    clock.advance(20);
    expect(connection.sink.revoke(2)).toBe(2);
    expect(connection.counters.packetsSent).toBe(2);
    connection.sink.sendFrame(OPUS, clock.now() + 40);
    expect(connection.sink.revoke(99)).toBe(2);
    expect([connection.sink.revoke(1), connection.counters.packetsSent, connection.sink.isDrained]).toEqual([
      0,
      1,
      true,
    ]);
    connection.sink.sendFrame(OPUS, clock.now() + 60);
    clock.advance(60);
    await until(() => gateway.rtpPackets.length === 2);
    expect(gateway.rtpPackets.map((packet) => packet.length - 32)).toEqual([10, OPUS.length]);
    expect(gateway.rtpPackets.map((packet) => packet.readUInt16BE(2))).toEqual([7, 8]);
    expect(gateway.rtpPackets.map((packet) => packet.readUInt32BE(4))).toEqual([7, 7 + 3 * 960]);
  });

  test("frames beyond the capacity of the ring are refused and reported", async () => {
    const { connection, clock } = await goLive();
    let taken = 0;
    while (connection.sink.sendFrame(OPUS, clock.now() + 20 * (taken + 1))) taken += 1;
    expect(taken).toBe(RING_FRAMES);
    expect(connection.counters).toMatchObject({ packetsSent: RING_FRAMES, framesRefused: 1 });
    expect(connection.sink.sendBlockReason).toBe("network");
    clock.advance(20);
    expect(connection.sink.sendFrame(OPUS, clock.now() + 20 * (RING_FRAMES + 1))).toBe(true);
  });

  test("a second op 4 with a new key restarts the counter, the same op 4 again does not", async () => {
    const { gateway, sendNow } = await goLive();
    const mode = "aead_xchacha20_poly1305_rtpsize";
    const counters = () => gateway.rtpPackets.map((packet) => packet.readUInt32BE(packet.length - 4));
    sendNow(OPUS);
    await until(() => gateway.rtpPackets.length === 1);
    gateway.last.send(4, { mode, secret_key: SECRET_KEY, dave_protocol_version: 0 });
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    sendNow(OPUS);
    await until(() => gateway.rtpPackets.length === 2);
    gateway.last.send(4, { mode, secret_key: [...SECRET_KEY].reverse(), dave_protocol_version: 0 });
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 3);
    sendNow(OPUS);
    await until(() => gateway.rtpPackets.length === 3);
    expect(counters()).toEqual([0, 1, 0]);
  });
});

describe("a lost pacer", () => {
  test("a lost pacer causes a new session with the next one, silently, and unsent frames are sent again", async () => {
    const revokedCounts: number[] = [];
    const onSendPathChanging = () => revokedCounts.push(fixture.connection.sink.revoke(99));
    const fixture = await goLive({}, { onSendPathChanging });
    const { gateway, connection, clock, pacer, closes, framesLost, sendNow } = fixture;
    revokedCounts.length = 0;
    for (const dueMs of [20, 40, 60]) connection.sink.sendFrame(OPUS, clock.now() + dueMs);
    clock.advance(20);
    await until(() => gateway.rtpPackets.length === 1);
    pacer.connect(new LocalPacer(clock, systemSockets));
    expect([revokedCounts[0], framesLost]).toEqual([2, []]);
    expect([connection.sink.gate, connection.counters.packetsSent]).toEqual(["hold", 1]);
    clock.advance(250);
    await until(() => connection.sink.gate === "send");
    expect(sendNow(OPUS)).toBe(true);
    await until(() => gateway.rtpPackets.length === 2);
    expect(gateway.connections.map(({ received }) => received.filter(({ op }) => op === 0).length)).toEqual([1, 1]);
    expect(gateway.connections[0]?.closeCode).toBe(1000);
    expect(connection.counters.reconnects).toBe(1);
    expect(closes).toEqual([]);
  });

  test("a lost pacer loses the frames that nobody revokes, and they are reported and counted", async () => {
    const { connection, clock, pacer, framesLost } = await goLive();
    for (const dueMs of [20, 40, 60]) connection.sink.sendFrame(OPUS, clock.now() + dueMs);
    clock.advance(20);
    pacer.connect(new LocalPacer(clock, systemSockets));
    expect(framesLost).toEqual([2]);
    expect(connection.counters).toMatchObject({ packetsSent: 1, framesRefused: 2 });
  });

  test("a pacer lost during IP discovery costs only another attempt", async () => {
    const { connection, credentials, gateway, clock, pacer, closes } = await prepare({ lostDiscoveries: 1 });
    await connection.connect(credentials());
    await until(() => gateway.packets.length === 1);
    pacer.connect(new LocalPacer(clock, systemSockets));
    expect(connection.sink.gate).toBe("hold");
    clock.advance(250);
    await until(() => connection.sink.gate === "send");
    expect(gateway.connections).toHaveLength(2);
    expect(closes).toEqual([]);
  });
});

describe("heartbeat", () => {
  test("a heartbeat is sent at once, then every five seconds at the latest, with the last sequence number", async () => {
    const { gateway, clock } = await goLive({ heartbeatIntervalMs: 41_250 });
    expect(gateway.last.all(3)).toMatchObject([{ seq_ack: -1 }]);
    gateway.last.send(18, {}, 0);
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    clock.advance(5000);
    gateway.last.sendBinary(65_535, 99, Buffer.alloc(1));
    await until(() => gateway.last.all(3).length === 3);
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 4);
    expect(gateway.last.all(3).map(({ seq_ack }) => seq_ack)).toEqual([-1, 0, 0, 65_535]);
    const nonces = gateway.last.all(3).map(({ t }) => t as number);
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  test("two heartbeat intervals without an answer end the connection, and it is resumed", async () => {
    const { gateway, clock, states, connection, sendNow } = await goLive();
    sendNow(OPUS);
    const { silentOn } = { silentOn: [3] };
    Object.assign(gateway.options, { silentOn });
    clock.advance(5000);
    clock.advance(5000);
    expect(states.at(-1)?.isConnected).toBe(true);
    clock.advance(5000);
    expect(states.at(-1)).toEqual({ isConnected: false, isReady: true, pingMs: -1 });
    expect(connection.sink.gate).toBe("send");
    clock.advance(250);
    await until(() => connection.counters.resumes === 1);
    expect(states.at(-1)?.isConnected).toBe(true);
  });

  test("our own lateness does not count against the server's heartbeats", async () => {
    const { gateway, clock, states } = await goLive();
    Object.assign(gateway.options, { silentOn: [3] });
    clock.advance(5000);
    await until(() => gateway.last.all(3).length === 2);
    clock.stall(60_000);
    clock.advance(0);
    await until(() => gateway.last.all(3).length === 3);
    expect(states.at(-1)?.isConnected).toBe(true);
    clock.advance(5000);
    expect(states.at(-1)?.isConnected).toBe(false);
  });
});

describe("losing the connection", () => {
  test("a lost connection is resumed with seq_ack while audio continues, and nothing is reported", async () => {
    const fixture = await goLive();
    const { gateway, clock, connection, closes, states, sendNow } = fixture;
    sendNow(OPUS);
    gateway.last.send(18, {}, 41);
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    gateway.last.socket.terminate();
    await until(() => states.at(-1)?.isConnected === false);
    expect(sendNow(OPUS)).toBe(true);
    clock.advance(250);
    await until(() => connection.counters.resumes === 1);
    expect(gateway.last.all(7)).toEqual([
      { server_id: "4001", session_id: "session-1", token: "token-1", seq_ack: 41 },
    ]);
    expect(gateway.last.all(0)).toEqual([]);
    await until(() => gateway.last.all(5).length === 1);
    expect(gateway.last.all(5)).toMatchObject([{ speaking: 1, ssrc: 1000 }]);
    expect(sendNow(OPUS)).toBe(true);
    await until(() => gateway.rtpPackets.length === 3);
    expect(gateway.rtpPackets.map((packet) => packet.readUInt16BE(2))).toEqual([7, 8, 9]);
    expect(closes).toEqual([]);
  });

  test("audio does not begin while Speaking cannot be sent to Discord", async () => {
    const { gateway, clock, connection, states, sendNow } = await goLive();
    gateway.last.socket.terminate();
    await until(() => states.at(-1)?.isConnected === false);
    expect([connection.sink.gate, states.at(-1)?.isReady, sendNow(OPUS)]).toEqual(["hold", false, false]);
    clock.advance(250);
    await until(() => connection.sink.gate === "send");
    expect([states.at(-1)?.isReady, sendNow(OPUS)]).toEqual([true, true]);
    await until(() => gateway.last.all(5).length === 2);
    expect(gateway.last.all(5)).toMatchObject([{ speaking: 0 }, { speaking: 1 }]);
  });

  test("Ready instead of Resumed begins a new session", async () => {
    const fixture = await goLive();
    const { gateway, clock, connection } = fixture;
    Object.assign(gateway.options, { silentOn: [7] });
    await closeByServer(fixture, 1001);
    clock.advance(250);
    await until(() => gateway.connections.length === 2 && gateway.last.all(7).length === 1);
    gateway.last.send(2, gateway.ready());
    await until(() => gateway.last.all(5).length === 1);
    expect(connection.sink.gate).toBe("send");
    expect(gateway.last.all(5)).toMatchObject([{ ssrc: 1001 }]);
    expect(connection.counters.resumes).toBe(0);
  });

  test.each([1001, 1006, 1011, 1012, 4000, 4001, 4002, 4013, 4015, 4020, 1000])(
    "close code %i is resumed",
    async (code) => {
      const fixture = await goLive();
      const { gateway, clock, connection, closes } = fixture;
      if (code === 1006) gateway.last.socket.terminate();
      else gateway.last.socket.close(code);
      await until(() => fixture.states.at(-1)?.isConnected === false);
      clock.advance(250);
      await until(() => connection.counters.resumes === 1);
      expect(gateway.last.all(7)).toHaveLength(1);
      expect(closes).toEqual([]);
    },
  );

  test.each([4003, 4005, 4009])("close code %i is identified again, and audio is held meanwhile", async (code) => {
    const fixture = await goLive();
    const { gateway, clock, connection, closes } = fixture;
    await closeByServer(fixture, code);
    expect(connection.sink.gate).toBe("hold");
    clock.advance(250);
    await until(() => connection.sink.gate === "send");
    expect(gateway.last.all(0)).toHaveLength(1);
    expect(gateway.last.all(7)).toHaveLength(0);
    expect(connection.counters.reconnects).toBe(1);
    expect(closes).toEqual([]);
  });

  test("close code 4016 is identified again with the mode every server knows", async () => {
    const fixture = await goLive({ modes: ["aead_aes256_gcm_rtpsize"] });
    await closeByServer(fixture, 4016);
    fixture.clock.advance(250);
    await until(() => fixture.connection.sink.gate === "send");
    expect(fixture.gateway.last.all(1)).toMatchObject([{ data: { mode: "aead_xchacha20_poly1305_rtpsize" } }]);
  });

  test.each([4004, 4006, 4011, 4012, 4014, 4017, 4021, 4022, 4099])(
    "close code %i is reported, and new data connect again",
    async (code) => {
      const fixture = await goLive();
      const { gateway, clock, connection, closes, states, credentials } = fixture;
      await closeByServer(fixture, code, "why");
      expect(closes).toEqual([{ code, reason: "why", isByRemote: true }]);
      expect(states.at(-1)).toEqual({ isConnected: false, isReady: false, pingMs: -1 });
      expect(connection.sink.gate).toBe("down");
      expect(clock.pendingCount).toBe(0);
      clock.advance(60_000);
      await settle();
      expect(gateway.connections).toHaveLength(1);
      await connection.connect(credentials());
      await until(() => connection.sink.gate === "send");
      expect(closes).toHaveLength(1);
    },
  );

  test("a server that offers no known mode is asked for the one that every server must support", async () => {
    const { connection, credentials, closes, clock, gateway } = await prepare({ modes: ["xsalsa20_poly1305"] });
    await connection.connect(credentials());
    await until(() => connection.sink.gate === "hold" && gateway.last.closeCode === 1000);
    clock.advance(250);
    await until(() => gateway.connections.length === 2 && closes.length + gateway.last.all(1).length > 0);
    expect(gateway.last.all(1)).toMatchObject([{ data: { mode: "aead_xchacha20_poly1305_rtpsize" } }]);
  });

  test("resuming that never succeeds ends in one report, and every wait is bounded", async () => {
    const fixture = await goLive();
    const { gateway, clock, connection, closes } = fixture;
    Object.assign(gateway.options, { silentOn: [7] });
    await closeByServer(fixture, 1001);
    await until(() => {
      clock.advance(500);
      return closes.length > 0;
    }, 10_000);
    expect(closes).toEqual([{ code: 1006, reason: "no answer while resuming", isByRemote: false }]);
    expect(gateway.connections.length).toBeLessThanOrEqual(7);
    expect(clock.now()).toBeLessThan(120_000);
    expect(connection.sink.gate).toBe("down");
    await settle();
    expect(clock.pendingCount).toBe(0);
  });

  test.each([
    [0, "identifying"],
    [1, "selecting"],
  ])("no answer to opcode %i is retried and then given up", async (opcode, step) => {
    const { connection, credentials, clock, closes } = await prepare({ silentOn: [opcode] });
    await connection.connect(credentials());
    await until(() => {
      clock.advance(500);
      return closes.length > 0;
    }, 10_000);
    expect(closes).toEqual([{ code: 1006, reason: `no answer while ${step}`, isByRemote: false }]);
    expect(clock.now()).toBeLessThan(120_000);
  });

  test("identical data while the connection waits to reconnect make it try at once", async () => {
    const fixture = await goLive();
    await closeByServer(fixture, 4009);
    const opened = fixture.connection.connect(fixture.credentials());
    await opened;
    await until(() => fixture.connection.sink.gate === "send");
    expect(fixture.gateway.connections).toHaveLength(2);
  });

  test("malformed messages are counted and harmless", async () => {
    const fixture = await goLive();
    const { gateway, connection } = fixture;
    gateway.last.socket.send("{");
    gateway.last.socket.send(Buffer.alloc(1));
    gateway.last.send(2, { ssrc: "x" });
    gateway.last.send(22, {});
    gateway.last.send(3, null);
    await until(() => gateway.last.all(3).length === 2);
    expect(connection.sink.gate).toBe("send");
    connection.close();
    expect(connection.counters.malformedMessages).toBe(4);
  });

  test("a listener that throws does not stop anything", async () => {
    const fixture = await prepare();
    const push = fixture.states.push;
    fixture.states.push = () => {
      throw new Error("listener");
    };
    await fixture.connection.connect(fixture.credentials());
    await until(() => fixture.connection.sink.gate === "send");
    fixture.states.push = push;
    expect(fixture.lines.some(({ level }) => level === "error")).toBe(true);
  });
});

describe("moving", () => {
  test("a move reports 1000 at once, keeps sending over the old session, and switches when the new one is ready", async () => {
    const { gateway, connection, credentials, story, states, sendNow } = await goLive();
    const target = await ScriptedVoiceGateway.start({ silentOn: [1] });
    open.push(target);
    sendNow(OPUS);
    story.length = 0;
    const moved = connection.connect(credentials({ endpoint: target.endpoint, token: "token-2" }));
    expect(story).toEqual(["closed 1000 false", "connected false ready false"]);
    expect(connection.sink.gate).toBe("send");
    expect(sendNow(OPUS)).toBe(true);
    await moved;
    expect(story.at(-1)).toBe("connected true ready false");
    await until(() => target.last.all(1).length === 1);
    expect(sendNow(OPUS)).toBe(true);
    await until(() => gateway.rtpPackets.length === 3);
    target.last.send(4, { mode: "aead_xchacha20_poly1305_rtpsize", secret_key: SECRET_KEY, dave_protocol_version: 0 });
    await until(() => states.at(-1)?.isReady === true);
    expect(connection.sink.gate).toBe("send");
    sendNow(OPUS);
    await until(() => target.rtpPackets.length === 1);
    await until(() => gateway.last.closeCode === 1000);
    expect(gateway.rtpPackets).toHaveLength(3);
    expect(target.last.all(0)).toMatchObject([{ token: "token-2" }]);
  });

  test("the old server's close during a move is not reported and holds the audio", async () => {
    const { gateway, connection, credentials, closes } = await goLive();
    const target = await ScriptedVoiceGateway.start({ silentOn: [0] });
    open.push(target);
    await connection.connect(credentials({ endpoint: target.endpoint }));
    gateway.last.socket.close(4014);
    await until(() => connection.sink.gate === "hold");
    expect(closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
    Object.assign(target.options, { silentOn: [] });
    target.last.send(2, target.ready());
    await until(() => connection.sink.gate === "send");
    expect(closes).toHaveLength(1);
  });

  test("a new server that fails during a move ends both sessions, and rejects the promise", async () => {
    const { gateway, connection, credentials, clock, closes } = await goLive();
    const target = await ScriptedVoiceGateway.start();
    const { endpoint } = target;
    await target.close();
    const moved = connection.connect(credentials({ endpoint }));
    const rejected = expect(moved).rejects.toMatchObject({ code: "voice-connect-failed" });
    await until(() => {
      clock.advance(20);
      return connection.sink.gate === "down";
    });
    await rejected;
    await until(() => gateway.last.closeCode === 1000);
    expect(closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
  });

  test("the old session keeps sending for ten seconds at most during a move", async () => {
    const { gateway, connection, credentials, clock } = await goLive();
    const target = await ScriptedVoiceGateway.start({ silentOn: [0] });
    open.push(target);
    await connection.connect(credentials({ endpoint: target.endpoint }));
    clock.advance(9900);
    expect(connection.sink.gate).toBe("send");
    clock.advance(100);
    expect(connection.sink.gate).not.toBe("send");
    await until(() => gateway.last.closeCode === 1000);
  });

  test("moves in quick succession end at the last, and the earlier promises reject at once", async () => {
    const { gateway, connection, credentials, closes } = await goLive();
    const [a, b, c] = ["a", "b", "c"].map((token) => connection.connect(credentials({ token })));
    for (const replaced of [a, b]) {
      await expect(replaced).rejects.toMatchObject({
        code: "voice-connect-failed",
        message: expect.stringContaining("newer voice data"),
      });
    }
    expect(gateway.connections).toHaveLength(1);
    await c;
    await until(
      () =>
        connection.sink.gate === "send" &&
        gateway.connections.filter(({ closeCode }) => closeCode === undefined).length === 1,
    );
    expect(gateway.last.all(0)).toMatchObject([{ token: "c" }]);
    expect(closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
  });

  test("a promise for a server that never answers does not resolve when another server opens", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await until(() => silent.listening);
    open.push({ close: () => silent.close() });
    const { connection, credentials } = await prepare();
    const { port } = silent.address() as AddressInfo;
    const first = connection.connect(credentials({ endpoint: `127.0.0.1:${port}` }));
    const outcomes: string[] = [];
    const rejected = first.then(
      () => outcomes.push("opened"),
      () => outcomes.push("replaced"),
    );
    await connection.connect(credentials({ token: "token-2" }));
    await rejected;
    expect(outcomes).toEqual(["replaced"]);
  });

  test("a second move gives the old session no second ten seconds", async () => {
    const { connection, credentials, clock } = await goLive();
    for (const token of ["b", "c"]) {
      const target = await ScriptedVoiceGateway.start({ silentOn: [0] });
      open.push(target);
      await connection.connect(credentials({ endpoint: target.endpoint, token }));
      clock.advance(4900);
    }
    expect(connection.sink.gate).toBe("send");
    clock.advance(200);
    expect(connection.sink.gate).toBe("hold");
  });

  test("the timer of a finished move does not cut a later move short", async () => {
    const { connection, credentials, clock } = await goLive();
    const moveTo = async (token: string, silentOn: number[]) => {
      const target = await ScriptedVoiceGateway.start({ silentOn });
      open.push(target);
      await connection.connect(credentials({ endpoint: target.endpoint, token }));
      return target;
    };
    await moveTo("b", [0]);
    clock.advance(1000);
    const third = await moveTo("c", []);
    await until(() => third.last.all(5).length === 1);
    clock.advance(1000);
    await moveTo("d", [0]);
    clock.advance(9000);
    expect(connection.sink.gate).toBe("send");
    clock.advance(1000);
    expect(connection.sink.gate).toBe("hold");
  });
});

describe("rejoining", () => {
  test("a rejoin starts a new session with the same credentials, silently towards the client", async () => {
    const { connection, gateway, states, closes, sendNow } = await goLive();
    expect(connection.rejoin()).toBe(true);
    expect(connection.sink.gate).toBe("hold");
    await until(() => connection.sink.gate === "send");
    expect(gateway.connections).toHaveLength(2);
    expect(gateway.connections[0]?.closeCode).toBe(1000);
    expect(gateway.last.all(0)).toEqual(gateway.connections[0]?.all(0));
    expect(sendNow(OPUS)).toBe(true);
    expect(connection.counters.reconnects).toBe(1);
    expect(states.at(-1)).toMatchObject({ isConnected: true, isReady: true });
    expect(closes).toEqual([]);
  });

  test("a rejoin also helps a connection that waits for its next attempt", async () => {
    const fixture = await goLive();
    await closeByServer(fixture, 4009);
    expect(fixture.connection.describe().state).toBe("between");
    expect(fixture.connection.rejoin()).toBe(true);
    await until(() => fixture.connection.sink.gate === "send");
    fixture.clock.advance(10_000);
    await settle();
    expect(fixture.gateway.connections).toHaveLength(2);
  });

  test("a rejoin is not possible before the connection was open, or after it was closed", async () => {
    const { connection } = await goLive();
    connection.close();
    expect(connection.rejoin()).toBe(false);
    const fresh = await prepare();
    expect(fresh.connection.rejoin()).toBe(false);
  });
});

describe("the reported send block reason", () => {
  test("the send block reason is first the gateway, then the empty channel, then the missing group", async () => {
    const { connection, credentials, gateway, clock } = await prepare({ daveVersion: 1 });
    expect([connection.sink.gate, connection.sink.sendBlockReason, connection.describe().state]).toEqual([
      "down",
      "voiceNotReady",
      "down",
    ]);
    await connection.connect(credentials());
    expect(connection.sink.sendBlockReason).toBe("voiceNotReady");
    await until(() => gateway.last.all(26).length === 1);
    clock.advance(1000);
    expect([connection.sink.gate, connection.sink.sendBlockReason]).toEqual(["discard", "nobodyThere"]);
    gateway.last.send(11, { user_ids: ["701"] }, 1);
    await until(() => connection.sink.gate === "hold");
    expect(connection.sink.sendBlockReason).toBe("daveNotReady");
    expect(connection.describe()).toMatchObject({
      state: "live",
      gate: "hold",
      dave: { version: 1, state: "waiting", readyMs: 0 },
    });
  });

  test("packets that the system could not send are frames lost to the network", async () => {
    const { gateway, connection, sendNow } = await goLive();
    expect(sendNow(OPUS)).toBe(true);
    expect(connection.describe()).toMatchObject({ state: "live", gate: "send", dave: { version: 0, state: "plain" } });
    await gateway.closeUdp();
    await until(() => !sendNow(OPUS));
    expect(connection.sink.sendBlockReason).toBe("network");
    expect(connection.counters.udpErrors).toBeGreaterThan(0);
  });
});

describe("a DAVE group that is never formed", () => {
  test("without a DAVE group audio is sent plain, one new session is tried, and then it stays", async () => {
    const { connection, credentials, gateway, clock, closes, sendNow } = await prepare({ daveVersion: 1 });
    await connection.connect(credentials());
    const announce = async (sessions: number) => {
      await until(() => gateway.connections.length === sessions && gateway.last.all(26).length === 1);
      gateway.last.send(11, { user_ids: ["701"] }, 1);
      gateway.last.send(3, null);
      const before = gateway.last.all(3).length;
      await until(() => gateway.last.all(3).length > before);
    };
    await announce(1);
    expect(connection.sink.gate).toBe("hold");
    clock.advance(3000);
    expect(connection.sink.gate).toBe("send");
    expect(sendNow(OPUS)).toBe(true);
    await advanceInSteps(clock, 17_000, gateway);
    clock.advance(250);
    await announce(2);
    expect(connection.counters).toMatchObject({ reconnects: 1, plainFallbacks: 1 });
    await advanceInSteps(clock, 60_000, gateway);
    expect(connection.sink.gate).toBe("send");
    expect(gateway.connections).toHaveLength(2);
    expect(closes).toEqual([]);
  });

  test.each([
    ["channelId", { credentials: { channelId: "not-a-number" }, userId: "5001" }],
    ["user id", { credentials: {}, userId: "not-a-number" }],
  ] as const)("a %s that is no number harms nothing", async (_name, { credentials: changes, userId }) => {
    const { connection, credentials, gateway, clock, sendNow } = await prepare({ daveVersion: 1 }, { userId });
    await connection.connect(credentials(changes));
    await until(() => {
      clock.advance(100);
      const hasStarted = gateway.last.all(5).length === 1;
      if (hasStarted && connection.sink.gate === "discard") gateway.last.send(11, { user_ids: ["701"] }, 1);
      return connection.sink.gate === "send";
    });
    expect(sendNow(OPUS)).toBe(true);
  });
});

/** Time passes while the server answers heartbeats. */
async function advanceInSteps(clock: FakeClock, byMs: number, gateway: ScriptedVoiceGateway): Promise<void> {
  for (let passedMs = 0; passedMs < byMs; passedMs += 1000) {
    clock.advance(1000);
    const { last } = gateway;
    await settle();
    await until(() => last === gateway.last);
  }
}

describe("closing", () => {
  test("closing sends 1000, reports it once, leaves no timer and refuses to connect again", async () => {
    const { gateway, connection, closes, clock, credentials } = await goLive();
    connection.close();
    connection.close();
    expect(closes).toEqual([{ code: 1000, reason: "", isByRemote: false }]);
    expect(connection.sink.gate).toBe("down");
    await until(() => gateway.last.closeCode === 1000);
    await settle();
    expect(clock.pendingCount).toBe(0);
    await expect(connection.connect(credentials())).rejects.toMatchObject({ code: "voice-connect-failed" });
  });

  test("closing while connecting rejects the promise and reports nothing", async () => {
    const { connection, credentials, closes, clock } = await prepare();
    const opening = connection.connect(credentials());
    connection.close();
    await expect(opening).rejects.toMatchObject({ code: "voice-connect-failed" });
    await settle();
    expect(closes).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  test("closing during IP discovery leaves nothing behind", async () => {
    const { connection, credentials, clock, gateway } = await prepare({ lostDiscoveries: 99 });
    await connection.connect(credentials());
    await until(() => gateway.packets.length === 1);
    connection.close();
    await until(() => gateway.last.closeCode === 1000);
    await settle();
    expect(clock.pendingCount).toBe(0);
  });
});
