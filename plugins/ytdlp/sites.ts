// Which hosts the operator leaves to yt-dlp, and which links may be handed to it at all: it makes connections of its
// own, past the outbound guard. Main thread (claims) and plugin thread.

import type { Claims } from "../../src/plugin-api/plugin.ts";

/** In front of a link or a search that is meant for yt-dlp, whatever its site. */
export const PREFIX = "ytdl:";
/** Each has a way of its own, and a plugin has 64 of them. */
const SITES_MAX = 60;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
/** Names that lead into somebody's own network; so does a name without a dot. */
const OWN_NAME = /(?:^|\.)(?:local|localhost|localdomain|internal|intranet|lan|home|corp|private|home\.arpa)$/;

export interface Sites {
  /** The site itself and all names below it: `vimeo.com`. */
  readonly names: readonly string[];
  /** `*` is among them: every link. */
  readonly isAll: boolean;
  /** What stands there and is no host. */
  readonly wrong: readonly string[];
}

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

/** What the source is asked for, given the option `sites`. */
export function claimsOfSites({ names, isAll }: Sites): Claims {
  const hosts = names.flatMap((name) => (isAddress(name) ? [name] : [name, `*.${name}`]));
  return { prefixes: isAll ? [PREFIX, "http://", "https://"] : [PREFIX], hosts };
}

/** The site of the option that `host` is, or is below of. */
export function siteOf(host: string, { names }: Sites): string | undefined {
  return names.find((name) => host === name || (!isAddress(name) && host.endsWith(`.${name}`)));
}

/** A name that everybody can look up; not the address of a machine, which may be one of ours. */
export function isPublicName(host: string): boolean {
  return NAME.test(host) && host.includes(".") && !isAddress(host) && !OWN_NAME.test(host);
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
