// Turns the audio received in a window into figures. Pure.

import type { WindowAudio } from "../world.ts";
import type { Figures } from "./figures.ts";

const FRAMES_PER_SECOND = 50;
/** Up to this many packets of a player may lie on the other side of the window's two edges. */
const EDGE_PACKETS = 2;

/** Figures of any workload. */
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

/**
 * Figures of a workload in which all players play all the time: missing packets also show as fewer packets than due.
 */
export function dueFigures(audio: WindowAudio, players: number): Figures {
  const packetsDue = Math.round(audio.seconds * FRAMES_PER_SECOND) * players;
  const short = packetsDue - audio.packets - EDGE_PACKETS * players;
  return { packetsDue, packetsMissing: Math.max(missingByRtp(audio), short) };
}

function missingByRtp({ lostPackets, skippedFrames }: WindowAudio): number {
  return lostPackets + skippedFrames;
}
