// Asks YouTube's own interface, the one that its pages and apps ask, as one of its clients. Knows how a question is put
// and not what the answers mean. Plugin thread.

import { type Cache, type HttpAnswer, type JsonMembers, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import { CLIENTS, type ClientIdentity } from "./clients.ts";
import { string } from "./read-json.ts";
import { isPassing, visitorOf } from "./read-player.ts";

const VISITOR_TTL_MS = 60 * 60_000;
/** Pause before another request after none was available. */
const NO_VISITOR_TTL_MS = 60_000;
/** One visitor id used from a thousand addresses looks suspicious: each address has a separate one. */
const VISITORS_MAX = 100;
const PAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Parameters of a player request. */
interface PlayerQuestion {
  readonly videoId: string;
  readonly signal: AbortSignal;
  /** Timestamp of the player script whose signatures the links should use. */
  readonly signatureTimestamp?: number | undefined;
  readonly poToken?: string | undefined;
  /** A login. */
  readonly accessToken?: string | undefined;
}

export type Endpoint = "player" | "search" | "browse" | "next";

interface Question {
  readonly endpoint: Endpoint;
  readonly body: JsonMembers;
  readonly signal: AbortSignal;
  /** Visitor data of an earlier answer that this request continues. */
  readonly visitorData?: string | undefined;
  readonly accessToken?: string | undefined;
}

/** The access token that was sent is not, or no longer, good. */
export class LoginRefusedError extends SourceError {}

export class Innertube {
  readonly #host: Host;
  /** Keyed by the local address of the requests. Empty: none was available. */
  readonly #visitors: Cache<string>;

  constructor(host: Host) {
    this.#host = host;
    this.#visitors = host.cache("visitor", { ttlMs: VISITOR_TTL_MS, entriesMax: VISITORS_MAX, persist: true });
  }

  /** Returns the answer unchanged. Rejects with a SourceError. */
  async ask(identity: ClientIdentity, question: Question): Promise<unknown> {
    const { endpoint, body, signal, accessToken } = question;
    const visitorData = question.visitorData ?? (await this.#visitorFor(identity, signal));
    const answer = await this.#host.http.request(`https://${identity.host}/youtubei/v1/${endpoint}`, {
      signal,
      query: { prettyPrint: false, alt: "json" },
      headers: { ...headersOf(identity, visitorData), authorization: bearer(accessToken) },
      body: { ...body, context: this.#contextOf(identity, visitorData) },
    });
    return this.#read(answer, question);
  }

  /** Metadata of a video and its audio links. */
  async player(identity: ClientIdentity, question: PlayerQuestion): Promise<unknown> {
    const { videoId, signal, accessToken } = question;
    const flags = identity.isEmbedded ? await this.#embedFlags(identity, videoId, signal) : undefined;
    const ask = () =>
      this.ask(identity, { endpoint: "player", body: playerBody(identity, question, flags), signal, accessToken });
    const answer = await ask();
    if (!isPassing(answer)) return answer;
    this.#visitors.delete(await this.#addressKey(signal));
    return ask();
  }

  #contextOf(identity: ClientIdentity, visitorData: string | undefined): JsonMembers {
    const { clientName, clientVersion, context, isEmbedded, embedUrl } = identity;
    const { language, region } = this.#host.options;
    return {
      client: {
        clientName,
        clientVersion,
        hl: language,
        gl: region,
        ...context,
        ...(visitorData !== undefined && { visitorData }),
      },
      user: { lockedSafetyMode: false },
      request: { useSsl: true },
      ...(isEmbedded && { thirdParty: { embedUrl } }),
    };
  }

  #read(answer: HttpAnswer, { endpoint, accessToken }: Question): unknown {
    const what = endpoint === "player" ? "player api" : endpoint === "search" ? "search" : "playlist";
    if (answer.status < 200 || answer.status > 299) {
      const { kind, retryAfterMs } = this.#host.http.statusError(answer);
      const message = `Invalid status code for ${what} response: ${answer.status}`;
      if (answer.status === 401 && accessToken !== undefined) throw new LoginRefusedError("unavailable", message);
      // A list that does not exist; where the endpoint itself is gone, YouTube does not answer in its own form. Videos
      // and searches that lead nowhere are answered with 200.
      const isOfList = endpoint === "browse" || endpoint === "next";
      if (isOfList && answer.status === 404 && string(parsed(answer.text), "error", "status") === "NOT_FOUND") {
        throw new SourceError("unavailable", message);
      }
      // This refusal concerns the client, not the video.
      throw new SourceError(kind === "busy" ? "busy" : "changed", message, { retryAfterMs });
    }
    try {
      return JSON.parse(answer.text);
    } catch {
      throw new SourceError("changed", `the ${what} response of YouTube is not JSON`);
    }
  }

  // The identity of the client

  async #visitorFor({ takesTokens }: ClientIdentity, signal: AbortSignal): Promise<string | undefined> {
    const { token, visitorData } = this.#host.options.pot;
    if (takesTokens && token !== "" && visitorData !== "") return visitorData;
    const key = await this.#addressKey(signal);
    const found = await this.#visitors.getOrMake(key, { signal, make: (shared) => this.#newVisitor(shared) });
    return found === "" ? undefined : found;
  }

  async #addressKey(signal: AbortSignal): Promise<string> {
    return (await this.#host.http.address({ signal })) ?? "";
  }

  /** Everything works without one, only worse. */
  async #newVisitor(signal: AbortSignal): Promise<{ readonly value: string; readonly ttlMs: number }> {
    const web = CLIENTS.find(({ name }) => name === "WEB")!; // it is in the list
    try {
      const answer = await this.#host.http.json("https://www.youtube.com/youtubei/v1/visitor_id", {
        signal,
        headers: headersOf(web, undefined),
        body: { context: this.#contextOf(web, undefined) },
      });
      const value = visitorOf(answer) ?? "";
      return { value, ttlMs: value === "" ? NO_VISITOR_TTL_MS : VISITOR_TTL_MS };
    } catch {
      signal.throwIfAborted();
      this.#host.count("no-visitor");
      return { value: "", ttlMs: NO_VISITOR_TTL_MS };
    }
  }

  /** Flags sent by a player embedded in a page; undefined if the page does not contain them. */
  async #embedFlags(
    { userAgent, embedUrl }: ClientIdentity,
    videoId: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const url = `https://www.youtube.com/embed/${videoId}`;
      // Without another site's address and a browser the page has no flags ("Error 153").
      const headers = { "user-agent": userAgent, referer: embedUrl };
      const page = await this.#host.http.text(url, { signal, headers, sizeBytesMax: PAGE_BYTES_MAX });
      return /"encryptedHostFlags":"([\w%+/=.-]{1,2000})"/.exec(page)?.[1];
    } catch {
      signal.throwIfAborted();
      // The request itself shows whether it was needed.
      return undefined;
    }
  }
}

function playerBody(identity: ClientIdentity, question: PlayerQuestion, flags: string | undefined): JsonMembers {
  const { videoId, signatureTimestamp, poToken } = question;
  const { playerParams, clientName } = identity;
  return {
    videoId,
    contentCheckOk: true,
    racyCheckOk: true,
    ...(playerParams !== undefined && { params: playerParams }),
    playbackContext: {
      contentPlaybackContext: {
        html5Preference: "HTML5_PREF_WANTS",
        ...(signatureTimestamp !== undefined && { signatureTimestamp }),
        ...(flags !== undefined && { encryptedHostFlags: flags }),
      },
    },
    ...(poToken !== undefined && { serviceIntegrityDimensions: { poToken } }),
    ...(clientName === "TVHTML5_SIMPLY" && { attestationRequest: { omitBotguardData: true } }),
  };
}

function headersOf(identity: ClientIdentity, visitorData: string | undefined): Record<string, string | undefined> {
  const { userAgent, clientNumber, clientVersion, host } = identity;
  return {
    "user-agent": userAgent,
    "x-youtube-client-name": String(clientNumber),
    "x-youtube-client-version": clientVersion,
    "x-goog-visitor-id": visitorData,
    origin: `https://${host === "music.youtube.com" ? host : "www.youtube.com"}`,
    referer: host === "music.youtube.com" ? `https://${host}/` : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bearer(accessToken: string | undefined): string | undefined {
  return accessToken === undefined ? undefined : `Bearer ${accessToken}`;
}
