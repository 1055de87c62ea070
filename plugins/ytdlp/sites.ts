// Hosts that the operator assigns to yt-dlp, the sources that they appear as, and the links that may be passed to the
// program: it makes connections itself, past the outbound guard. Main thread (claims) and plugin thread.

/** In front of a link or a search that is meant for yt-dlp, whatever its site. */
export const PREFIX = "ytdl:";
/** Each is a backend, of which a plugin can have 64. */
const SITES_MAX = 60;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
/** Names inside private networks; so is a name without a dot. */
const OWN_NAME = /(?:^|\.)(?:local|localhost|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

export interface Sites {
  /** The site itself and all names below it: `vimeo.com`. */
  readonly names: readonly string[];
  /** `*` is among them: every link. */
  readonly isAll: boolean;
  /** Entries that are not hosts. */
  readonly wrong: readonly string[];
}

/** A source that stands for some of the sites, or for all. */
export interface BridgedSource {
  readonly name: string;
  readonly sites: Sites;
  readonly prefixes?: readonly string[];
  readonly hosts: readonly string[];
  /** Precedes its tracks' identifiers in the addresses of their pages. */
  readonly pages?: string | undefined;
  /** All hosts of a site with a separate source, whichever the operator has chosen. Undefined: any page. */
  readonly ownHosts?: readonly string[] | undefined;
}

/**
 * Sites for which Lavalink, or a widespread plugin, has a separate source name: tracks get the same source name here,
 * and clients check for these names before they send a link.
 */
const NAMED_SITES: readonly { name: string; hosts: readonly string[]; pages?: string }[] = [
  { name: "vimeo", hosts: ["vimeo.com"], pages: "https://vimeo.com/" },
  { name: "niconico", hosts: ["nicovideo.jp", "nico.ms"], pages: "https://www.nicovideo.jp/watch/" },
  { name: "mixcloud", hosts: ["mixcloud.com"] },
  { name: "tiktok", hosts: ["tiktok.com"] },
  { name: "reddit", hosts: ["reddit.com", "redd.it"] },
];

/** Reads the option `sites`: hosts, also written as links or as `*.example.org`, and `*`. */
export function readSites(written: readonly string[]): Sites {
  const names = new Set<string>();
  const wrong: string[] = [];
  let isAll = false;
  for (const text of written) {
    const name = hostOf(text.trim());
    if (text.trim() === "*") isAll = true;
    else if (name === undefined || names.size >= SITES_MAX) wrong.push(text);
    else names.add(name);
  }
  return { names: [...names], isAll, wrong };
}

/** All sources that the node has through yt-dlp, given the option `sites`; the one that takes the rest is the last. */
export function sourcesOf(sites: Sites): readonly BridgedSource[] {
  const named = NAMED_SITES.flatMap(({ hosts, ...site }) => {
    const names = sites.isAll ? hosts : hosts.filter((host) => sites.names.includes(host));
    return names.length === 0
      ? []
      : [{ ...site, sites: { names, isAll: false, wrong: [] }, hosts: namesOf(names), ownHosts: hosts }];
  });
  const taken = new Set(named.flatMap((source) => source.sites.names));
  const rest = sites.names.filter((name) => !taken.has(name));
  const prefixes = sites.isAll ? [PREFIX, "http://", "https://"] : [PREFIX];
  return [...named, { name: "ytdlp", sites, prefixes, hosts: namesOf(rest) }];
}

/** The site of the option that `host` is, or is below of. */
export function siteOf(host: string, { names }: Pick<Sites, "names">): string | undefined {
  return names.find((name) => host === name || (!isAddress(name) && host.endsWith(`.${name}`)));
}

/** A name in public DNS; not an address, which may be that of a machine of the operator. */
export function isPublicName(host: string): boolean {
  return NAME.test(host) && host.includes(".") && !isAddress(host) && !OWN_NAME.test(host);
}

/** With all below them. */
function namesOf(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => (isAddress(name) ? [name] : [name, `*.${name}`]));
}

function hostOf(text: string): string | undefined {
  const [, host = ""] = /^(?:https?:\/\/)?(?:\*\.|www\.)?([^/?#@:]+)(?:\/.*)?$/i.exec(text) ?? [];
  try {
    const { hostname } = new URL(`http://${host}`);
    return NAME.test(hostname) ? hostname : undefined;
  } catch {
    return undefined;
  }
}

/** As URL writes it, only an IPv4 address ends in digits. */
function isAddress(host: string): boolean {
  return /(?:^|\.)\d+$/.test(host);
}
