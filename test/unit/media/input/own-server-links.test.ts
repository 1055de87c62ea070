import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import type { SiteLink } from "../../../../src/bridge/playable-link.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { HttpClient } from "../../../../src/media/input/http-client.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { OutboundGuard } from "../../../../src/network/outbound-guard.ts";
import { OutgoingRoutes } from "../../../../src/network/outgoing-routes.ts";
import { FakeRoutePlanner } from "../../../support/fake-route-planner.ts";
import { inputSettings, noLinks, patternBytes } from "../../../support/input-builders.ts";
import { linkTo } from "../../../support/scripted-links.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const FILE = Uint8Array.from(patternBytes(4096));
const cleanups: (() => unknown)[] = [];
let server: Server;
let url: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
/** Paths and source addresses of its requests. */
const asked: string[] = [];

beforeEach(async () => {
  asked.length = 0;
  answer = (_request, response) => response.end(FILE);
  server = createServer((request, response) => {
    asked.push(`${request.socket.remoteAddress} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A client whose guard allows no private address. */
function createClient(hasRoutes = false): HttpClient {
  const guard = new OutboundGuard([]);
  const planner = FakeRoutePlanner.loopback(5);
  const settings = { retriesMax: 3, isTriggeredBySearch: true, resolveTimeoutMs: 5_000 };
  const parts = { guard, clock: systemClock, logger: silentLogger };
  const asks = { requestRoute: planner.requestRoute, send: planner.send };
  const routes = hasRoutes ? new OutgoingRoutes({ ...parts, ...settings, ...asks }) : undefined;
  const client = new HttpClient({ guard, settings: inputSettings.http, clock: systemClock, routes });
  cleanups.push(() => client.close());
  return client;
}

/** The beginning of a track with this link. */
async function readLink(client: HttpClient, link: Partial<SiteLink>): Promise<Uint8Array | undefined> {
  const whole = linkTo(`${url}/song`, { isOwnServer: true, ...link });
  const track = { sourceName: "subsonic", encoded: "a track", userData: {} };
  return read(client, { kind: "site", track }, async () => whole);
}

async function read(client: HttpClient, input: PlayableInput, requestLink = noLinks): Promise<Uint8Array | undefined> {
  const signal = new AbortController().signal;
  const budget = createTrackBudget({ clock: systemClock });
  const deps = {
    client,
    settings: inputSettings,
    clock: systemClock,
    logger: silentLogger,
    signal,
    budget,
    requestLink,
  };
  const { source } = await openInput(input, deps);
  cleanups.push(() => source.close());
  const bytes = await source.read(0, FILE.length);
  // Whatever kind of bytes it is: Node.js 26 gives others than 20.
  return bytes && Uint8Array.from(bytes);
}

it("the audio of a track on an own server is received from a private network", async () => {
  expect(await readLink(createClient(), {})).toEqual(FILE);
});

it("a link outside the own servers is refused in a private network", async () => {
  await expect(readLink(createClient(), { isOwnServer: false })).rejects.toMatchObject({ code: "address-refused" });
  expect(asked).toEqual([]);
});

it("identifiers from clients are refused there, also while a connection to it is open or idle", async () => {
  const client = createClient();
  const plain: PlayableInput = { kind: "http", url: `${url}/song`, container: undefined };
  await readLink(client, {});
  await expect(read(client, plain)).rejects.toMatchObject({ code: "address-refused" });
  answer = (_request, response) => response.write(FILE);
  await readLink(client, {});
  await expect(read(client, plain)).rejects.toMatchObject({ code: "address-refused" });
  expect(asked).toHaveLength(2);
});

it("a redirect within the own server is followed, one to another port or host of the network is refused", async () => {
  const other = createServer((_request, response) => response.end("another service"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => other.close(resolve)));
  const otherPort = (other.address() as AddressInfo).port;
  const redirectTo = (location: string): void => {
    answer = (request, response) => {
      if (request.url === "/file") response.end(FILE);
      else response.writeHead(302, { location }).end();
    };
  };
  redirectTo("/file");
  expect(await readLink(createClient(), {})).toEqual(FILE);
  for (const location of [`http://127.0.0.1:${otherPort}/`, `http://127.0.0.2:${new URL(url).port}/`]) {
    redirectTo(location);
    await expect(readLink(createClient(), {})).rejects.toMatchObject({ code: "address-refused" });
  }
});

it("a link that redirects to another plugin's server is refused there", async () => {
  const other = createServer((_request, response) => response.writeHead(302, { location: `${url}/song` }).end());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => other.close(resolve)));
  const client = createClient();
  // The connection exists, and so does the permission for it.
  await readLink(client, {});
  const link = { url: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` };
  await expect(readLink(client, link)).rejects.toMatchObject({ code: "address-refused" });
  expect(asked).toHaveLength(1);
});

it("an own server is requested from the machine's own address, whatever blocks are configured", async () => {
  expect(await readLink(createClient(true), {})).toEqual(FILE);
  expect(asked).toEqual(["127.0.0.1 /song"]);
});

it("an own server that does not speak HTTP is not asked in Shoutcast's protocol", async () => {
  answer = (request) => {
    request.socket.end("ICY 200 OK\r\n\r\nsound");
  };
  await expect(readLink(createClient(), {})).rejects.toMatchObject({ code: "input-unreachable" });
});
