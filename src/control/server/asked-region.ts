// The voice region that the body of a request asks for, before a machine is chosen that reads all of it. Main thread; for
// placed-requests.ts.

import { parseJson } from "../../lib/json.ts";
import { voiceRegion } from "../players/voice-region.ts";

/** The member `voice` of an update, whose members are texts. A longer one names no region. */
const VOICE = /"voice"\s*:\s*(\{[^{}]{0,4096}\})/;

/** Undefined: the body names no voice server, or cannot be read, which is for others to say. Never throws. */
export function askedRegion(body: string): string | undefined {
  const [, voice] = VOICE.exec(body) ?? [];
  const endpoint = voice === undefined ? undefined : endpointOf(voice);
  return typeof endpoint === "string" ? (voiceRegion(endpoint) ?? undefined) : undefined;
}

function endpointOf(voice: string): unknown {
  try {
    const tree = parseJson(voice);
    return typeof tree === "object" && tree !== null && "endpoint" in tree ? tree.endpoint : undefined;
  } catch {
    return undefined; // the route answers that
  }
}
