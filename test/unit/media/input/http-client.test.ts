import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../../src/lib/clock.ts";
import { ConnectionShares } from "../../../../src/media/input/connection-shares.ts";
import { HttpClient } from "../../../../src/media/input/http-client.ts";
import { stationOf } from "../../../../src/media/input/icy-metadata.ts";
import { decodeText } from "../../../../src/media/input/legacy-text.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { requestShoutcast } from "../../../../src/media/input/shoutcast-client.ts";
import { OutboundGuard } from "../../../../src/network/outbound-guard.ts";
import { inputSettings } from "../../../support/input-builders.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

let server: Server;
let url: URL;

beforeEach(async () => {
  server = createServer((_request, response) => void response.write("the beginning"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Counts the connections that are taken and not given back. */
function countShares(): () => number {
  let count = 0;
  const take = ConnectionShares.prototype.take;
  vi.spyOn(ConnectionShares.prototype, "take").mockImplementation(async function (this: ConnectionShares, ...args) {
    const share = await take.apply(this, args);
    count++;
    const release = (): void => {
      count--;
      share.release();
    };
    return { ...share, release };
  });
  return () => count;
}

it("a body that is unneeded when its head arrives returns its connection", async () => {
  const abort = new AbortController();
  // The timer for the head is cancelled when it arrives, just before the body is handed out.
  const clock: Clock = {
    now: () => systemClock.now(),
    epochMs: () => systemClock.epochMs(),
    after: (delayMs, callback) => {
      const timer = systemClock.after(delayMs, callback);
      return {
        cancel: () => {
          timer.cancel();
          abort.abort();
        },
      };
    },
  };
  const shareCount = countShares();
  const guard = new OutboundGuard(inputSettings.network.allow);
  const client = new HttpClient({ guard, settings: inputSettings.http, clock });
  const pace = new RequestPace(createTrackBudget({ clock: systemClock }));
  const answer = await client.get({ url, signal: abort.signal, pace });
  expect(answer.status).toBe(200);
  expect(shareCount()).toBe(0);
  client.close();
});

it("a Shoutcast server gets no connection for a signal that is already aborted", async () => {
  const connected = vi.fn();
  const station = createTcpServer((socket) => {
    connected();
    socket.destroy();
  });
  await new Promise<void>((resolve) => station.listen(0, "127.0.0.1", resolve));
  const reason = new Error("given up");
  const asked = requestShoutcast({
    url: new URL(`http://127.0.0.1:${(station.address() as AddressInfo).port}`),
    headers: {},
    signal: AbortSignal.abort(reason),
    guard: new OutboundGuard(inputSettings.network.allow),
    clock: systemClock,
    settings: inputSettings.http,
    localAddress: undefined,
  });
  await expect(asked).rejects.toBe(reason);
  expect(connected).not.toHaveBeenCalled();
  await new Promise((resolve) => station.close(resolve));
});

it.each([
  ["UTF-8", Buffer.from("Радио été")],
  ["Latin-1", Buffer.from("Radio été", "latin1")],
] as const)("the name of an old Shoutcast station is read in %s", async (_encoding, name) => {
  const head = Buffer.concat([Buffer.from("ICY 200 OK\r\nicy-name: "), name, Buffer.from("\r\n\r\n")]);
  const station = createTcpServer((socket) => void socket.resume().end(head));
  await new Promise<void>((resolve) => station.listen(0, "127.0.0.1", resolve));
  const { headers, body } = await requestShoutcast({
    url: new URL(`http://127.0.0.1:${(station.address() as AddressInfo).port}`),
    headers: {},
    signal: new AbortController().signal,
    guard: new OutboundGuard(inputSettings.network.allow),
    clock: systemClock,
    settings: inputSettings.http,
    localAddress: undefined,
  });
  expect(stationOf(headers)?.name).toBe(decodeText(name));
  body.cancel();
  await new Promise((resolve) => station.close(resolve));
});
