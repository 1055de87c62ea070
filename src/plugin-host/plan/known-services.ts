// Services that the configurations of other nodes switch on and clients have links of: those that Tonearm has no source
// for, and under which keys all are asked for. Data. Main thread.

interface Service {
  /** As in the `sourceName` of other nodes' tracks. */
  readonly name: string;
  readonly title: string;
  readonly prefixes: readonly string[];
  /** Of its pages, none of which is audio. */
  readonly hosts: readonly string[];
}

/** A plugin of the operator's own may provide them. */
export const SERVICES_WITHOUT_SOURCE: readonly Service[] = [
  {
    name: "yandexmusic",
    title: "Yandex Music",
    prefixes: ["ymsearch:", "ymrec:"],
    hosts: ["ru", "com", "by", "kz", "uz"].map((country) => `music.yandex.${country}`),
  },
  {
    name: "vkmusic",
    title: "VK Music",
    prefixes: ["vksearch:", "vkrec:"],
    hosts: ["vk.com", "www.vk.com", "m.vk.com", "vk.ru", "www.vk.ru", "m.vk.ru"],
  },
  {
    name: "qobuz",
    title: "Qobuz",
    prefixes: ["qbsearch:", "qbisrc:", "qbrec:"],
    hosts: ["qobuz.com", "www.qobuz.com", "open.qobuz.com", "play.qobuz.com"],
  },
  {
    name: "pandora",
    title: "Pandora",
    prefixes: ["pdsearch:", "pdrec:"],
    hosts: ["pandora.com", "www.pandora.com"],
  },
  {
    name: "amazonmusic",
    title: "Amazon Music",
    prefixes: ["azsearch:"],
    hosts: ["com", "de", "fr", "es", "it", "in", "co.uk", "co.jp", "com.br", "com.mx", "ca", "com.au"].map(
      (country) => `music.amazon.${country}`,
    ),
  },
];

/** Names below `lavalink.server.sources`, and the sources that play their sites here. */
export const LAVALINK_NAMES: Readonly<Names> = { nico: "niconico" };

/** Sources of other nodes that are not sources here, and their sites, which `plugins.ytdlp.sites` decides on. */
export const SITES_OF_YTDLP: ReadonlyMap<string, string> = new Map([
  ["clypit", "clyp.it"],
  ["ocremix", "ocremix.org"],
  ["odysee", "odysee.com"],
  ["soundgasm", "soundgasm.net"],
]);

/** Hosts of pages, beside those that a source takes itself: nothing on them is audio. By the name of the source. */
export const FURTHER_PAGES: Readonly<Record<string, readonly string[]>> = {
  spotify: [
    ...["spotify.com", "www.spotify.com", "www.open.spotify.com", "play.spotify.com", "embed.spotify.com"],
    ...["podcasters.spotify.com", "creators.spotify.com"],
  ],
  tidal: ["tidal.link"],
  youtube: ["youtube-nocookie.com", "www.youtube-nocookie.com", "gaming.youtube.com", "tv.youtube.com"],
  soundcloud: ["soundcloud.app.goo.gl", "snd.sc"],
  twitch: ["player.twitch.tv"],
  vimeo: ["player.vimeo.com"],
  niconico: ["sp.nicovideo.jp", "embed.nicovideo.jp", "live.nicovideo.jp", "live2.nicovideo.jp", "sp.nico.ms"],
  mixcloud: ["player-widget.mixcloud.com"],
  tiktok: ["vm.tiktok.com", "vt.tiktok.com"],
  reddit: ["old.reddit.com", "new.reddit.com", "np.reddit.com", "sh.reddit.com", "i.reddit.com", "amp.reddit.com"],
};

/**
 * Keys of Lavalink's plugins below which each source has a flag, and the sources that these names stand for here; a
 * name that is not listed stands for itself.
 */
export const SOURCE_FLAGS: readonly { readonly path: readonly string[]; readonly names: Readonly<Names> }[] = [
  { path: ["lavasrc", "sources"], names: { flowerytts: "flowery-tts" } },
  { path: ["dunctebot", "sources"], names: { getyarn: "getyarn.io", tts: "speak" } },
];

/** Options of Lavalink's plugins that nothing here reads, below `plugins`. `source`: only where it is on. */
export const IGNORED_OPTIONS: readonly { readonly path: readonly string[]; readonly source?: string }[] = [
  ...Object.entries({
    spotify: ["countryCode", "resolveArtistsInSearch", "preferAnonymousToken"],
    deezer: ["masterDecryptionKey", "arl", "formats"],
    tidal: ["token"],
    jiosaavn: ["decryption"],
  }).flatMap(([source, names]) => names.map((name) => ({ path: ["lavasrc", source, name], source }))),
  ...["yandexmusic", "vkmusic", "qobuz", "youtube"].map((source) => ({ path: ["lavasrc", source], source })),
  { path: ["jiosaavn", "apiURL"] },
  { path: ["dunctebot", "tts"] },
  { path: ["dunctebot", "tumblr"] },
];

/** By name in relaxed spelling. */
type Names = Record<string, string>;
