// The hostile gateway does to a plain WebSocket client what its behaviours are called after.

import { createSocket } from "node:dgram";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { FLOODS, type FloodName } from "../../../../lab/discord/hostile-floods.ts";
import {
  HOSTILE_BEHAVIOURS,
  type HostileBehaviour,
  type HostileGateway,
  startHostileGateway,
} from "../../../../lab/discord/hostile-gateway.ts";
import { until } from "../../../support/voice-builders.ts";

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

interface Victim {
  readonly messages: Buffer[];
  readonly datagrams: Buffer[];
  closeCode: number | undefined;
  error: Error | undefined;
}

/** Returns nothing for data that is not JSON: binary messages, and garbage. */
function readMessage(data: Buffer): { readonly op?: number; readonly d?: { readonly port: number } } {
  try {
    return JSON.parse(data.toString());
  } catch {
    return {};
  }
}

/** Shakes hands as far as it is let, and keeps what it is sent. */
async function connect(behaviour: HostileBehaviour): Promise<{ gateway: HostileGateway; victim: Victim }> {
  const gateway = await startHostileGateway({ behaviour, channelId: "6001" });
  const socket = new WebSocket(`ws://${gateway.endpoint}/?v=8`, { perMessageDeflate: false });
  const udp = createSocket("udp4");
  const victim: Victim = { messages: [], datagrams: [], closeCode: undefined, error: undefined };
  open.push(gateway, { close: () => socket.terminate() }, udp);
  udp.on("message", (packet) => victim.datagrams.push(packet));
  socket.on("error", (error) => {
    victim.error = error;
  });
  socket.on("close", (code) => {
    victim.closeCode = code;
  });
  socket.on("message", (data: Buffer) => {
    if (victim.messages.length < 1000) victim.messages.push(data);
    const { op, d } = readMessage(data);
    if (op === 8 && victim.messages.length === 1) socket.send(JSON.stringify({ op: 0, d: {} }));
    if (op !== 2) return;
    const discovery = Buffer.alloc(74);
    discovery.writeUInt32BE(0x0001_0046);
    udp.send(discovery, d?.port, "127.0.0.1");
    socket.send(JSON.stringify({ op: 1, d: {} }));
  });
  return { gateway, victim };
}

describe("the hostile gateway", () => {
  const floods = Object.keys(FLOODS) as FloodName[];

  test.each(floods)("the hostile gateway floods with %s, or any WebSocket refuses it", async (behaviour) => {
    const { gateway, victim } = await connect(behaviour);
    await until(() => gateway.bytesSent > 300_000 || victim.error !== undefined);
    expect(gateway.connectionCount).toBe(1);
  });

  test("the hostile gateway sends genuine proposals after their external sender", async () => {
    const { victim } = await connect("proposals");
    await until(() => victim.messages.some((message) => message[2] === 27));
    const first = (op: number) => victim.messages.findIndex((message) => message[0] !== 0x7b && message[2] === op);
    expect(first(25)).toBeGreaterThan(0);
    expect(first(27)).toBeGreaterThan(first(25));
  });

  test("the hostile gateway floods the port that asked for discovery with datagrams", async () => {
    const { victim, gateway } = await connect("udp-flood");
    await until(() => victim.datagrams.length > 1000);
    expect(gateway.datagramsSent).toBeGreaterThanOrEqual(1000);
  });

  test.each([
    ["close-at-once", 1001],
    ["close-when-live", 4015],
  ] as const)("%s closes with %i", async (behaviour, code) => {
    const { victim } = await connect(behaviour);
    await until(() => victim.closeCode !== undefined);
    expect(victim.closeCode).toBe(code);
  });

  test("every flood of the hostile gateway has a name", () => {
    expect(HOSTILE_BEHAVIOURS).toEqual(expect.arrayContaining(Object.keys(FLOODS)));
    expect(HOSTILE_BEHAVIOURS).toContain("drip");
  });
});
