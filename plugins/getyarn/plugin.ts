// Clips of getyarn.io: a page names the film of a clip, and that is what its tracks are known by. Plugin thread.

import {
  API_VERSION,
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

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const backend = host.backend("getyarn.io");
    host.addSource({
      ...sources[0],
      load: async (request): Promise<SourceAnswer | undefined> => {
        const id = CLIP.exec(request.identifier.trim())?.[1];
        if (id === undefined) return undefined;
        return { kind: "track", track: await backend.run(() => loadClip(id, request.signal, host.http)) };
      },
      resolve: async ({ track, reason, signal }) => {
        const id = CLIP.exec(track.uri ?? "")?.[1];
        // The film may have moved: its page says where to.
        const isStale = reason !== "start" && id !== undefined;
        return playableOf(isStale ? await backend.run(() => loadClip(id, signal, host.http)) : track);
      },
    });
  },
});

async function loadClip(id: string, signal: AbortSignal, http: HttpClient): Promise<SourceTrack> {
  const uri = `https://getyarn.io/yarn-clip/${id}`;
  const { videoUrl, title } = readClipPage(await http.text(uri, { signal }));
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
