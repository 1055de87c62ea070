// Wires the track opener: address guard, HTTP client, routes, containers. The same for playing and for probing, so that
// every track that can be loaded can be played. Large parts (HTTP client, containers) are loaded when first needed, so
// that an idle thread stays small. Audio and probe threads.

import type { EventChannel } from "../../bridge/channel.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import { createHostResolver } from "../../network/host-resolver.ts";
import { OutboundGuard } from "../../network/outbound-guard.ts";
import type { OutgoingRoutes } from "../../network/outgoing-routes.ts";
import { OwnNetwork } from "../../network/own-network.ts";
import type { Sockets } from "../../network/sockets.ts";
import type { HttpClient } from "../input/http-client.ts";
import { TrackOpener, type TrackOpenerOptions } from "./track-opener.ts";

interface OpenerParts {
  readonly settings: WorkerSettings;
  readonly guard: OutboundGuard;
  readonly createConnector: Sockets["createConnector"];
  readonly clock: Clock;
  readonly logger: Logger;
  /** The channel that requests links and egress addresses, and reports failed addresses. */
  readonly channel: Pick<EventChannel, "send" | "requestRoute" | "requestLink">;
  /** See TrackOpenerOptions. */
  readonly onContainer?: TrackOpenerOptions["onContainer"];
}

/** The address guard that checks every connection of a thread. */
export function createGuard({ network, routing }: WorkerSettings, clock: Clock): OutboundGuard {
  const ownNetwork = new OwnNetwork({ clock, blocks: routing?.ipBlocks ?? [] });
  return new OutboundGuard(network.allow, { ownNetwork, resolve: createHostResolver({ clock }) });
}

/** One per thread. Each opening is charged to the budget that comes with it, and timed by that budget's clock. */
export function createOpener(parts: OpenerParts): TrackOpener {
  const { settings, guard, createConnector, clock, logger, channel, onContainer } = parts;
  // For inputs other than a plugin's tracks.
  const egress = settings.routing?.sources.includes("http") ? "blocks" : "machine";
  let whenClient: Promise<HttpClient> | undefined;
  const loadClient = (): Promise<HttpClient> => {
    whenClient ??= Promise.all([import("../input/http-client.ts"), loadRoutes(parts)]).then(
      ([{ HttpClient }, routes]) =>
        new HttpClient({ guard, createConnector, settings: settings.http, clock, routes, egress }),
    );
    return whenClient;
  };
  const openDemuxer: TrackOpenerOptions["openDemuxer"] = async (source, hints, budget) =>
    (await import("./open-demuxer.ts")).openDemuxer(source, hints, budget);
  return new TrackOpener({
    openInput: async (input, work) => {
      const { openInput } = await import("../input/open-input.ts");
      const deps = { client: await loadClient(), settings, clock: work.budget.clock, logger };
      return openInput(input, { ...work, ...deps, requestLink: (request) => channel.requestLink(request) });
    },
    readPlaylist: async (input, opened) => (await import("../input/playlist.ts")).readPlaylist(input, opened),
    openHls: async (url, work) => {
      const { HlsDemuxer } = await import("../demux/hls/hls-demuxer.ts");
      const deps = { client: await loadClient(), clock: work.budget.clock, logger, openSegment: openDemuxer };
      return HlsDemuxer.open(url, { ...work, ...deps });
    },
    openDemuxer,
    onContainer,
    clock,
    readAheadMs: settings.buffer.readAheadMs,
  });
}

async function loadRoutes({
  settings,
  guard,
  clock,
  logger,
  channel,
}: OpenerParts): Promise<OutgoingRoutes | undefined> {
  const { routing, http } = settings;
  // Behind a proxy, sites see the proxy's address whatever ours is.
  if (routing === undefined || http.proxyUrl !== undefined) return undefined;
  const { OutgoingRoutes } = await import("../../network/outgoing-routes.ts");
  return new OutgoingRoutes({
    guard,
    clock,
    logger,
    ...routing,
    resolveTimeoutMs: http.connectTimeoutMs,
    requestRoute: channel.requestRoute,
    send: (event) => channel.send(event),
  });
}
