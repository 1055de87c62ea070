// Answers a thread that requests a link to a site's track, both audio workers and the probe thread. An answer that
// arrives after the thread is gone is dropped. Main thread; how links are used: docs/internals/links.md.

import type { LinkCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import type { LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import { toWireError } from "../../bridge/wire-error.ts";
import { NodeError } from "../../errors.ts";

/** Provides current links to the tracks of sites. */
export interface LinkSource {
  /**
   * Returns a link; for another reason than `start` a new one. Rejects with a NodeError that says why no link is
   * available. The thread waits for 20 s; `signal` fires when it is gone.
   */
  link(request: LinkRequest, options: { readonly signal: AbortSignal }): Promise<PlayableLink>;
}

/** The thread that requests a link. */
interface LinkAsker {
  /** Without effect once the thread is gone: its replacement numbers its requests from the start. */
  send(answer: LinkCommand): void;
  /** Fires when the thread is gone. */
  readonly gone: AbortSignal;
}

/** Handles an event about links; returns false for any other event. Without `links` every request fails. */
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
  const onGone = (): void => abort.abort(gone.reason);
  if (gone.aborted) onGone();
  gone.addEventListener("abort", onGone, { once: true });
  try {
    if (links === undefined) throw noSourceError(request.track.sourceName);
    return { type: "link", link: await links.link(request, { signal: abort.signal }) };
  } catch (error) {
    return { type: "linkError", error: toWireError(error) };
  } finally {
    gone.removeEventListener("abort", onGone);
  }
}

function noSourceError(sourceName: string): NodeError {
  const message = `asking for a link to play from: there is no source "${sourceName.slice(0, 64)}" here that has any`;
  return new NodeError("source-unavailable", message);
}
