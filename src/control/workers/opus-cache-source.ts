// Answers an audio worker that asks for an entry of the Opus cache, and notes what became of the answer. Main thread.

import type { OpusCacheCommand } from "../../bridge/commands.ts";
import type { WorkerEvent } from "../../bridge/events.ts";
import type { OpusCacheAnswer, OpusCacheEvent, OpusCacheRequest } from "../../bridge/opus-cache.ts";

/** Has the entries; opus-cache-folder.ts is the real one. */
export interface OpusCacheSource {
  /** What is to be written is dropped when `gone` fires. */
  answer(request: OpusCacheRequest, gone: AbortSignal): OpusCacheAnswer;
  onEvent(event: OpusCacheEvent): void;
}

/** The thread that asks. */
interface OpusCacheAsker {
  /** Without effect once the thread is gone. */
  send(answer: OpusCacheCommand): void;
  /** Fires when the thread is gone. */
  readonly gone: AbortSignal;
}

/** Handles an event about the cache; returns false for any other event. Without `cache` no thread asks. */
export function serveOpusCache(
  event: WorkerEvent,
  cache: OpusCacheSource | undefined,
  { send, gone }: OpusCacheAsker,
): boolean {
  if (event.type === "opusCacheWritten" || event.type === "opusCacheDamaged") cache?.onEvent(event);
  else if (event.type !== "opusCacheRequested") return false;
  else {
    const { key, reservedBytes, opusCacheId } = event;
    const answer = cache?.answer({ key, reservedBytes }, gone) ?? { kind: "none" };
    send({ type: "opusCache", opusCacheId, answer });
  }
  return true;
}
