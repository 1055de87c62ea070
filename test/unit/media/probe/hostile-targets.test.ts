// The outbound guard under every target of test/support/hostile-targets.ts, through every route a client or a server can
// name one to an audio worker. All real but the resolver; whole nodes are in test/integration/requests/hostile-targets.test.ts.

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { WorkerSettings } from "../../../../src/bridge/worker-settings.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { HlsDemuxer } from "../../../../src/media/demux/hls/hls-demuxer.ts";
import { HttpClient } from "../../../../src/media/input/http-client.ts";
import { parseInputUrl } from "../../../../src/media/input/input-url.ts";
import { type InputDeps, openInput } from "../../../../src/media/input/open-input.ts";
import { readPlaylist } from "../../../../src/media/input/playlist.ts";
import { requestShoutcast } from "../../../../src/media/input/shoutcast-client.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { TrackOpener } from "../../../../src/media/probe/track-opener.ts";
import { OutboundGuard } from "../../../../src/network/outbound-guard.ts";
import { OutgoingRoutes } from "../../../../src/network/outgoing-routes.ts";
import { type Attempt, HostileRange, inParallel } from "../../../support/hostile-range.ts";
import { SITE_ADDRESS, SITE_ROUTES, UdpCanary } from "../../../support/hostile-site.ts";
import { HOSTILE_TARGETS, resolveHostile } from "../../../support/hostile-targets.ts";
import { inputSettings, noLinks } from "../../../support/input-builders.ts";
import { linkTo, SITE_TRACK } from "../../../support/scripted-links.ts";
import { ScriptedVoiceGateway } from "../../../support/scripted-voice-gateway.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";
import { createVoice, until } from "../../../support/voice-builders.ts";
import { recordConnections } from "../../../support/worker-scripts/record-connections.mjs";

const budget = createTrackBudget();

/** Only the site that holds the links. */
const CLOSED = [`${SITE_ADDRESS}/32`];
const OPEN = ["0.0.0.0/0", "::/0"];
interface Route {
  readonly name: string;
  /** Prepares an attempt with these networks allowed. */
  readonly prepare: (allow: readonly string[]) => Attempt;
}

let range: HostileRange;
let stopRecording: () => void;
let folder: string;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  range = await HostileRange.start(HOSTILE_TARGETS);
  stopRecording = await recordConnections((recordedConnection) => range.note(recordedConnection));
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tonearm-hostile-")));
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

afterAll(async () => {
  stopRecording();
  await range.close();
  rmSync(folder, { recursive: true });
});

// The routes.

const ROUTES: readonly Route[] = [
  { name: "an identifier or an encoded track", prepare: (allow) => openWith(createOpener(allow)) },
  ...SITE_ROUTES.map((route) => ({
    name: `a server that answers with: ${route}`,
    prepare: (allow: readonly string[]): Attempt => {
      const attempt = openWith(createOpener(allow));
      return (url, signal) => attempt(range.site.leadingTo(url, route), signal);
    },
  })),
  { name: "a local list", prepare: fromLocalList },
  { name: "a link that a source has named", prepare: fromLink },
  { name: "an identifier, sent from an address of a block", prepare: fromChosenAddress },
  { name: "an old Shoutcast server", prepare: asShoutcast },
  { name: "a voice endpoint", prepare: asVoiceEndpoint },
];

function openWith(opener: TrackOpener): Attempt {
  return async (url, signal) =>
    (await opener.open({ kind: "http", url, container: undefined }, { signal, budget })).demuxer.close();
}

interface OpenerParts {
  readonly settings?: Partial<WorkerSettings>;
  readonly routes?: (guard: OutboundGuard) => OutgoingRoutes;
  readonly requestLink?: InputDeps["requestLink"];
}

/** Wired as in src/media/probe/create-opener.ts. */
function createOpener(allow: readonly string[], parts: OpenerParts = {}): TrackOpener {
  const { settings: changes, routes, requestLink = noLinks } = parts;
  const settings = { ...inputSettings, network: { allow }, ...changes };
  const guard = new OutboundGuard(allow, { resolve: resolveHostile });
  const deps = { clock: systemClock, logger: silentLogger, requestLink };
  const client = new HttpClient({ guard, settings: settings.http, clock: systemClock, routes: routes?.(guard) });
  cleanups.push(() => client.close());
  return new TrackOpener({
    openInput: (input, work) => openInput(input, { ...deps, ...work, client, settings }),
    readPlaylist,
    openHls: (url, work) => HlsDemuxer.open(url, { ...deps, client, ...work, openSegment: openDemuxer }),
    openDemuxer,
    clock: systemClock,
    readAheadMs: 10_000,
  });
}

function fromLocalList(allow: readonly string[]): Attempt {
  const opener = createOpener(allow, { settings: { localRoots: [folder] } });
  let count = 0;
  return async (url, signal) => {
    const path = join(folder, `${count++}.m3u`);
    writeFileSync(path, `#EXTM3U\n${url}\n`);
    (await opener.open({ kind: "local", path, container: undefined }, { signal, budget })).demuxer.close();
  };
}

/** The track's encoded text is the target of its link. */
function fromLink(allow: readonly string[]): Attempt {
  const opener = createOpener(allow, { requestLink: async ({ track }) => linkTo(track.encoded) });
  return async (url, signal) => {
    const input = { kind: "site", track: { ...SITE_TRACK, encoded: url } } as const;
    (await opener.open(input, { signal, budget })).demuxer.close();
  };
}

function fromChosenAddress(allow: readonly string[]): Attempt {
  const routes = (guard: OutboundGuard) =>
    new OutgoingRoutes({
      guard,
      clock: systemClock,
      logger: silentLogger,
      retriesMax: 1,
      isTriggeredBySearch: true,
      resolveTimeoutMs: 1_000,
      requestRoute: async (families) => (families.includes(4) ? "127.0.0.1" : "::"),
      send: () => undefined,
    });
  return openWith(createOpener(allow, { routes }));
}

function asShoutcast(allow: readonly string[]): Attempt {
  const guard = new OutboundGuard(allow, { resolve: resolveHostile });
  const options = { headers: {}, guard, clock: systemClock, settings: inputSettings.http, localAddress: undefined };
  return async (url, signal) => requestShoutcast({ ...options, url: parseInputUrl(url), signal });
}

function asVoiceEndpoint(networkAllow: readonly string[]): Attempt {
  return async (url, signal) => {
    const { connection, credentials } = createVoice({ endpoint: url, networkAllow, resolve: resolveHostile });
    signal.addEventListener("abort", () => connection.close());
    await connection.connect(credentials()).finally(() => connection.close());
  };
}

// The expected errors.

/** Errors of routes that do not accept the text as an address at all: nothing is connected to either. */
const NO_ADDRESS = [
  "hls-playlist-invalid",
  "hls-unsupported",
  "input-url-invalid",
  "link-invalid",
  "media-unknown-format",
  "playlist-empty",
  "voice-connect-failed",
];

it("the list of hostile targets is long, and each entry is different", () => {
  expect(new Set(HOSTILE_TARGETS.map(({ url }) => url)).size).toBe(HOSTILE_TARGETS.length);
  expect(HOSTILE_TARGETS.length).toBeGreaterThanOrEqual(200);
});

describe.runIf(process.platform === "linux").each(ROUTES)("$name", ({ prepare }) => {
  let refused: string[];

  it("a hostile address reaches none of the targets", async () => {
    const { visitorCount, recordedConnections } = range;
    const connectionCount = recordedConnections.length;
    const codes = await range.codesOf(prepare(CLOSED));
    expect(range.strayConnections(connectionCount)).toEqual([]);
    expect(range.visitorCount).toBe(visitorCount);
    refused = [...codes.keys()].filter((url) => codes.get(url) === "address-refused");
    expect(refused.length).toBeGreaterThanOrEqual(200);
    expect([...codes].filter(([, code]) => ![...NO_ADDRESS, "address-refused"].includes(code))).toEqual([]);
  });

  it("a hostile address with everything allowed reaches exactly the refused targets", async () => {
    const connectionCount = range.recordedConnections.length;
    const reached = await range.reachedBy(prepare(OPEN));
    expect(reached.toSorted()).toEqual(refused.toSorted());
    expect(range.misledConnections(connectionCount)).toEqual([]);
  });
});

describe("the UDP address that a voice gateway names", () => {
  /** Hosts as text, for gateways that accept only an address; each once. */
  const hosts = [
    ...new Set(HOSTILE_TARGETS.map(({ url }) => /^http:\/\/\[?([^\]@\\]+?)\]?:PORT\/PATH$/.exec(url)?.[1])),
  ];
  const addresses = hosts.filter((host) => host !== undefined);

  /**
   * The addresses that received datagrams, for each gateway that names one of the list; the rest of the handshake is
   * real.
   */
  async function contactedBy(networkAllow: readonly string[], udpPort: number): Promise<string[]> {
    const connectionCount = range.recordedConnections.length;
    // Each waits a moment before it reconnects to its gateway: many wait together.
    await inParallel(addresses, (udpAddress) => meetGateway({ udpAddress, udpPort }, networkAllow), 64);
    return range.recordedConnections
      .slice(connectionCount)
      .flatMap(({ protocol, address }) => (protocol === "udp" ? address : []));
  }

  it("a hostile UDP address from a voice gateway gets no datagram", async () => {
    const canary = await UdpCanary.start();
    cleanups.push(() => canary.close());
    expect(await contactedBy(["127.0.0.1/32"], canary.port)).toEqual([]);
    expect(canary.packetCount).toBe(0);
    expect(addresses.length).toBeGreaterThanOrEqual(200);
  });

  it("a UDP address from a voice gateway gets datagrams when everything is allowed and it is written as an address", async () => {
    const canary = await UdpCanary.start();
    cleanups.push(() => canary.close());
    const contacted = await contactedBy(OPEN, canary.port);
    expect([...new Set(contacted)].toSorted()).toEqual(addresses.filter((address) => isIPv4(address)).toSorted());
    expect(canary.packetCount).toBeGreaterThan(0);
  });
});

/** Connects, and leaves when the gateway has closed the session or its UDP address has received a datagram. */
async function meetGateway(ready: { udpAddress: string; udpPort: number }, networkAllow: readonly string[]) {
  const gateway = await ScriptedVoiceGateway.start(ready);
  const { connection, credentials, closes } = createVoice({ endpoint: gateway.endpoint, networkAllow });
  const connectionCount = range.recordedConnections.length;
  const isContacted = () =>
    range.recordedConnections.slice(connectionCount).some(({ address }) => address === ready.udpAddress);
  await connection.connect(credentials());
  await until(
    () => closes.length > 0 || gateway.last.all(1).length > 0 || isContacted() || gateway.connections.length > 1,
  );
  connection.close();
  await gateway.close();
}

describe.runIf(process.platform === "linux")("behind a proxy", () => {
  /** Ports of the targets that the proxy is asked for. */
  async function requestedPorts(allow: readonly string[]): Promise<number[]> {
    const ports: number[] = [];
    const note = ({ url = "" }: IncomingMessage) => ports.push(Number(/:(\d+)(?:\/|\?|$)/.exec(url)?.[1]));
    const proxy = createServer((request, response) => {
      note(request);
      response.writeHead(404).end();
    });
    proxy.on("connect", (request, socket) => {
      note(request);
      socket.end("HTTP/1.1 502 No\r\n\r\n");
    });
    await new Promise<void>((resolve) => proxy.listen(0, SITE_ADDRESS, resolve));
    cleanups.push(() => proxy.close());
    const proxyUrl = `http://${SITE_ADDRESS}:${(proxy.address() as AddressInfo).port}`;
    await range.codesOf(openWith(createOpener(allow, { settings: { http: { ...inputSettings.http, proxyUrl } } })));
    return ports;
  }

  it("a proxy is asked for none of the hostile targets", async () => {
    expect(await requestedPorts([])).toEqual([]);
  });

  it("a proxy is asked for all hostile targets when everything is allowed", async () => {
    expect(new Set(await requestedPorts(OPEN))).toEqual(new Set(range.aims.map(({ port }) => port)));
  });
});
