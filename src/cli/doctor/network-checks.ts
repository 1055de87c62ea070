// The doctor's network checks: the port is free, names resolve, UDP works. Main thread.

import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import type { NodeConfig } from "../../config/node-config.ts";
import { findBindTrouble } from "../../control/route-planner/bind-check.ts";
import { listenAdvice } from "../../control/server/listen-advice.ts";
import { systemRandom } from "../../lib/random.ts";
import { type Check, type CheckResult, within } from "./check.ts";

const DISCORD_HOST = "discord.com";
const DISCORD_PORT = 443;
const DNS_TIMEOUT_MS = 3000;
const UDP_TIMEOUT_MS = 1000;

/** Listens on the configured address for a moment. */
export function portCheck({ address, port }: NodeConfig["server"]): Check {
  return {
    name: "port",
    async run() {
      const server = createServer();
      try {
        server.listen(port, address);
        await once(server, "listening");
        return { status: "ok", found: `${address}:${port} can be listened on` };
      } catch (error) {
        return portTrouble(error, `${address}:${port}`);
      } finally {
        server.close();
      }
    },
  };
}

/** `resolve` is replaced in tests. */
export function dnsCheck(resolve: (host: string) => Promise<string> = resolveHost): Check {
  return {
    name: "DNS",
    async run() {
      try {
        const address = await within(resolve(DISCORD_HOST), DNS_TIMEOUT_MS, "no answer");
        return { status: "ok", found: `${DISCORD_HOST} is ${address}` };
      } catch {
        // The advice is the same for every reason why a name does not resolve.
        return { status: "warn", found: `${DISCORD_HOST} does not resolve`, advice: "check the network and its DNS" };
      }
    },
  };
}

/** Whether addresses of the configured blocks can be sent from. */
export function addressesCheck({ ipBlocks }: NodeConfig["routePlanner"]): Check {
  return {
    name: "addresses",
    async run() {
      const trouble = await findBindTrouble(ipBlocks, { random: systemRandom });
      if (trouble !== undefined) return { status: "fail", ...trouble };
      return {
        status: "ok",
        found: `can send from ${ipBlocks.length === 1 ? ipBlocks[0] : `${ipBlocks.length} blocks`}`,
      };
    },
  };
}

/** A datagram to ourselves and back, as voice needs it. */
export const udpCheck: Check = {
  name: "UDP",
  async run() {
    const [sender, receiver] = [createSocket("udp4"), createSocket("udp4")];
    try {
      receiver.bind(0, "127.0.0.1");
      await once(receiver, "listening");
      const arrived = once(receiver, "message");
      sender.send("tonearm", receiver.address().port, "127.0.0.1");
      await within(arrived, UDP_TIMEOUT_MS, "the datagram did not arrive");
      return { status: "ok", found: "datagrams arrive on loopback" };
    } finally {
      closeSockets([sender, receiver]);
    }
  },
};

/** Checks that there is a route for UDP datagrams. Nothing is sent: Discord answers only within a voice connection. */
export function udpRouteCheck(resolve: (host: string) => Promise<string> = resolveHost): Check {
  return {
    name: "UDP to Discord",
    async run() {
      const socket = createSocket("udp4");
      try {
        const address = await within(resolve(DISCORD_HOST), DNS_TIMEOUT_MS, "no answer");
        socket.connect(DISCORD_PORT, address);
        await within(once(socket, "connect"), UDP_TIMEOUT_MS, "no route");
        return { status: "ok", found: `leaves from ${socket.address().address}; a firewall may still stop it` };
      } catch {
        // No name, no route and no network have the same effect: no audio reaches Discord.
        const advice = "allow outgoing UDP to ports 50000 to 65535; without it no audio reaches Discord";
        return { status: "warn", found: "no route for UDP to Discord", advice };
      } finally {
        closeSockets([socket]);
      }
    },
  };
}

function portTrouble(error: unknown, endpoint: string): CheckResult {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return { status: "fail", found: `${endpoint} cannot be listened on (${code})`, advice: listenAdvice(code) };
}

async function resolveHost(host: string): Promise<string> {
  return (await lookup(host, { family: 4 })).address;
}

function closeSockets(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.close();
}
