// The spotify plugin: links, searches and recommendations of Spotify, whose tracks are played from other sites. Plugin
// thread; what it stands on is put together here.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { IsrcIndex } from "../reading/isrc-index.ts";
import { EmbedPages } from "./embed-pages.ts";
import { filledIn } from "./filled-in.ts";
import { SpotifyLoader } from "./loader.ts";
import { SPOTIFY_MANIFEST } from "./manifest.ts";
import { Pathfinder } from "./pathfinder.ts";
import { PlayerTokens } from "./player-tokens.ts";
import { ShortLinks } from "./short-links.ts";
import { SpotifySource } from "./source.ts";
import { WebApi } from "./web-api.ts";

const { name, version, config, aliases, sources, searchProviders } = SPOTIFY_MANIFEST;

export default definePlugin({
  name,
  version,
  apiVersion: API_VERSION,
  config,
  setup(host) {
    if (filledIn(host.options.spDc) !== undefined && !host.options.totp) {
      host.log.warn("plugins.spotify.spDc has no effect without a one-time password: set plugins.spotify.totp: true");
    }
    const pages = new EmbedPages(host);
    const pathfinder = new Pathfinder(host, new PlayerTokens(host, pages));
    const loader = new SpotifyLoader(host, { pages, pathfinder, webApi: new WebApi(host) });
    const source = new SpotifySource({ loader, shortLinks: new ShortLinks(host), isrcs: new IsrcIndex(host) });
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
    host.addSearchProvider({ ...searchProviders[0], search: (request) => source.search(request) });
  },
});
