// The outbound guard under every target of test/support/hostile-targets.ts, through every way a client or a server can
// name one to an audio worker. All real but the resolver; whole nodes are in test/scenario/hostile-targets.test.ts.

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { WorkerSettings } from "../../../src/bridge/worker-settings.ts";
import { rootCause } from "../../../src/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { OutboundGuard } from "../../../src/lib/outbound-guard.ts";
import { silentLogger } from "../../../src/log.ts";
import { openDemuxer } from "../../../src/media/demux/open-demuxer.ts";
import { HlsDemuxer } from "../../../src/media/input/hls/hls-demuxer.ts";
import { HttpClient, parseInputUrl } from "../../../src/media/input/http-client.ts";
import { openInput } from "../../../src/media/input/open-input.ts";
import { OutgoingRoutes } from "../../../src/media/input/outgoing-routes.ts";
import { readPlaylist } from "../../../src/media/input/playlist.ts";
import { requestShoutcast } from "../../../src/media/input/shoutcast-client.ts";
import { TrackOpener } from "../../../src/media/track-opener.ts";
import { Canary, HostileSite, SITE_ADDRESS, SITE_WAYS, UdpCanary } from "../../support/hostile-site.ts";
import { HOSTILE_TARGETS, type HostileTarget, resolveHostile } from "../../support/hostile-targets.ts";
import { inputSettings } from "../../support/input-builders.ts";
import { ScriptedVoiceGateway } from "../../support/scripted-voice-gateway.ts";
import { createVoice, until } from "../../support/voice-builders.ts";
import { type Dial, recordDials } from "../../support/worker-scripts/record-dials.mjs";

/** Only the site that leads on. */
const CLOSED = [`${SITE_ADDRESS}/32`];
const OPEN = ["0.0.0.0/0", "::/0"];
/** Attempts under way at once. */
const AT_ONCE = 16;

/** A target with a port of its own, so that whatever is dialled can be told to be it. */
interface Aim {
  readonly target: HostileTarget;
  readonly url: string;
  readonly port: number;
  /** Listens at that port, for targets that lead to this machine. */
  readonly canary: Canary | undefined;
}

/** Tries to get a target dialled, until the signal. Rejects with what stands in the way. */
type Attempt = (url: string, signal: AbortSignal) => Promise<unknown>;

interface Way {
  readonly name: string;
  /** With these networks allowed. */
  readonly prepare: (allow: readonly string[]) => Attempt;
}

const dials: Dial[] = [];
const dialWaiters = new Map<number, () => void>();
let aims: readonly Aim[];
let site: HostileSite;
let folder: string;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  await recordDials((dial) => {
    dials.push(dial);
    dialWaiters.get(dial.port)?.();
  });
  site = await HostileSite.start();
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tonearm-hostile-")));
  aims = await Promise.all(HOSTILE_TARGETS.map(aimAt));
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

afterAll(async () => {
  await site.close();
  await Promise.all(aims.map(({ canary }) => canary?.close()));
  rmSync(folder, { recursive: true });
});

async function aimAt(target: HostileTarget, index: number): Promise<Aim> {
  const canary = target.addresses.every(leadsHere) ? await Canary.start() : undefined;
  const port = canary?.port ?? 1024 + index;
  return { target, port, canary, url: target.url.replace("PORT", String(port)).replace("PATH", "song.mp3") };
}

/** To a socket of this machine that anybody can listen at. */
function leadsHere(address: string): boolean {
  return /^(127\.|0\.0\.0\.0$|::1?$|::ffff:7f)/.test(canonical(address));
}

/** IPv6 addresses can be written in many ways; the system takes them all. */
function canonical(address: string): string {
  return address.includes(":") ? new URL(`http://[${address.replace(/%.*/, "")}]/`).hostname.slice(1, -1) : address;
}

// The ways.

const WAYS: readonly Way[] = [
  { name: "an identifier or an encoded track", prepare: (allow) => openWith(createOpener(allow)) },
  ...SITE_WAYS.map((way) => ({
    name: `a server that answers with: ${way}`,
    prepare: (allow: readonly string[]): Attempt => {
      const attempt = openWith(createOpener(allow));
      return (url, signal) => attempt(site.leadingTo(url, way), signal);
    },
  })),
  { name: "a local list", prepare: fromLocalList },
  { name: "an identifier, sent from an address of a block", prepare: fromChosenAddress },
  { name: "an old Shoutcast server", prepare: asShoutcast },
  { name: "a voice endpoint", prepare: asVoiceEndpoint },
];

function openWith(opener: TrackOpener): Attempt {
  return async (url, signal) => (await opener.open({ kind: "http", url, container: undefined }, signal)).close();
}

interface OpenerParts {
  readonly settings?: Partial<WorkerSettings>;
  readonly routes?: (guard: OutboundGuard) => OutgoingRoutes;
}

/** Wired as in src/media/main.ts. */
function createOpener(allow: readonly string[], { settings: changes, routes }: OpenerParts = {}): TrackOpener {
  const settings = { ...inputSettings, networkAllow: allow, ...changes };
  const guard = new OutboundGuard(allow, { resolve: resolveHostile });
  const deps = { clock: systemClock, logger: silentLogger };
  const client = new HttpClient({ guard, settings: settings.http, clock: systemClock, routes: routes?.(guard) });
  cleanups.push(() => client.close());
  return new TrackOpener({
    openInput: (input, signal) => openInput(input, { ...deps, client, settings, signal }),
    readPlaylist,
    openHls: (url, signal) => HlsDemuxer.open(url, { ...deps, client, signal, openSegment: openDemuxer }),
    openDemuxer,
    onProbed: () => undefined,
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
    (await opener.open({ kind: "local", path, container: undefined }, signal)).close();
  };
}

function fromChosenAddress(allow: readonly string[]): Attempt {
  const routes = (guard: OutboundGuard) =>
    new OutgoingRoutes({
      guard,
      clock: systemClock,
      logger: silentLogger,
      retriesMax: 1,
      lookupTimeoutMs: 1_000,
      wantRoute: async (families) => (families.includes(4) ? "127.0.0.1" : "::"),
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

// What comes of them.

/** By URL: the code of the error that each attempt ends with. */
async function codesOf(attempt: Attempt): Promise<Map<string, string>> {
  const codes = new Map<string, string>();
  await forEachAim(async ({ url }) => {
    const never = new AbortController().signal;
    codes.set(url, await attempt(url, never).then(() => "opened", codeOf));
  });
  return codes;
}

/** The URLs whose own address, and no other, was dialled; a canary has to see it arrive. */
async function reachedBy(attempt: Attempt): Promise<string[]> {
  const reached: string[] = [];
  await forEachAim(async (aim) => {
    const abort = new AbortController();
    const dialled = new Promise<void>((resolve) => dialWaiters.set(aim.port, resolve));
    const arrived = aim.canary?.visited() ?? dialled;
    const ended = attempt(aim.url, abort.signal).then(() => "opened", codeOf);
    if ((await Promise.race([arrived.then(() => "reached"), ended])) === "reached") reached.push(aim.url);
    abort.abort();
    await ended;
  });
  return reached;
}

async function forEachAim(work: (aim: Aim) => Promise<void>): Promise<void> {
  const waiting = aims[Symbol.iterator]();
  const workUp = async () => {
    for (const aim of waiting) await work(aim);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workUp));
}

function codeOf(error: unknown): string {
  const root = rootCause(error);
  return root instanceof Error && "code" in root ? String(root.code) : String(root);
}

function visitorCounts(): number[] {
  return aims.map(({ canary }) => canary?.visitorCount ?? 0);
}

/** Where the way does not take the text for an address at all, nothing is dialled either. */
const NO_ADDRESS = [
  "hls-playlist-invalid",
  "hls-unsupported",
  "input-url-invalid",
  "media-unknown-format",
  "playlist-empty",
  "voice-connect-failed",
];

it("the list is long, and each entry is different", () => {
  expect(new Set(HOSTILE_TARGETS.map(({ url }) => url)).size).toBe(HOSTILE_TARGETS.length);
  expect(HOSTILE_TARGETS.length).toBeGreaterThanOrEqual(200);
});

describe.runIf(process.platform === "linux").each(WAYS)("$name", ({ prepare }) => {
  let refused: string[];

  it("reaches none of the targets", async () => {
    const dialCount = dials.length;
    const visitors = visitorCounts();
    const codes = await codesOf(prepare(CLOSED));
    expect(dials.slice(dialCount).filter(({ address }) => address !== SITE_ADDRESS)).toEqual([]);
    expect(visitorCounts()).toEqual(visitors);
    refused = aims.map(({ url }) => url).filter((url) => codes.get(url) === "address-refused");
    expect(refused.length).toBeGreaterThanOrEqual(200);
    expect([...codes].filter(([, code]) => ![...NO_ADDRESS, "address-refused"].includes(code))).toEqual([]);
  });

  it("with everything allowed reaches exactly those that were refused", async () => {
    const dialCount = dials.length;
    const reached = await reachedBy(prepare(OPEN));
    expect(reached.toSorted()).toEqual(refused.toSorted());
    for (const { port, target } of aims) {
      const dialled = dials.slice(dialCount).filter((dial) => dial.port === port);
      const addresses = target.addresses.map(canonical);
      expect(addresses, target.url).toEqual(expect.arrayContaining(dialled.map(({ address }) => canonical(address))));
    }
  });
});

describe("the UDP address that a voice gateway names", () => {
  /** As text, where a gateway can only mean an address; each once. */
  const hosts = [
    ...new Set(HOSTILE_TARGETS.map(({ url }) => /^http:\/\/\[?([^\]@\\]+?)\]?:PORT\/PATH$/.exec(url)?.[1])),
  ];
  const addresses = hosts.filter((host) => host !== undefined);

  /** The datagrams' addresses, of each gateway that names one of the list; the rest of the handshake is the real one. */
  async function dialledBy(networkAllow: readonly string[], udpPort: number): Promise<string[]> {
    const dialCount = dials.length;
    const waiting = addresses.values();
    const workUp = async () => {
      for (const udpAddress of waiting) await meetGateway({ udpAddress, udpPort }, networkAllow);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, workUp));
    return dials.slice(dialCount).flatMap(({ protocol, address }) => (protocol === "udp" ? address : []));
  }

  it("gets no datagram", async () => {
    const canary = await UdpCanary.start();
    cleanups.push(() => canary.close());
    expect(await dialledBy(["127.0.0.1/32"], canary.port)).toEqual([]);
    expect(canary.packetCount).toBe(0);
    expect(addresses.length).toBeGreaterThanOrEqual(200);
  });

  it("with everything allowed gets some, when it is written as an address", async () => {
    const canary = await UdpCanary.start();
    cleanups.push(() => canary.close());
    const dialled = await dialledBy(OPEN, canary.port);
    expect([...new Set(dialled)].toSorted()).toEqual(addresses.filter((address) => isIPv4(address)).toSorted());
    expect(canary.packetCount).toBeGreaterThan(0);
  });
});

/** Connects, and leaves when the gateway has closed the session or its UDP address has been dialled. */
async function meetGateway(ready: { udpAddress: string; udpPort: number }, networkAllow: readonly string[]) {
  const gateway = await ScriptedVoiceGateway.start(ready);
  const { connection, credentials, closes } = createVoice({ endpoint: gateway.endpoint, networkAllow });
  const dialCount = dials.length;
  const isDialled = () => dials.slice(dialCount).some(({ address }) => address === ready.udpAddress);
  await connection.connect(credentials());
  await until(
    () => closes.length > 0 || gateway.last.all(1).length > 0 || isDialled() || gateway.connections.length > 1,
  );
  connection.close();
  await gateway.close();
}

describe.runIf(process.platform === "linux")("behind a proxy", () => {
  /** Ports of the targets that the proxy is asked for. */
  async function portsAskedFor(allow: readonly string[]): Promise<number[]> {
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
    await codesOf(openWith(createOpener(allow, { settings: { http: { ...inputSettings.http, proxyUrl } } })));
    return ports;
  }

  it("the proxy is asked for none of the targets", async () => {
    expect(await portsAskedFor([])).toEqual([]);
  });

  it("with everything allowed it is asked for all of them", async () => {
    expect(new Set(await portsAskedFor(OPEN))).toEqual(new Set(aims.map(({ port }) => port)));
  });
});
