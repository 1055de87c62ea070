// A source of links as a worker sees it; a test chooses every answer and reads all requests.

import type { PlayableInput } from "../../src/bridge/playable-input.ts";
import type { LinkRequest, PlayableLink, SiteLink } from "../../src/bridge/playable-link.ts";

export const SITE_TRACK = { sourceName: "site", encoded: "QAAA", userData: { mood: "fine" } };
export const SITE_INPUT: PlayableInput = { kind: "site", track: SITE_TRACK };

/** A link that never expires, without a variant or headers. */
export function linkTo(url: string, changes: Partial<SiteLink> = {}): SiteLink {
  return {
    kind: "link",
    url,
    headers: {},
    container: undefined,
    expiresAtEpochMs: undefined,
    variant: undefined,
    rangeStep: undefined,
    isOwnServer: false,
    egress: "blocks",
    ...changes,
  };
}

export class ScriptedLinks {
  readonly requests: LinkRequest[] = [];
  readonly #script: (nth: number, request: LinkRequest) => PlayableLink | Error;

  /** @param script gets the number of earlier requests */
  constructor(script: (nth: number, request: LinkRequest) => PlayableLink | Error) {
    this.#script = script;
  }

  /** Why each was asked for, with the status where there was one. */
  get reasons(): string[] {
    return this.requests.map(({ reason, status }) => (status === undefined ? reason : `${reason} ${status}`));
  }

  readonly requestLink = async (request: LinkRequest): Promise<PlayableLink> => {
    const link = this.#script(this.requests.length, request);
    this.requests.push(request);
    if (link instanceof Error) throw link;
    return link;
  };
}
