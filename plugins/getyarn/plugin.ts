// Clips of getyarn.io: a page names the film of a clip, and that is what its tracks are known by. A client that may not
// play any address gets the film of the page, whatever its track says. Plugin thread.

import {
  API_VERSION,
  type Backend,
  definePlugin,
  type HttpClient,
  type Playable,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { readClipPage } from "./clip-page.ts";
import { GETYARN_MANIFEST } from "./manifest.ts";

const { name, version, config, sources } = GETYARN_MANIFEST;
const CLIP = /^(?:https?:\/\/)?(?:www\.)?getyarn\.io\/yarn-clip\/([\w-]{1,100})\/?(?:[?#].*)?$/;

const NO_PAGE =
  "the track names no clip of getyarn.io as its uri, and your key may not play other addresses; load the clip again";

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const parts = { backend: host.backend("getyarn.io"), http: host.http };
    host.addSource({
      ...sources[0],
      load: async (request): Promise<SourceAnswer | undefined> => {
        const id = CLIP.exec(request.identifier.trim())?.[1];
        if (id === undefined) return undefined;
        return { kind: "track", track: await loadClip(id, { ...parts, signal: request.signal }) };
      },
      resolve: async ({ track, reason, mustAskSite, signal }) => {
        const id = CLIP.exec(track.uri ?? "")?.[1];
        if (mustAskSite && id === undefined) throw new SourceError("unavailable", NO_PAGE);
        // The film may have moved: its page says where to.
        const isPageAsked = id !== undefined && (reason !== "start" || mustAskSite);
        return playableOf(isPageAsked ? await loadClip(id, { ...parts, signal }) : track);
      },
    });
  },
});

interface Loading {
  readonly backend: Backend;
  readonly http: HttpClient;
  readonly signal: AbortSignal;
}

async function loadClip(id: string, { backend, http, signal }: Loading): Promise<SourceTrack> {
  const uri = `https://getyarn.io/yarn-clip/${id}`;
  // A clip without a video says nothing about the site.
  const { videoUrl, title } = readClipPage(await backend.run(() => http.text(uri, { signal })));
  if (videoUrl === undefined) {
    throw new SourceError("changed", `the page ${uri} names no video; og:video:secure_url was expected`);
  }
  return { identifier: videoUrl, uri, title: title ?? id, author: "Unknown", isStream: false };
}

/** The identifier is the address of the clip's video. */
function playableOf({ identifier }: SourceTrack): Playable {
  if (!/^https?:\/\//i.test(identifier) || addressOf(identifier) === undefined) {
    throw new SourceError("invalid", "a track of getyarn.io must have the address of its video as its identifier");
  }
  return { kind: "link", url: identifier, variant: identifier };
}
