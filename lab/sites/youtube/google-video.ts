// The fake media server: links with an expiry, an address that they are for, an n and a signature, which are checked as
// googlevideo checks them; wrong ones are answered with 403. Ranges are requested in the query. Runs in the fake
// server's process.

import type { SiteAnswer, SiteRequest } from "../site-server.ts";
import type { PlayerScript } from "./player-scripts.ts";

export const MEDIA_HOST = "googlevideo.stand-in";
const LIFE_SECONDS = 6 * 3600;

export interface OfferedMedia {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

interface Ticket {
  readonly media: OfferedMedia;
  readonly clientName: string;
  /** The address that the link was made for. */
  readonly ip: string;
  /** The n that the link must have when it is used. */
  readonly n: string;
  readonly signature: string;
}

interface MediaLinkRequest {
  readonly clientName: string;
  /** For whom it is good. */
  readonly ip: string;
  readonly itag: number;
  readonly script: PlayerScript | undefined;
  readonly isLengthSaid: boolean;
}

/** A link as the client is given it. */
interface IssuedLink {
  readonly url: string;
  /** Only for clients that have to unlock it. */
  readonly lockedSignature: string | undefined;
}

export class GoogleVideo {
  /** Clients whose links are all refused. */
  readonly refusedClients = new Set<string>();
  /** With which every link must come; undefined: none is asked for. */
  expectedToken: string | undefined;
  readonly #baseUrl: string;
  readonly #tickets: Ticket[] = [];
  #expiredCount = 0;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** `script`: the link is locked so that this one opens it. `isLengthSaid`: the link includes the file's size. */
  issue(media: OfferedMedia, { clientName, ip, itag, script, isLengthSaid }: MediaLinkRequest): IssuedLink {
    const id = this.#tickets.length;
    const n = `n${String(id).padStart(4, "0")}-AbCdEf_9`;
    const signature = `AJfQdSswRQIgSIGNATURE${String(id).padStart(6, "0")}==`;
    this.#tickets.push({ media, clientName, ip, signature, n: script?.solveN(n) ?? n });
    const url = new URL(`${this.#baseUrl}/${MEDIA_HOST}/videoplayback`);
    const expire = String(Math.floor(Date.now() / 1000) + LIFE_SECONDS);
    const query = { expire, ip, id: String(id), itag: String(itag), c: clientName, n };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (isLengthSaid) url.searchParams.set("clen", String(media.bytes.length));
    if (script === undefined) url.searchParams.set("sig", signature);
    return { url: url.href, lockedSignature: script?.lock(signature) };
  }

  /** A live stream's playlist as clients get it that have to solve its n. */
  issueManifest(playlist: OfferedMedia, ip: string, script: PlayerScript): string {
    const id = this.#tickets.length;
    const n = `m${String(id).padStart(4, "0")}-AbCdEf_9`;
    this.#tickets.push({ media: playlist, clientName: "", ip, signature: "", n: script.solveN(n) });
    const expire = Math.floor(Date.now() / 1000) + LIFE_SECONDS;
    const name = `expire/${expire}/ip/${ip}/id/${id}/n/${n}/file/index.m3u8`;
    return `${this.#baseUrl}/${MEDIA_HOST}/api/manifest/hls_variant/${name}`;
  }

  /** All links so far are refused from now on. */
  expire(): void {
    this.#expiredCount = this.#tickets.length;
  }

  answer({ path, query, from }: SiteRequest): SiteAnswer | undefined {
    if (path.startsWith("/api/manifest/")) return this.#manifest(path, from);
    if (path !== "/videoplayback") return undefined;
    const id = Number(query.get("id"));
    const ticket = this.#tickets[id];
    if (ticket === undefined) return { status: 404 };
    const isRight = query.get("n") === ticket.n && query.get("sig") === ticket.signature;
    const hasToken = this.expectedToken === undefined || query.get("pot") === this.expectedToken;
    const isOver = id < this.#expiredCount || Number(query.get("expire")) * 1000 < Date.now();
    const isElsewhere = from !== ticket.ip;
    if (!isRight || isElsewhere || !hasToken || isOver || this.refusedClients.has(ticket.clientName))
      return { status: 403 };
    return part(ticket.media, query.get("range"));
  }

  #manifest(path: string, from: string): SiteAnswer {
    const [, id = "", n, token] = /\/id\/(\d+)\/n\/([^/]+)(?:\/pot\/([^/]+))?\/file\/index\.m3u8$/.exec(path) ?? [];
    const ticket = this.#tickets[Number(id)];
    const isRight =
      ticket?.ip === from && n === ticket.n && Number(id) >= this.#expiredCount && token === this.expectedToken;
    return isRight ? part(ticket.media, null) : { status: 403 };
  }
}

function part({ bytes, mimeType }: OfferedMedia, range: string | null): SiteAnswer {
  const headers = { "content-type": mimeType };
  if (range === null) return { headers, bytes };
  const [, from, to] = /^(\d+)-(\d+)$/.exec(range) ?? [];
  if (from === undefined || to === undefined || Number(from) >= bytes.length) return { status: 416 };
  return { headers, bytes: bytes.subarray(Number(from), Number(to) + 1) };
}
