import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { PASSWORD_HOLDER } from "../../../../src/control/access/identity.ts";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { UpgradeTarget } from "../../../../src/control/api/upgrade.ts";
import { LiveSocket, type LiveSocketOptions } from "../../../../src/control/dashboard/live-socket.ts";
import { WebSocketEndpoint } from "../../../../src/control/server/web-socket-endpoint.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { LogRing } from "../../../../src/log/log-ring.ts";
import { createSessions, playersInto } from "../../../support/session-builders.ts";

const parts = { clock: systemClock, logger: silentLogger };

function dashboard(): UpgradeTarget {
  const options = { ...parts, logins: { loginOf: async () => undefined }, log: new LogRing(), version: "1.2.3" };
  return new LiveSocket({ ...options, parts: {} } as unknown as LiveSocketOptions); // refused before they are used
}

function endPoint(): UpgradeTarget {
  const sessions = createSessions({ clock: systemClock, createPlayer: playersInto([]) });
  sessions.drain(true);
  const recognize = () => ({ kind: "known", identity: PASSWORD_HOLDER }) as const;
  return new WebSocketEndpoint({ ...parts, sessions, recognize, isCurrent: () => true, protocols: [V4_PROTOCOL] });
}

test.each([
  ["the dashboard", dashboard, "/dashboard/live"],
  ["the API", endPoint, "/v4/websocket"],
])("a client of %s that disconnects before it is refused does no harm", async (_, build, url) => {
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(new Error("write EPIPE")),
  });
  const closed = once(socket, "close").catch((error: unknown) => error);
  Object.assign(socket, { setKeepAlive: () => socket });
  const request = { method: "GET", url, headers: { "user-id": "1" }, socket };
  // Only the members that are used.
  const upgrade = { request: request as unknown as IncomingMessage, socket: socket as Socket, head: Buffer.alloc(0) };
  build().upgrade(upgrade, () => undefined);
  expect(await closed).toEqual(new Error("write EPIPE"));
  expect(socket.listenerCount("error")).toBeGreaterThan(0);
});
