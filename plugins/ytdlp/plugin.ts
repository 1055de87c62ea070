// The source ytdlp, and some named sources: sites that the node does not read itself, through the operator's yt-dlp
// program. yt-dlp identifies a page's content and its audio link; the node fetches the audio itself. Plugin thread.

import {
  type Cache,
  definePlugin,
  type LoadRequest,
  type ResolveRequest,
  type Source,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { Members } from "../reading/json.ts";
import { type ParsedIdentifier, pageTarget, readIdentifier, type Target } from "./identifiers.ts";
import type { NodeProcess } from "./js-runtime.ts";
import { YTDLP_MANIFEST } from "./manifest.ts";
import { Program, type YtDlpHost } from "./program.ts";
import { UnsupportedLink } from "./program-errors.ts";
import { entriesOf, identifierOf, isPlaylist, pageOf, readAnswer } from "./read-answer.ts";
import { type Link, readLink } from "./read-link.ts";
import { type BridgedSource, readSites, type Sites, siteOf, sourcesOf } from "./sites.ts";

/** Loading a link already gives its audio link: playing it soon needs no second run. */
const LINKS = { ttlMs: 10 * 60_000, entriesMax: 500 };
/** Remaining life of a cached link that is still used. */
const LINK_REST_MS = 2 * 60_000;

export default ytDlpPlugin(process);

/** `node`: whose Node.js yt-dlp may use. */
export function ytDlpPlugin(node: NodeProcess) {
  return definePlugin({
    name: YTDLP_MANIFEST.name,
    version: YTDLP_MANIFEST.version,
    apiVersion: 1,
    config: YTDLP_MANIFEST.config,
    setup(host) {
      const sites = readSites(host.options.sites);
      if (sites.wrong.length > 0) {
        host.log.warn("option sites: entries that are not hosts, or too many, are ignored", {
          sites: sites.wrong.join(", "),
        });
      }
      const program = new Program(host, node);
      for (const source of sourcesOf(sites)) host.addSource(new YtDlpSource(host, { program, source }));
      void program.introduce();
    },
  });
}

class YtDlpSource implements Source {
  readonly name: string;
  readonly prefixes: readonly string[];
  readonly hosts: readonly string[];
  readonly #pages: string | undefined;
  readonly #ownHosts: readonly string[] | undefined;
  readonly #host: YtDlpHost;
  readonly #program: Program;
  readonly #sites: Sites;
  readonly #links: Cache<Link>;

  constructor(host: YtDlpHost, { program, source }: { readonly program: Program; readonly source: BridgedSource }) {
    const { name, prefixes = [], hosts, pages, ownHosts, sites } = source;
    this.name = name;
    this.prefixes = prefixes;
    this.hosts = hosts;
    this.#pages = pages;
    this.#ownHosts = ownHosts;
    this.#host = host;
    this.#program = program;
    this.#sites = sites;
    this.#links = host.cache("links", LINKS);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const { searchLimit } = this.#host.options;
    const parsed = readIdentifier(identifier, { sites: this.#sites, searchLimit });
    if (parsed === undefined) return undefined;
    try {
      return await this.#find(parsed, signal);
    } catch (error) {
      // Another source may know what to do with a link; with what stands behind our prefix none does.
      if (error instanceof UnsupportedLink && parsed.kind === "page" && !parsed.isPrefixed) return undefined;
      throw error;
    }
  }

  async resolve({ track, reason, variant, mustAskSite, signal }: ResolveRequest): Promise<Link> {
    const page = this.#pageOf(track);
    if (mustAskSite) this.#checkIsOwn(page);
    const target = this.#targetOf(page);
    const key = keyOf(target, track.identifier);
    const known = reason === "start" ? this.#links.get(key) : undefined;
    if (known !== undefined) return known;
    this.#links.delete(key);
    const first = await this.#askForAudio({ target, variant }, signal);
    const entry = entryOf(first, track);
    // A page may stand for one elsewhere.
    if (mustAskSite) this.#checkIsOwn(pageOf(entry) ?? page);
    if (!isShort(entry)) return readLink(entry, this.#host.clock.now());
    const next = this.#targetOf(pageOf(entry) ?? "");
    const second = await this.#askForAudio({ target: next, variant }, signal);
    if (mustAskSite) this.#checkIsOwn(pageOf(second) ?? next.input);
    return readLink(second, this.#host.clock.now());
  }

  async #find(parsed: ParsedIdentifier, signal: AbortSignal): Promise<SourceAnswer> {
    const { target } = parsed;
    const isSearch = parsed.kind === "search";
    const countMax = isSearch ? parsed.countMax : this.#entriesMax(target);
    const found = await this.#program.ask({ purpose: "load", target, countMax }, signal);
    const answer = readAnswer(found, { input: target.input, isSearch, countMax });
    if (answer.kind === "track") this.#keepLink(answer.track, found);
    return answer;
  }

  #askForAudio(request: { readonly target: Target; readonly variant: string | undefined }, signal: AbortSignal) {
    return this.#program.ask({ purpose: "playback", countMax: this.#entriesMax(request.target), ...request }, signal);
  }

  /** YouTube's mixes are endless. */
  #entriesMax({ input }: Target): number {
    const { playlistLoadLimit, mixPlaylistLoadLimit } = this.#host.options;
    return new URL(input).searchParams.get("list")?.startsWith("RD") === true
      ? mixPlaylistLoadLimit
      : playlistLoadLimit;
  }

  /** A track's link comes from clients: it is checked like an identifier. */
  #targetOf(link: string): Target {
    const target = pageTarget(link, this.#sites);
    if (target !== undefined) return target;
    throw new SourceError("unavailable", "this track has no link that yt-dlp may use; load it again");
  }

  /** A source with the name of a site is not one of all others that yt-dlp knows. */
  #checkIsOwn(page: string): void {
    const names = this.#ownHosts;
    const hostname = webAddressIn(page)?.hostname ?? "";
    if (names === undefined || siteOf(hostname, { names }) !== undefined) return;
    const why = `${hostname || "its link"} is not ${this.name}, and your key may not play other addresses`;
    throw new SourceError("unavailable", `this track is not available: ${why}`);
  }

  /** Tracks of the oldest version of the encoded form have no address. */
  #pageOf({ uri, identifier }: SourceTrack): string {
    return uri ?? (this.#pages === undefined ? identifier : this.#pages + encodeURIComponent(identifier));
  }

  #keepLink(track: SourceTrack, found: Members): void {
    const target = pageTarget(track.uri ?? "", this.#sites);
    const nowMs = this.#host.clock.now();
    try {
      const link = readLink(found, nowMs);
      const lifeMs = Math.min(LINKS.ttlMs, (link.expiresAtMs ?? nowMs) - nowMs - LINK_REST_MS);
      if (target !== undefined) this.#links.set(keyOf(target, track.identifier), link, lifeMs);
    } catch {
      // Nothing to cache: the error is reported when the track is played.
    }
  }
}

function keyOf({ input }: Target, identifier: string): string {
  return `${input}\n${identifier}`;
}

/** Several videos of one page have one link: of a list it is the one that was found there. */
function entryOf(found: Members, { identifier }: SourceTrack): Members {
  if (!isPlaylist(found)) return found;
  const entries = entriesOf(found, Number.POSITIVE_INFINITY);
  const entry =
    entries.find((one) => identifierOf(one) === identifier) ?? (entries.length === 1 ? entries[0] : undefined);
  if (entry !== undefined) return entry;
  throw new SourceError("not-found", "this track is no longer on its page");
}

/** Only a link to the page with the audio. */
function isShort({ _type: type, formats }: Members): boolean {
  return (type === "url" || type === "url_transparent") && formats === undefined;
}
