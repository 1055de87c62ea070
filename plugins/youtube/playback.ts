// Finds the current audio link of a video: tries the clients that can play in order, chooses a format, unlocks its
// link. Remembers for a while whose links were refused, so that the next request tries another client first. Plugin
// thread.

import { type Cache, type Playable, type ResolveRequest, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { askInOrder } from "./ask-in-order.ts";
import { type ChosenClient, type Host, inOrderFor, playsWithScript } from "./chosen-clients.ts";
import type { ClientIdentity } from "./clients.ts";
import { chooseFormat, hlsManifestOf } from "./formats.ts";
import { isVideoId } from "./identifiers.ts";
import { type Innertube, LoginRefusedError } from "./innertube.ts";
import { expiryOf, isBelow } from "./links.ts";
import type { Login } from "./login.ts";
import { string } from "./read-json.ts";
import { checkPlayability, checkVideoId, isLive } from "./read-player.ts";
import type { OriginTokens } from "./tokens.ts";
import { asUnavailable, CHALLENGE, type Unlocker } from "./unlocker.ts";

const PLAYED_MAX = 500;
const PLAYED_TTL_MS = 12 * 60 * 60_000;
/** Videos whose links were refused within `REFUSALS_TTL_MS`, after which a client is tried last. */
const REFUSALS_MAX = { reliedOn: 3, inTrouble: 1 };
/** Refused links of one video in a row, after which a client is given up for it. */
const REFUSED_MAX = { reliedOn: 2, inTrouble: 1 };
const REFUSALS_TTL_MS = 10 * 60_000;
const WITHOUT_LOGIN_TTL_MS = 60 * 60_000;

interface PlaybackParts {
  readonly host: Host;
  readonly innertube: Innertube;
  readonly clients: readonly ChosenClient[];
  readonly unlocker: Unlocker;
  readonly originTokens: OriginTokens;
  readonly login: Login;
}

/** The client that gave the last link of a video, and how many of its links in a row were refused. */
interface Played {
  readonly name: string;
  readonly refusedCount: number;
}

/** Data of a request that one client needs. */
interface Asking {
  readonly identity: ClientIdentity;
  readonly videoId: string;
  readonly request: ResolveRequest;
}

export class Playback {
  readonly #parts: PlaybackParts;
  readonly #played: Cache<Played>;
  /** By video, for all its players: the clients whose links were refused too often. */
  readonly #givenUp: Cache<readonly string[]>;
  /** Clients that YouTube answers only without the operator's login. */
  readonly #withoutLogin: Cache<true>;
  /** By client: the videos whose links were refused. One odd video says nothing about its client. */
  readonly #refusals: Cache<readonly string[]>;

  constructor(parts: PlaybackParts) {
    this.#parts = parts;
    this.#played = parts.host.cache("played", { ttlMs: PLAYED_TTL_MS, entriesMax: PLAYED_MAX });
    this.#givenUp = parts.host.cache("given up", { ttlMs: REFUSALS_TTL_MS, entriesMax: PLAYED_MAX });
    this.#withoutLogin = parts.host.cache("login refused", { ttlMs: WITHOUT_LOGIN_TTL_MS, entriesMax: 64 });
    this.#refusals = parts.host.cache("refusals", { ttlMs: REFUSALS_TTL_MS, entriesMax: 64 });
  }

  /** Rejects with a SourceError that says what each client said. */
  async resolve(request: ResolveRequest): Promise<Playable> {
    const { host, unlocker } = this.#parts;
    const videoId = request.track.identifier;
    if (!isVideoId(videoId))
      throw new SourceError("invalid", "the track's identifier is not the id of a YouTube video");
    const played = this.#note(videoId, request);
    return askInOrder(
      this.#inOrder(videoId, played),
      {
        switch: "playback",
        endpoint: "player",
        isFor: ({ abilities }) => abilities.playback,
        // Kept for this request: the question itself waits for nothing.
        prepare: async ({ needsPlayerScript }) => {
          if (needsPlayerScript) await unlocker.signatureTimestamp(request.signal);
        },
        ask: async (identity) => {
          const playable = await this.#ask({ identity, videoId, request });
          const { name } = identity;
          this.#played.set(videoId, { name, refusedCount: name === played?.name ? played.refusedCount : 0 });
          return playable;
        },
      },
      { host, signal: request.signal },
    );
  }

  /** Counts a refusal, unless it is of our address. Undefined: the video is started. */
  #note(videoId: string, { reason, status }: ResolveRequest): Played | undefined {
    const last = reason === "start" ? undefined : this.#played.get(videoId);
    if (last === undefined) return undefined;
    if (reason !== "refused" || status === 429) return { ...last, refusedCount: 0 };
    const refusedCount = last.refusedCount + 1;
    const kind = this.#kindOf(last.name);
    if (refusedCount >= REFUSED_MAX[kind]) {
      this.#givenUp.set(videoId, [...new Set(this.#givenUp.get(videoId)).add(last.name)]);
    }
    const played = { ...last, refusedCount };
    this.#played.set(videoId, played);
    const refused = new Set(this.#refusals.get(last.name)).add(videoId);
    this.#refusals.set(last.name, [...refused].slice(-REFUSALS_MAX[kind]));
    this.#parts.host.count(`refused-${last.name}`);
    return played;
  }

  #kindOf(name: string): keyof typeof REFUSALS_MAX {
    const client = this.#parts.clients.find(({ identity }) => identity.name === name);
    return client?.identity.trouble === undefined ? "reliedOn" : "inTrouble";
  }

  /**
   * The configured order, but those that would have to wait for the player script last, before those that are given up
   * or dead. A playing video stays with its client until that is given up; then those in trouble are tried later: there
   * are few renewals.
   */
  #inOrder(videoId: string, played: Played | undefined): ChosenClient[] {
    const { unlocker } = this.#parts;
    const clients = inOrderFor(this.#parts.clients, "playback");
    const { isReady } = unlocker;
    // Perhaps nothing else asks for it: the other clients may play.
    if (!isReady && clients.some(playsWithScript)) void unlocker.prepare();
    const givenUp = new Set(this.#givenUp.get(videoId));
    const rankOf = ({ identity: { name, needsPlayerScript, trouble } }: ChosenClient): number => {
      if (name === played?.name && !givenUp.has(name)) return -1;
      if (trouble?.kind === "dead") return 5;
      if (givenUp.has(name)) return 4;
      if (needsPlayerScript && !isReady) return 3;
      if ((this.#refusals.get(name)?.length ?? 0) >= REFUSALS_MAX[this.#kindOf(name)]) return 2;
      return trouble !== undefined && givenUp.size > 0 ? 1 : 0;
    };
    return clients.toSorted((a, b) => rankOf(a) - rankOf(b));
  }

  async #ask(asking: Asking): Promise<Playable> {
    const { identity, videoId, request } = asking;
    const { signal, variant: requested } = request;
    const poToken = identity.takesTokens ? await this.#parts.originTokens.tokenFor(videoId, signal) : undefined;
    const answer = await this.#player(asking, poToken);
    checkPlayability(answer);
    checkVideoId(answer, videoId);
    if (isLive(answer)) return this.#live(hlsManifestOf(answer), asking, poToken);
    const { link, ...chosen } = chooseFormat(answer, { opensLocks: identity.needsPlayerScript, variant: requested });
    const opened = identity.needsPlayerScript ? await this.#parts.unlocker.open(link, signal) : link.url;
    const url = this.#checked(opened);
    if (poToken !== undefined) url.searchParams.set("pot", poToken);
    const bytes = this.#parts.host.options.rangeBytes;
    return {
      kind: "link",
      url: url.href,
      headers: { "user-agent": identity.userAgent },
      variant: chosen.variant,
      expiresAtMs: expiryOf(url),
      // Without a length the last step is unknown.
      rangeStep: chosen.sizeBytes === undefined ? undefined : { bytes, by: "query" },
    };
  }

  /**
   * The operator's login is renewed once when it is refused. A client that needs none is then asked without, for an
   * hour from the start.
   */
  async #player({ identity, videoId, request }: Asking, poToken: string | undefined): Promise<unknown> {
    const { host, innertube, unlocker, login } = this.#parts;
    const { signal } = request;
    const { name, takesLogin, needsLogin, needsPlayerScript } = identity;
    const signatureTimestamp = needsPlayerScript ? await unlocker.signatureTimestamp(signal) : undefined;
    const question = { videoId, signal, signatureTimestamp, poToken };
    const isOwn = string(request.userData, "oauth-token") !== undefined;
    const isLeftOut = !isOwn && this.#withoutLogin.get(name) === true;
    if (!takesLogin || isLeftOut) return innertube.player(identity, question);
    for (let triesLeft = isOwn ? 1 : 2; ; triesLeft--) {
      const accessToken = await this.#accessToken(identity, request);
      try {
        return await innertube.player(identity, { ...question, accessToken });
      } catch (error) {
        if (!(error instanceof LoginRefusedError)) throw error;
        if (triesLeft > 1) {
          login.forget();
          continue;
        }
        if (needsLogin) throw error;
      }
      if (!isOwn) {
        this.#withoutLogin.set(name, true);
        host.log.warn("YouTube refused the login: this client is asked without it for an hour", { client: name });
      }
      return innertube.player(identity, question);
    }
  }

  async #live(
    manifest: string | undefined,
    { identity, request }: Asking,
    poToken: string | undefined,
  ): Promise<Playable> {
    if (manifest === undefined) throw new SourceError("unavailable", "This client offers no HLS for the live stream.");
    const url = this.#checked(manifest);
    const challenge = /\/n\/([^/]+)/.exec(url.pathname)?.[1];
    if (identity.needsPlayerScript && challenge !== undefined) {
      url.pathname = url.pathname.replace(
        `/n/${challenge}`,
        `/n/${await this.#solved(challenge, url, request.signal)}`,
      );
    }
    if (poToken !== undefined)
      url.pathname = url.pathname.replace(/(\/(?:file|playlist)\/index\.m3u8)$/, `/pot/${poToken}$1`);
    return {
      kind: "link",
      url: url.href,
      headers: { "user-agent": identity.userAgent },
      expiresAtMs: expiryOf(url),
    };
  }

  /** Solves the challenge in a path as if it were in a query. */
  async #solved(challenge: string, { origin }: URL, signal: AbortSignal): Promise<string> {
    const opened = await this.#parts.unlocker.open(
      { kind: "open", url: `${origin}/?n=${encodeURIComponent(challenge)}` },
      signal,
    );
    const solved = webAddressIn(opened)?.searchParams.get("n") ?? "";
    if (!CHALLENGE.test(solved)) throw new SourceError("changed", "the n of a live stream could not be solved");
    return solved;
  }

  /** A track's own login goes before the operator's. Undefined: there is none, and the client plays without. */
  async #accessToken(
    { needsLogin }: ClientIdentity,
    { userData, signal }: ResolveRequest,
  ): Promise<string | undefined> {
    const own = string(userData, "oauth-token");
    const token = own ?? (await this.#operatorsToken(needsLogin, signal));
    if (token === undefined) {
      if (!needsLogin) return undefined;
      throw new SourceError("unavailable", "this client plays only with a login (oauth)");
    }
    if (!/^[\w.~+/=-]{1,4000}$/.test(token))
      throw new SourceError("invalid", "the oauth-token of the track is invalid");
    return token;
  }

  /** A login that does not work is the error of clients that need it only. */
  async #operatorsToken(needsLogin: boolean, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await asUnavailable(this.#parts.login.accessToken(signal), signal);
    } catch (error) {
      if (needsLogin || !(error instanceof SourceError)) throw error;
      return undefined;
    }
  }

  #checked(text: string): URL {
    const url = webAddressIn(text);
    if (url !== undefined && isBelow(url, this.#parts.host.options.mediaHosts)) return url;
    throw new SourceError("changed", "YouTube gave a media link to a host that is not one of YouTube's");
  }
}
