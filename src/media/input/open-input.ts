// Opens a playable input: picks the byte source for its kind. Audio thread.

import type { PlainInput, PlayableInput, SiteTrack } from "../../bridge/playable-input.ts";
import type { LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import type { WorkerSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import { LocalJail } from "../../lib/local-jail.ts";
import type { Logger } from "../../log/log.ts";
import type { TrackBudget } from "../quota/track-budget.ts";
import type { ByteSource } from "./byte-source.ts";
import { FileByteSource } from "./file-byte-source.ts";
import { HttpByteSource } from "./http-byte-source.ts";
import type { HttpClient } from "./http-client.ts";
import type { IcyStation } from "./icy-metadata.ts";
import { parseInputUrl } from "./input-url.ts";
import { TrackLink } from "./track-link.ts";

export interface InputDeps {
  /** One per worker: holds the guard and the idle connections. */
  readonly client: HttpClient;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts the opening; after that, use the source's `close`. */
  readonly signal: AbortSignal;
  readonly budget: TrackBudget;
  /** Asks for links; see `EventChannel.requestLink`. */
  readonly requestLink: (request: LinkRequest) => Promise<PlayableLink>;
  /** Link of a site's track that was opened before, to continue with. */
  readonly link?: TrackLink | undefined;
  /** See HttpByteSourceOptions, both. */
  readonly isBare?: boolean | undefined;
  readonly onReplaced?: ((link: TrackLink) => void) | undefined;
}

/** An opened input: its bytes and its properties. */
export interface OpenedInput {
  readonly source: ByteSource;
  /** Address after redirects, undefined for files. May hold credentials: not for logs. */
  readonly url: string | undefined;
  /** Current description of an Icecast or Shoutcast station; undefined for other inputs. */
  station(): IcyStation | undefined;
  /** Link that a site's track is played from. */
  readonly link?: TrackLink | undefined;
  /** The plain input that the link leads to, if it is one. */
  readonly plain?: PlainInput | undefined;
  /** The bytes came as a range: asked bare (`InputDeps.isBare`), the server may send others. */
  readonly isPart?: boolean | undefined;
  /** The container that the link declares. */
  readonly container?: string | undefined;
}

/**
 * Opens an input; the caller closes its source.
 * @throws NodeError "input-not-found", "input-http-status", "input-unreachable", "address-refused",
 * "local-file-refused" and others of docs/reference/errors.md that begin with `input-` or `link-`
 */
export async function openInput(input: PlayableInput, deps: InputDeps): Promise<OpenedInput> {
  return input.kind === "site" ? openSite(input.track, deps) : openPlain(input, deps);
}

async function openPlain(input: PlainInput, deps: InputDeps): Promise<OpenedInput> {
  if (input.kind === "local") {
    const handle = await new LocalJail(deps.settings.localRoots).open(input.path);
    return { source: await FileByteSource.open(handle), url: undefined, station: () => undefined };
  }
  return openHttp(parseInputUrl(input.url), { ...deps, link: undefined });
}

async function openSite(track: SiteTrack, deps: InputDeps): Promise<OpenedInput> {
  const { signal, budget } = deps;
  const link =
    deps.link ?? (await budget.upstream.await(TrackLink.obtain({ ...deps, track, owner: budget.owner }, signal)));
  const { target } = link;
  if (target.kind === "input") {
    const plain = target.input;
    return { ...(await openPlain(plain, deps)), plain, container: plain.container };
  }
  const { destination, container } = target;
  return { ...(await openHttp(destination.url, { ...deps, link })), link, container };
}

async function openHttp(url: URL, deps: InputDeps): Promise<OpenedInput> {
  const { readAheadBytesMax } = deps.settings.buffer;
  const source = await HttpByteSource.open(url, { ...deps, readAheadBytesMax });
  return { source, url: source.url, station: () => source.station, isPart: source.isPart };
}
