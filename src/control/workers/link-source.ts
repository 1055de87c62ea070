// Answers a thread that wants a link to a site's track: the same for audio workers and the probe thread. What the
// source takes long for is no answer any more once the thread is gone. Main thread; how links are used:
// docs/internals/links.md.

import type { LinkCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import type { LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";
import { onAbort } from "../../lib/on-abort.ts";

/** Knows where the tracks of sites are to be had for now. */
export interface LinkSource {
  /**
   * A link; for another reason than `start` one made anew. Rejects with a NodeError that says why there is none. Who
   * asked waits for 20 s; `signal` fires when its thread is gone.
   */
  link(request: LinkRequest, options: { readonly signal: AbortSignal }): Promise<PlayableLink>;
}

/** Who asks. */
interface LinkAsker {
  /** Without effect once the thread is gone: another in its place counts its wishes anew. */
  send(answer: LinkCommand): void;
  /** Fires when it is gone. */
  readonly gone: AbortSignal;
}

/** Deals with an event about links; false: it is about something else. Without `links` there are none. */
export function serveLinks(event: WorkerEvent, links: LinkSource | undefined, asker: LinkAsker): boolean {
  if (event.type !== "linkRequested") return false;
  const { type: _type, linkId, ...request } = event;
  void answer(request, links, asker).then((given) => {
    if (!asker.gone.aborted) asker.send({ ...given, linkId });
  });
  return true;
}

type Given = LinkCommand extends infer Command
  ? Command extends LinkCommand
    ? Omit<Command, "linkId">
    : never
  : never;

/** Never rejects. */
async function answer(request: LinkRequest, links: LinkSource | undefined, { gone }: LinkAsker): Promise<Given> {
  const abort = new AbortController();
  const stopListening = onAbort(gone, () => abort.abort(gone.reason));
  try {
    if (links === undefined) throw noSourceError(request.track.sourceName);
    return { type: "link", link: await links.link(request, { signal: abort.signal }) };
  } catch (error) {
    return { type: "linkError", error: toWireError(error) };
  } finally {
    stopListening();
  }
}

function noSourceError(sourceName: string): NodeError {
  const message = `asking for a link to play from: there is no source "${sourceName.slice(0, 64)}" here that has any`;
  return new NodeError("source-unavailable", message);
}
