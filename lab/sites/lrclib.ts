// A fake LRCLIB: exact requests and searches over made-up entries, whose shape is that of the fact sheet of the
// sources, section 6. Titles compare without case, as the site's do; a
// search also finds a part of them. Runs in the process that starts it.

import { type SiteAnswer, type SiteFault, type SiteRequest, SiteServer } from "./site-server.ts";

/** An entry as the site has it. */
type LrclibEntry = Readonly<Record<string, unknown>>;

const HOST = "lrclib.net";
const EXACT_SECONDS = 2;
const SYNCED = "[00:01.20] First line of the made-up song\n[00:04.00] \n[00:06.50] Third line";

export class LrclibSite {
  readonly entries: LrclibEntry[] = [
    lrclibEntry(1, { trackName: "First Light", artistName: "Mira Vale", albumName: "Harbour", duration: 201 }),
    lrclibEntry(2, { trackName: "Low Tide", artistName: "Mira Vale", duration: 120, instrumental: true }),
  ];
  readonly #site: SiteServer;

  static async start(): Promise<LrclibSite> {
    // The script runs with the first request, long after this has returned.
    const stand: { current?: LrclibSite } = {};
    stand.current = new LrclibSite(await SiteServer.start((request) => stand.current?.answer(request)));
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

  /** Requests for `get` or `search`, or all. */
  requests(name?: "get" | "search"): readonly SiteRequest[] {
    return this.#site.requestsTo(HOST, name && `/api/${name}`);
  }

  /** From now on `get`, `search`, or `.*` fails; returns a function that undoes it. */
  fail(name: string, outcome: SiteFault["outcome"]): () => void {
    return this.#site.fail({ at: new RegExp(`/api/${name}$`), outcome });
  }

  answer({ path, query }: SiteRequest): SiteAnswer | undefined {
    const isSearch = path === "/api/search";
    const matches = (member: string, name: string) => (entry: LrclibEntry) => {
      const [text, asked] = [String(entry[member]).toLowerCase(), query.get(name)?.toLowerCase() ?? ""];
      return asked === "" || (isSearch ? text.includes(asked) : text === asked);
    };
    const found = this.entries.filter(matches("trackName", "track_name")).filter(matches("artistName", "artist_name"));
    if (isSearch) return { json: found };
    if (path !== "/api/get") return undefined;
    const seconds = Number(query.get("duration") ?? Number.NaN);
    const exact = found.find(({ duration }) => !(Math.abs(Number(duration) - seconds) > EXACT_SECONDS));
    if (exact !== undefined) return { json: exact };
    return { status: 404, json: { code: 404, name: "TrackNotFound", message: "Failed to find specified track" } };
  }

  close(): Promise<void> {
    return this.#site.close();
  }
}

/** A well-formed entry with this number as its id. */
export function lrclibEntry(id: number, members: LrclibEntry = {}): LrclibEntry {
  const isInstrumental = members.instrumental === true;
  return {
    id,
    name: members.trackName ?? `Song ${id}`,
    trackName: `Song ${id}`,
    artistName: "Mira Vale",
    albumName: "Harbour",
    duration: 180,
    instrumental: false,
    plainLyrics: isInstrumental ? null : "First line of the made-up song\n\nThird line",
    syncedLyrics: isInstrumental ? null : SYNCED,
    ...members,
  };
}
