// A fake SponsorBlock: segments of videos by the start of the hash of their ids, in the shape of the fact sheet of the
// sources, section 6. Every answer has another video with the same start, as real ones do. Runs in the process that
// starts it.

import { createHash } from "node:crypto";
import { type SiteAnswer, type SiteFault, type SiteRequest, SiteServer } from "./site-server.ts";

/** An entry of a video as the site has it. */
type SponsorEntry = Readonly<Record<string, unknown>>;

const HOST = "sponsor.ajay.app";
const PATH = /^\/api\/skipSegments\/([0-9a-f]{4})$/;
const OTHER_VIDEO = "othervideo0";

export class SponsorBlockSite {
  readonly #site: SiteServer;
  readonly #entries = new Map<string, readonly SponsorEntry[]>();

  static async start(): Promise<SponsorBlockSite> {
    // The script runs with the first request, long after this has returned.
    const stand: { current?: SponsorBlockSite } = {};
    stand.current = new SponsorBlockSite(await SiteServer.start((request) => stand.current?.answer(request)));
    return stand.current;
  }

  private constructor(site: SiteServer) {
    this.#site = site;
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.#site.hosts(HOST);
  }

  /** For the option `server`. */
  get url(): string {
    return `${this.#site.url}/${HOST}`;
  }

  get requests(): readonly SiteRequest[] {
    return this.#site.requestsTo(HOST);
  }

  /** Sets the entries of a video. */
  setVideo(videoId: string, entries: readonly SponsorEntry[]): void {
    this.#entries.set(videoId, entries);
  }

  /** From now on every request fails; returns a function that undoes it. */
  fail(outcome: SiteFault["outcome"]): () => void {
    return this.#site.fail({ at: /skipSegments/, outcome });
  }

  answer({ path, query }: SiteRequest): SiteAnswer | undefined {
    const [, prefix] = PATH.exec(path) ?? [];
    if (prefix === undefined) return undefined;
    const categories = namesIn(query.get("categories"), ["sponsor"]);
    const actionTypes = namesIn(query.get("actionTypes"), ["skip"]);
    if (categories === undefined || actionTypes === undefined) return { status: 400, text: "Bad parameters" };
    const videos = [...this.#entries].filter(([videoId]) => hashOf(videoId).startsWith(prefix));
    if (videos.length === 0) return { status: 404, text: "Not Found" };
    const isAsked = ({ category, actionType = "skip" }: SponsorEntry): boolean =>
      categories.includes(String(category)) && actionTypes.includes(String(actionType));
    return {
      json: [
        { videoID: OTHER_VIDEO, hash: hashOf(videos[0]?.[0] ?? ""), segments: [sponsorEntry({ segment: [0, 9] })] },
        ...videos.map(([videoID, entries]) => ({ videoID, hash: hashOf(videoID), segments: entries.filter(isAsked) })),
      ],
    };
  }

  close(): Promise<void> {
    return this.#site.close();
  }
}

/** A well-formed entry; seconds. */
export function sponsorEntry(members: SponsorEntry = {}): SponsorEntry {
  return {
    category: "sponsor",
    actionType: "skip",
    segment: [12.5, 31],
    UUID: "1f2e3d",
    videoDuration: 200,
    locked: 0,
    votes: 3,
    description: "",
    ...members,
  };
}

/** A chapter that users have marked. */
export function chapterEntry(description: string, segment: readonly [number, number]): SponsorEntry {
  return sponsorEntry({ category: "chapter", actionType: "chapter", description, segment });
}

/** Undefined for what the site refuses. */
function namesIn(text: string | null, byDefault: readonly string[]): readonly string[] | undefined {
  if (text === null) return byDefault;
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.map(String) : undefined;
  } catch {
    return undefined; // no JSON
  }
}

function hashOf(videoId: string): string {
  return createHash("sha256").update(videoId).digest("hex");
}
