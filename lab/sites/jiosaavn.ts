// A fake JioSaavn: its API with made-up songs, and the audio behind links that it signs. Shapes: fact sheet of the
// sources, section 4.12, and yt-dlp's and LavaSrc's readers (2026): version 4 with `more_info` for all calls, texts with
// entities, numbers as texts, nothing found as an empty list or a failure in HTTP 200. The audio is MP3 where the site
// has MP4: the player detects the format by bytes. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const HOST = "www.jiosaavn.com";
const FILE = "song_320.mp4";
const FRAMES = 400;
const PAGE_SONGS_MAX = 250;

type SongJson = Readonly<Record<string, unknown>>;

export class JioSaavnSite {
  readonly server: SiteServer;
  /** By id. */
  readonly songs = new Map<string, SongJson>();
  /** Ids of the songs of each page, by kind and token: `album Tok3n_`. */
  readonly pages = new Map<string, readonly string[]>();
  /** Whether radio stations have songs. */
  hasStations = true;

  static async start(): Promise<JioSaavnSite> {
    const box: { self?: JioSaavnSite } = {};
    const server = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new JioSaavnSite(server);
    return box.self;
  }

  private constructor(server: SiteServer) {
    this.server = server;
    for (const name of [FILE, "preview.mp4"]) {
      server.addMedia(name, { bytes: repeat(mp3Frame(), FRAMES), mimeType: "audio/mp4" });
    }
    this.addSong("son-g_1", { title: "Harbour &quot;Lights&quot; &amp; Tide" });
    this.addSong("song2", { title: "Undertow" });
    this.pages.set("song S0ngT0ken", ["son-g_1"]);
    this.pages.set("album Alb,um_", ["son-g_1", "song2"]);
    this.pages.set("artist Art1st_", ["song2", "son-g_1"]);
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(HOST);
  }

  addSong(id: string, members: SongJson, more: SongJson = {}): void {
    const artist = {
      id: "7",
      name: "Ada &amp; Co",
      role: "singer",
      perma_url: `https://${HOST}/artist/ada-songs/Art1st_`,
    };
    this.songs.set(id, {
      id,
      type: "song",
      subtitle: "Ada",
      perma_url: `https://${HOST}/song/name/${id}`,
      image: "https://c.saavncdn.com/1/Cover-150x150.jpg",
      language: "hindi",
      more_info: {
        album: "Low Tide &#039;26",
        album_url: `https://${HOST}/album/low-tide/Alb,um_`,
        "320kbps": "true",
        encrypted_media_url: `enc+${id}/=`,
        duration: "201",
        vlink: this.server.link("preview.mp4"),
        artistMap: { primary_artists: [{ ...artist, image: "https://c.saavncdn.com/a_50x50.jpg" }], artists: [artist] },
        ...more,
      },
      ...members,
    });
  }

  /** A playlist of so many songs; returns their titles. */
  addPlaylist(token: string, count: number): readonly string[] {
    const ids = Array.from({ length: count }, (_, index) => `listed${index}`);
    for (const id of ids) this.addSong(id, { title: `Song ${id}` });
    this.pages.set(`playlist ${token}`, ids);
    return ids.map((id) => `Song ${id}`);
  }

  answer({ host, path, method, query, body }: SiteRequest): SiteAnswer | undefined {
    if (host !== HOST || path !== "/api.php") return undefined;
    if (method === "POST") return this.#sign(new URLSearchParams(body));
    switch (query.get("__call")) {
      case "search.getResults":
        return this.#search(query);
      case "webapi.get":
        return this.#page(query);
      case "song.getDetails":
        return this.#listed("songs", [query.get("pids") ?? ""]);
      case "webradio.createEntityStation":
        return {
          json: this.songs.has(String(JSON.parse(query.get("entity_id") ?? "[]")[0])) ? { stationid: "st/1" } : [],
        };
      case "webradio.getSong":
        return this.#station(query.get("stationid"));
      case "search.artistOtherTopSongs":
        return { json: query.get("artist_ids") === "7" ? [...this.songs.values()].slice(0, 2) : [] };
      default:
        return { json: { status: "failure", error: { code: "INPUT_INVALID", msg: "Invalid call" } } };
    }
  }

  #sign(form: URLSearchParams): SiteAnswer {
    const isKnown = [...this.songs.values()].some((song) => JSON.stringify(song).includes(`"${form.get("url")}"`));
    if (form.get("__call") !== "song.generateAuthToken" || !isKnown)
      return { json: { status: "failure", error: { msg: "no" } } };
    const link = this.server.link(FILE, { Expires: "4000000000", bitrate: form.get("bitrate") ?? "" });
    return { json: { auth_url: link, type: "mp4", status: "success" } };
  }

  #search(query: URLSearchParams): SiteAnswer {
    const words = (query.get("q") ?? "").toLowerCase();
    const results = [...this.songs.values()].filter(({ title }) => String(title).toLowerCase().includes(words));
    return { json: { total: results.length, start: 1, results: results.slice(0, Number(query.get("n") ?? 10)) } };
  }

  #page(query: URLSearchParams): SiteAnswer {
    const [kind = "", token = ""] = [query.get("type") ?? "", query.get("token") ?? ""];
    const ids = this.pages.get(`${kind} ${token}`);
    if (ids === undefined) return { json: [] };
    if (kind === "song") return this.#listed("songs", ids);
    const image = "https://c.saavncdn.com/2/Page-150x150.jpg";
    const head = {
      id: "9",
      title: "Low Tide &amp; More",
      perma_url: `https://${HOST}/${kind}/low-tide/${token}`,
      image,
    };
    if (kind === "artist") {
      const urls = { overview: `https://${HOST}/artist/ada-songs/${token}` };
      return this.#listed("topSongs", ids, { name: "Ada &amp; Co", image, urls });
    }
    const [page, count] = [Number(query.get("p") ?? 1), Math.min(Number(query.get("n") ?? 10), PAGE_SONGS_MAX)];
    const more = { ...head, list_count: String(ids.length), more_info: { firstname: "Saavn", username: "saavn" } };
    return this.#listed("list", kind === "playlist" ? ids.slice((page - 1) * count, page * count) : ids, more);
  }

  #listed(name: string, ids: readonly string[], more: SongJson = {}): SiteAnswer {
    const songs = ids.flatMap((id) => this.songs.get(id) ?? []);
    return { json: songs.length === 0 && name === "songs" ? [] : { ...more, [name]: songs } };
  }

  #station(id: string | null): SiteAnswer {
    if (id !== "st/1" || !this.hasStations)
      return { json: { stationid: id, error: "No new song found for current radio." } };
    const songs = [...this.songs.values()].slice(1, 3);
    return { json: { ...Object.fromEntries(songs.map((song, index) => [index, { song }])), stationid: id } };
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
