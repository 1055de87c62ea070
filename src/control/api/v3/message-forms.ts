// The messages of the WebSocket in the form of v3: tracks as their encoded text under two names, reasons and severities
// in capitals (protocol-v4.md section 2.11). Main thread.

import type { TrackJson } from "../../../track/track-info.ts";
import { extensionEvent } from "../../protocol/extension-message.ts";
import type { EventMessage, OutgoingMessage } from "../../protocol/outgoing-message.ts";
import { v3Exception, v3Stats } from "./json-forms.ts";

export function v3Message(message: OutgoingMessage): object {
  switch (message.op) {
    case "event":
      return v3Event(message);
    case "extension":
      return extensionEvent(message);
    case "stats": {
      const { op, ...stats } = message;
      return { op, ...v3Stats(stats) };
    }
    default:
      return message;
  }
}

function v3Event(event: EventMessage): object {
  if (event.type === "WebSocketClosedEvent" || event.type === "FilterRemovedEvent") return event;
  const { op, type, guildId, track } = event;
  const start = { op, type, guildId, ...encodedTwice(track) };
  switch (event.type) {
    case "TrackStartEvent":
      return start;
    case "TrackEndEvent":
      return { ...start, reason: capitals(event.reason) };
    case "TrackExceptionEvent":
      return { ...start, exception: v3Exception(event.exception) };
    case "TrackStuckEvent":
      return { ...start, thresholdMs: event.thresholdMs };
  }
}

function encodedTwice({ encoded }: TrackJson): { readonly encodedTrack: string; readonly track: string } {
  return { encodedTrack: encoded, track: encoded };
}

/** `loadFailed` becomes `LOAD_FAILED`. */
function capitals(name: string): string {
  return name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
}
