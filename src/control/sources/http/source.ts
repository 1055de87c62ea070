// The http source: any URL of an audio file, stream or playlist file. It takes identifiers that no other source takes
// and so comes last. Main thread; the probe thread opens the URL, through its outbound guard.

import type { PlayableInput, ProbeResult } from "../../../bridge/playable-input.ts";
import { NodeError } from "../../../errors.ts";
import { parseUrl } from "../../../lib/parse-url.ts";
import type { Track } from "../../../track/track.ts";
import { answerOfProbe, containerOf } from "../probed-track.ts";
import type { Prober, Source, SourceAnswer, SourceRequest } from "../source.ts";

const ICY_SCHEME = "icy://";

/** `http`, `https` and `icy` URLs. Their content is probed on the probe thread, never here. */
export class HttpSource implements Source {
  readonly name = "http";
  readonly #probe: Prober;

  constructor(probe: Prober) {
    this.#probe = probe;
  }

  isClaimed(identifier: string): boolean {
    return urlOf(identifier) !== undefined;
  }

  async load({ identifier, title, owner, signal }: SourceRequest): Promise<SourceAnswer | undefined> {
    const url = urlOf(identifier);
    if (url === undefined) return undefined;
    const result = await this.#probe({ kind: "http", url, container: undefined }, { owner, signal }).catch(feedOrThrow);
    // The podcasts know what to do with it.
    if (result === "feed") return { kind: "reference", identifier: `podcast:${url.split("#", 1)[0]}`, title };
    // A server must not be able to name files of this machine.
    if (result.kind === "reference" && !isOfWeb(result)) return { kind: "empty" };
    return answerOfProbe(result, { sourceName: this.name, identifier: url, title });
  }

  playableInput(track: Track): PlayableInput {
    const url = urlOf(track.info.identifier);
    if (url === undefined) throw new NodeError("source-unavailable", "an http track does not name an http URL");
    return { kind: "http", url, container: containerOf(track) };
  }
}

function isOfWeb({ input, alternatives = [] }: Extract<ProbeResult, { kind: "reference" }>): boolean {
  return input.kind === "http" && alternatives.every((other) => other.input.kind === "http");
}

function feedOrThrow(error: unknown): "feed" {
  if (error instanceof NodeError && error.code === "media-feed") return "feed";
  throw error;
}

/**
 * The URL that an identifier is, `icy://` turned into `http://`. Schemes are lower case, as in the published server.
 */
function urlOf(identifier: string): string | undefined {
  if (identifier.startsWith(ICY_SCHEME)) return urlOf(`http://${identifier.slice(ICY_SCHEME.length)}`);
  if (!identifier.startsWith("http://") && !identifier.startsWith("https://")) return undefined;
  return parseUrl(identifier) === undefined ? undefined : identifier;
}
