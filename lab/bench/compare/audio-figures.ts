// What was heard in a window, as figures. Pure.

import type { WindowAudio } from "../world.ts";
import type { Figures } from "./figures.ts";

const FRAMES_PER_SECOND = 50;
/** Of a player's packets, so many may lie on the other side of the window's two edges. */
const EDGE_PACKETS = 2;

/** Of any workload. */
export function audioFigures(audio: WindowAudio): Figures {
  return {
    latenessMsP99: audio.latenessMsP99,
    latenessMsMax: audio.latenessMsMax,
    jitterMs: audio.jitterMs,
    spacingMsP99: audio.spacingMsP99,
    packetsMissing: missingByRtp(audio),
    framesLeftOut: audio.skippedFrames,
    packetsLost: audio.lostPackets,
    silentFrames: audio.silentFrames,
  };
}

/** Of one in which all players sound all the time: what is missing may also be known because fewer came than are due. */
export function dueFigures(audio: WindowAudio, players: number): Figures {
  const packetsDue = Math.round(audio.seconds * FRAMES_PER_SECOND) * players;
  const short = packetsDue - audio.packets - EDGE_PACKETS * players;
  return { packetsDue, packetsMissing: Math.max(missingByRtp(audio), short) };
}

function missingByRtp({ lostPackets, skippedFrames }: WindowAudio): number {
  return lostPackets + skippedFrames;
}
