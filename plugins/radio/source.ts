// Radio stations from radio-browser.info, a free directory that listeners keep: searched by name, then by tag, and
// played from the station's own stream. Plugin thread.

import {
  type LoadRequest,
  type OptionValues,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { StationDirectory } from "./directory.ts";
import type { RADIO_MANIFEST } from "./manifest.ts";
import { isPlaylistFile, readStations, type Station, stationTrack, stationUuidOf, webLinkOf } from "./station.ts";

const SEARCH_PREFIX = "rbsearch:";
const QUERY_LENGTH_MAX = 200;
const STATIONS = { ttlMs: 10 * 60_000, entriesMax: 1000 };

type RadioOptions = OptionValues<typeof RADIO_MANIFEST.config>;

export class RadioSource {
  readonly #host: PluginHost<RadioOptions>;
  readonly #directory: StationDirectory;

  constructor(host: PluginHost<RadioOptions>, random: () => number = Math.random) {
    this.#host = host;
    const { country, servers } = host.options;
    if (country !== "" && !/^[a-z]{2}$/i.test(country)) throw new Error("country: expected two letters, such as DE");
    this.#directory = new StationDirectory({ host, servers, random });
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    if (identifier.startsWith(SEARCH_PREFIX))
      return this.#search(identifier.slice(SEARCH_PREFIX.length).trim(), signal);
    const uuid = identifier.startsWith("radio:") ? stationUuidOf(identifier) : undefined;
    if (uuid === undefined) return undefined;
    const station = await this.#station(uuid, signal);
    return station === undefined ? { kind: "empty" } : { kind: "track", track: stationTrack(station) };
  }

  async resolve({ track, reason, mustAskSite, signal }: ResolveRequest): Promise<Playable> {
    const uuid = stationUuidOf(track.identifier);
    if (uuid === undefined) throw new SourceError("invalid", "the track names no station of radio-browser");
    const known = reason === "start" ? this.#known().get(uuid) : undefined;
    const lastUrl = mustAskSite ? undefined : webLinkOf(track.uri);
    const streamUrl = known?.streamUrl ?? (await this.#streamUrl(uuid, { lastUrl, signal }));
    if (reason === "start") this.#countClick(uuid);
    return isPlaylistFile(streamUrl) ? { kind: "reference", identifier: streamUrl } : { kind: "link", url: streamUrl };
  }

  async #search(text: string, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    const { searchEnabled, tag } = this.#host.options;
    if (!searchEnabled) return undefined;
    if (text === "") return { kind: "empty" };
    const nameQuery = text.slice(0, QUERY_LENGTH_MAX);
    const byName = await this.#find({ name: nameQuery, tag: tag === "" ? undefined : tag }, signal);
    // A search for `jazz` does not mean a station's name.
    const stations =
      byName.length > 0 || tag !== "" ? byName : await this.#find({ tag: nameQuery.toLowerCase() }, signal);
    return { kind: "search", tracks: stations.map(stationTrack) };
  }

  async #find(
    nameQuery: { readonly name?: string; readonly tag?: string | undefined },
    signal: AbortSignal,
  ): Promise<Station[]> {
    const { searchLimit, country, language } = this.#host.options;
    const query = {
      ...nameQuery,
      countrycode: country === "" ? undefined : country.toUpperCase(),
      language: language === "" ? undefined : language,
      limit: searchLimit,
      order: "clickcount",
      reverse: "true",
      hidebroken: "true",
    };
    const stations = readStations(await this.#directory.ask("/json/stations/search", query, signal)).slice(
      0,
      searchLimit,
    );
    for (const station of stations) this.#known().set(station.uuid, station);
    return stations;
  }

  /** Requests the station again; undefined if the directory does not know it. */
  async #station(uuid: string, signal: AbortSignal): Promise<Station | undefined> {
    const answer = await this.#directory.ask(`/json/stations/byuuid/${uuid}`, {}, signal);
    const station = readStations(answer).find((candidate) => candidate.uuid === uuid);
    if (station !== undefined) this.#known().set(uuid, station);
    return station;
  }

  async #streamUrl(
    uuid: string,
    options: { readonly lastUrl: string | undefined; readonly signal: AbortSignal },
  ): Promise<string> {
    const { lastUrl, signal } = options;
    try {
      const station = await this.#station(uuid, signal);
      if (station !== undefined) return station.streamUrl;
    } catch (error) {
      signal.throwIfAborted();
      // A station plays on while the directory is down: its stream is somewhere else.
      if (lastUrl === undefined) throw error;
      this.#host.count("directory-down");
      return lastUrl;
    }
    throw new SourceError("not-found", "This track is not available: radio-browser no longer has the station");
  }

  /** The directory asks for these reports; no caller waits for the result. */
  #countClick(uuid: string): void {
    if (!this.#host.options.countsClicks) return;
    this.#directory.ask(`/json/url/${uuid}`, {}, this.#host.signal).catch(() => this.#host.count("click-failed"));
  }

  #known() {
    return this.#host.cache<Station>("stations", STATIONS);
  }
}
