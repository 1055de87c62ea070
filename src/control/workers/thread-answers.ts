// Answers what a thread itself asks of the main thread, the same for audio workers and the probe thread: an address
// to send from, a link to play from, or an entry of the Opus cache. Main thread.

import type { AnswerCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import { type LinkSource, serveLinks } from "./link-source.ts";
import { type OpusCacheSource, serveOpusCache } from "./opus-cache-source.ts";
import { type RouteSource, serveRoutes } from "./route-source.ts";

/** Who answers the requests of threads. */
export interface Answerers {
  /** Undefined where the settings have no routing: threads ask for no address then. */
  readonly routes?: RouteSource | undefined;
  /** Undefined: no track of a site can be played or probed. */
  readonly links?: LinkSource | undefined;
  /** Undefined where the settings have no cache: no thread asks for its entries then. */
  readonly opusCache?: OpusCacheSource | undefined;
}

/** The thread that asks. */
interface AskingThread {
  /** Without effect once the thread is gone. */
  send(answer: AnswerCommand): void;
  /** Fires when the thread is gone. */
  readonly gone: AbortSignal;
}

/** Handles an event that requests something or reports the result of an answer; returns false for any other event. */
export function answerThread(event: WorkerEvent, answerers: Answerers, thread: AskingThread): boolean {
  const { routes, links, opusCache } = answerers;
  const send = (answer: AnswerCommand) => thread.send(answer);
  return (
    serveRoutes(event, routes, send) ||
    serveLinks(event, links, thread) ||
    serveOpusCache(event, opusCache, { send, gone: thread.gone })
  );
}
