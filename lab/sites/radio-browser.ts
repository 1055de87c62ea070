// A fake radio-browser.info: three servers with the same made-up stations, one of them the song of the lab. The shapes
// of its answers are those of the sheet of sources, section 4.15 (npm radio-browser-api 6.0.3 and the directory's own
// documents). Runs in the process that starts it.

import { countedSong } from "../media-files/counted-song.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

/** As the directory describes one. */
type StationEntry = Readonly<Record<string, unknown>>;

const LIST_HOST = "all.api.radio-browser.info";
const SONG_SECONDS = 30;

export class RadioBrowserSite {
  readonly server: SiteServer;
  /** In the order of the directory; tests add to it. */
  readonly stations: StationEntry[] = [];

  /** `names`: the first parts of its servers' names. */
  static async start(names: readonly string[] = ["de1", "fi1", "nl1"]): Promise<RadioBrowserSite> {
    const servers = names.map((name) => `${name}.api.radio-browser.info`);
    // The script runs with the first request, long after this has returned.
    const site: { current?: RadioBrowserSite } = {};
    const server = await SiteServer.start((request) => site.current?.answer(request));
    site.current = new RadioBrowserSite(server, servers);
    return site.current;
  }

  readonly serverNames: readonly string[];

  private constructor(server: SiteServer, serverNames: readonly string[]) {
    this.server = server;
    this.serverNames = serverNames;
    server.addMedia("radio.ogg", { bytes: countedSong({ seconds: SONG_SECONDS }), mimeType: "audio/ogg" });
    this.stations.push(
      stationEntry(1, {
        name: "Harbour Jazz",
        url_resolved: server.link("radio.ogg"),
        tags: "jazz,soul",
        clickcount: 50,
      }),
      stationEntry(2, { name: "Night Line", url_resolved: server.link("radio.ogg"), tags: "talk", clickcount: 40 }),
    );
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(LIST_HOST, ...this.serverNames);
  }

  /** The clicks that its servers have counted, as uuids. */
  get clicks(): string[] {
    return this.server.requests
      .filter(({ path }) => path.startsWith("/json/url/"))
      .map(({ path }) => path.slice("/json/url/".length));
  }

  answer({ host, path, query }: SiteRequest): SiteAnswer | undefined {
    if (path === "/json/servers") {
      // Each has an entry for either version of IP.
      return {
        json: this.serverNames.flatMap((name) => [
          { ip: "192.0.2.1", name },
          { ip: "2001:db8::1", name },
        ]),
      };
    }
    if (host !== LIST_HOST && !this.serverNames.includes(host)) return undefined;
    if (path === "/json/stations/search") return { json: this.#search(query) };
    const [, action, uuid] = /^\/json\/(stations\/byuuid|url)\/([0-9a-f-]+)$/.exec(path) ?? [];
    const found = this.stations.filter(({ stationuuid }) => stationuuid === uuid);
    if (action === "stations/byuuid") return { json: found };
    if (action === "url") return { json: { ok: String(found.length > 0), stationuuid: uuid, url: found[0]?.url } };
    return undefined;
  }

  #search(query: URLSearchParams): StationEntry[] {
    const holds = (member: string, name: string): ((station: StationEntry) => boolean) => {
      const text = query.get(name)?.toLowerCase();
      return (station) => text === undefined || String(station[member]).toLowerCase().includes(text);
    };
    return this.stations
      .filter(holds("name", "name"))
      .filter(holds("tags", "tag"))
      .filter(holds("countrycode", "countrycode"))
      .filter(holds("language", "language"))
      .slice(0, Number(query.get("limit") ?? 100_000));
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** A well-formed station with the number in its uuid. */
export function stationEntry(number: number, members: StationEntry = {}): StationEntry {
  return {
    stationuuid: stationUuid(number),
    name: `Station ${number}`,
    url: "http://radio.example/listen.pls",
    url_resolved: "http://radio.example/stream",
    homepage: "https://radio.example/",
    favicon: "https://radio.example/icon.png",
    country: "Germany",
    countrycode: "DE",
    language: "german",
    tags: "",
    codec: "MP3",
    bitrate: 128,
    hls: 0,
    lastcheckok: 1,
    votes: 9,
    clickcount: 0,
    ...members,
  };
}

export function stationUuid(number: number): string {
  return `9617a958-0601-11e8-ae97-${number.toString(16).padStart(12, "0")}`;
}
