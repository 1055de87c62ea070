// The outbound guard of a whole node: a target of each technique, through every route and message that can contain one.
// All targets through the modules alone, with names too, are in test/unit/media/probe/hostile-targets.test.ts.

import { BroadcastChannel } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Bot, NodeMessage } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { type Attempt, HostileRange, inParallel } from "../../support/hostile-range.ts";
import { HostileSite, SITE_ADDRESS, SITE_ROUTES, UdpCanary } from "../../support/hostile-site.ts";
import { HOSTILE_TARGETS, type HostileTarget } from "../../support/hostile-targets.ts";
import { ScriptedVoiceGateway } from "../../support/scripted-voice-gateway.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { buildTrack } from "../../support/track-builder.ts";
import type { RecordedConnection } from "../../support/worker-scripts/record-connections.mjs";

const RECORDING_AUDIO = new URL("../../support/worker-scripts/recording-audio.mjs", import.meta.url);
const RECORDING_PROBE = new URL("../../support/worker-scripts/recording-probe.mjs", import.meta.url);
/** Where the fake voice gateway listens. */
const GATEWAY_ADDRESS = "127.0.0.1";
const VOICE_OF_V3 = "PATCH player of v3 with a voice endpoint";
const REFUSED = /refused: not a public address; .* tonearm\.network\.allow/;

/** One of each technique that needs no fake resolver; targets on this machine and others alternate. */
const TECHNIQUES = [...new Set(HOSTILE_TARGETS.filter(isLiteral).map(({ technique }) => technique))];
const SAMPLE = TECHNIQUES.flatMap((techniqueName, index) => {
  const targets = HOSTILE_TARGETS.filter((target) => target.technique === techniqueName && isLiteral(target));
  return targets.find((target) => isLocal(target) === (index % 2 === 0)) ?? targets[0] ?? [];
});
/** Canaries do not speak TLS, which a stream would be tried again for. */
const HERE = SAMPLE.filter((target) => isLocal(target) && !target.url.startsWith("https:"));

function isLiteral({ url }: HostileTarget): boolean {
  return /^[\d.]+$|^\[/.test(new URL(url.replace("PORT", "1")).hostname);
}

function isLocal({ addresses: [address = ""] }: HostileTarget): boolean {
  return address.startsWith("127.") || address === "::1";
}

type Route = readonly [name: string, prepare: (world: World) => Attempt];

interface World {
  readonly env: TestEnvironment;
  readonly range: HostileRange;
  readonly v4: Bot;
  readonly v3: Bot;
}

let recordedConnections: BroadcastChannel;
/** The node under test; the two are never alive at once, so all connection attempts are its own. */
let world: World;
let guildCount = 0;
/** URLs of the targets, by the route that was refused. */
const refusedBy = new Map<string, readonly string[]>();

beforeAll(() => {
  recordedConnections = new BroadcastChannel("tonearm-test-connections");
  recordedConnections.onmessage = (event) => world.range.note((event as { data: RecordedConnection }).data); // only Dials are sent there
});
afterAll(() => recordedConnections.close());

async function startWorld(targets: readonly HostileTarget[], allow: string): Promise<World> {
  const config = { TONEARM_NETWORK_ALLOW: allow, TONEARM_WORKERS_COUNT: "1" };
  const env = await startTestEnvironment({ config, mediaEntry: RECORDING_AUDIO, probeEntry: RECORDING_PROBE });
  const v4 = await env.connectBot();
  const v3 = await env.connectBot({ path: "/v3/websocket" });
  return { env, range: await HostileRange.start(targets), v4, v3 };
}

async function closeWorld(): Promise<void> {
  await world.env.close();
  await world.range.close();
}

/** Makes both threads connect to an allowed address: their earlier connection attempts have been reported by then. */
async function allConnectionsReported(): Promise<void> {
  const site = await HostileSite.start();
  const url = site.leadingTo("http://[::1]/", "m3u");
  await Promise.all([world.range.contacted(SITE_ADDRESS), world.v4.load(url)]);
  const play = playBy(world.v4, "/v4", (encoded) => ({ track: { encoded } }));
  await Promise.all([
    world.range.contacted(SITE_ADDRESS),
    play(url, new AbortController().signal).catch(() => undefined),
  ]);
  await site.close();
}

// The routes.

const LOADING: readonly Route[] = [
  ["GET /v4/loadtracks", ({ v4 }) => loadBy(v4, "/v4/loadtracks")],
  ["GET /v3/loadtracks", ({ v4 }) => loadBy(v4, "/v3/loadtracks")],
  ["GET /loadtracks", ({ v4 }) => loadBy(v4, "/loadtracks")],
  ...SITE_ROUTES.map((route): Route => {
    const prepare = ({ v4, range }: World): Attempt => {
      const load = loadBy(v4, "/v4/loadtracks");
      return (url, signal) => load(range.site.leadingTo(url, route), signal);
    };
    return [`GET /v4/loadtracks of a server that answers with: ${route}`, prepare];
  }),
];

const PLAYING: readonly Route[] = [
  ["PATCH player with an identifier", ({ v4 }) => patchBy(v4, "/v4", (identifier) => ({ track: { identifier } }))],
  ["PATCH player with an encoded track", ({ v4 }) => playBy(v4, "/v4", (encoded) => ({ track: { encoded } }))],
  ["PATCH player of v3", ({ v3 }) => playBy(v3, "/v3", (encodedTrack) => ({ encodedTrack }))],
  ["the operation play of v3", ({ v3 }) => playByOperation(v3)],
];

const SPEAKING: readonly Route[] = [
  ["PATCH player with a voice endpoint", ({ v4 }) => patchBy(v4, "/v4", (url) => ({ voice: voiceAt(url) }))],
  [VOICE_OF_V3, ({ v3 }) => patchBy(v3, "/v3", (url) => ({ voice: voiceAt(url) }))],
];

function loadBy(bot: Bot, path: string): Attempt {
  return async (url) =>
    failWhenRefused((await bot.request("GET", `${path}?identifier=${encodeURIComponent(url)}`)).body);
}

function patchBy(bot: Bot, version: string, bodyFor: (url: string) => object): Attempt {
  return async (url) => {
    // For voice the message is the published one; the trace, as the log, says why.
    const path = `${version}/sessions/${bot.sessionId}/players/${++guildCount}?trace=true`;
    failWhenRefused((await bot.request("PATCH", path, bodyFor(url))).body);
  };
}

function playBy(bot: Bot, version: string, bodyFor: (encoded: string) => object): Attempt {
  return async (url) => {
    const guildId = String(++guildCount);
    const path = `${version}/sessions/${bot.sessionId}/players/${guildId}`;
    await bot.request("PATCH", path, bodyFor(buildTrack({ identifier: url }).encoded));
    failWhenRefused(await exceptionIn(bot, guildId));
  };
}

function playByOperation(bot: Bot): Attempt {
  return async (url) => {
    const guildId = String(++guildCount);
    bot.send(JSON.stringify({ op: "play", guildId, track: buildTrack({ identifier: url }).encoded }));
    failWhenRefused(await exceptionIn(bot, guildId));
  };
}

function exceptionIn(bot: Bot, guildId: string): Promise<NodeMessage> {
  const isIt = (message: NodeMessage) => message.type === "TrackExceptionEvent" && message.guildId === guildId;
  return bot.until(isIt, `an exception in ${guildId}`);
}

/** As Discord writes it, host and port, where the URL has no more than these. */
function voiceAt(url: string) {
  const endpoint = /^http:\/\/([^/@\\?#]+)\/[^@]*$/.exec(url)?.[1] ?? url;
  return { token: "token", sessionId: "session", channelId: "1", endpoint };
}

/** There is no answer to it. Returns the guild. */
function updateVoice(bot: Bot, url: string): string {
  const guildId = String(++guildCount);
  const { endpoint } = voiceAt(url);
  bot.send(JSON.stringify({ op: "voiceUpdate", guildId, sessionId: "session", event: { token: "token", endpoint } }));
  return guildId;
}

function failWhenRefused(answer: unknown): void {
  if (REFUSED.test(JSON.stringify(answer))) throw Object.assign(new Error("refused"), { code: "address-refused" });
}

/** A gateway that names this UDP address to the node's player; resolves with the guild when it has been spoken to. */
async function meetGateway(udpAddress: string, udpPort: number, isOver: (guildId: string) => Promise<unknown>) {
  const gateway = await ScriptedVoiceGateway.start({ udpAddress, udpPort });
  const guildId = String(++guildCount);
  const over = isOver(guildId);
  await world.v4.update(guildId, { voice: { ...voiceAt(gateway.endpoint), endpoint: gateway.endpoint } });
  await over;
  await world.v4.destroy(guildId);
  await gateway.close();
}

const ROUTES = [...LOADING, ...PLAYING, ...SPEAKING];

describe.runIf(process.platform === "linux")("without being allowed", () => {
  beforeAll(async () => {
    world = await startWorld(SAMPLE, `${SITE_ADDRESS}/32,${GATEWAY_ADDRESS}/32`);
  });
  afterAll(closeWorld);

  it.each(ROUTES)("%s reaches no target", async (name, prepare) => {
    const { range } = world;
    const codes = await range.codesOf(prepare(world));
    await allConnectionsReported();
    expect(range.strayConnections(0)).toEqual([]);
    expect(range.visitorCount).toBe(0);
    const refused = range.aims.filter(({ url }) => codes.get(url) === "address-refused");
    expect(refused.length).toBeGreaterThan(SAMPLE.length / 2);
    refusedBy.set(
      name,
      refused.map(({ target }) => target.url),
    );
  });

  it("the operation voiceUpdate of v3 reaches no target", async () => {
    const { range, v3 } = world;
    const guildIds = range.aims.map(({ url }) => updateVoice(v3, url));
    await v3.ping();
    // An update of the same player waits for the one before it.
    const path = `/v3/sessions/${v3.sessionId}/players`;
    await inParallel(guildIds, async (guildId) => void (await v3.request("PATCH", `${path}/${guildId}`, {})));
    await allConnectionsReported();
    expect(range.strayConnections(0)).toEqual([]);
    expect(range.visitorCount).toBe(0);
  });

  it("the UDP address that a voice gateway names gets no datagram", async () => {
    const canary = await UdpCanary.start();
    await inParallel(["127.0.0.2", "127.1.2.3", "0.0.0.0", "10.0.0.1", "224.0.0.1"], (address) =>
      meetGateway(address, canary.port, (guildId) =>
        world.v4.until(
          ({ type, guildId: id }) => type === "WebSocketClosedEvent" && id === guildId,
          `the end of the session that receives ${address}`,
        ),
      ),
    );
    await allConnectionsReported();
    expect(world.range.strayConnections(0, [SITE_ADDRESS, GATEWAY_ADDRESS])).toEqual([]);
    expect(canary.packetCount).toBe(0);
    canary.close();
  });
});

describe.runIf(process.platform === "linux")("with everything allowed", () => {
  beforeAll(async () => {
    world = await startWorld(HERE, "0.0.0.0/0,::/0");
  });
  afterAll(closeWorld);

  it.each(ROUTES)("without the guard, %s reaches the targets that were refused", async (name, prepare) => {
    const { range } = world;
    const reached = new Set(await range.reachedBy(prepare(world)));
    const urls = range.aims.filter(({ url }) => reached.has(url)).map(({ target }) => target.url);
    expect(urls).toEqual(HERE.map(({ url }) => url).filter((url) => refusedBy.get(name)?.includes(url)));
    expect(range.misledConnections(0)).toEqual([]);
  });

  it("without the guard, the operation voiceUpdate of v3 reaches the targets that were refused", async () => {
    const { range, v3 } = world;
    const refused = refusedBy.get(VOICE_OF_V3) ?? [];
    const techniqueName = range.aims.filter(({ target }) => refused.includes(target.url));
    expect(techniqueName.length).toBeGreaterThanOrEqual(5);
    for (const { url, canary } of techniqueName) {
      const visited = canary?.visited();
      updateVoice(v3, url);
      await visited;
    }
  });

  it("without the guard, the UDP address that a voice gateway names gets datagrams", async () => {
    for (const address of ["127.0.0.2", "127.1.2.3", "0.0.0.0"]) {
      const canary = await UdpCanary.start();
      await meetGateway(address, canary.port, () => canary.received());
      canary.close();
    }
  });
});

it("the sample has every technique that can be written down", () => {
  expect(SAMPLE.length).toBeGreaterThanOrEqual(40);
  expect(HERE.length).toBeGreaterThanOrEqual(12);
});
