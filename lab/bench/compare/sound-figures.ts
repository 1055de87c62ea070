// What was heard in a window, as figures. Pure.

import type { WindowSounds } from "../world.ts";
import type { Figures } from "./figures.ts";

const FRAMES_PER_SECOND = 50;
/** Of a player's packets, so many may lie on the other side of the window's two edges. */
const EDGE_PACKETS = 2;

/** Of any workload. */
export function soundFigures(sounds: WindowSounds): Figures {
  return {
    latenessMsP99: sounds.latenessMsP99,
    latenessMsMax: sounds.latenessMsMax,
    jitterMs: sounds.jitterMs,
    spacingMsP99: sounds.spacingMsP99,
    packetsMissing: missingByRtp(sounds),
    framesLeftOut: sounds.skippedFrames,
    packetsLost: sounds.lostPackets,
    silentFrames: sounds.silentFrames,
  };
}

/** Of one in which all players sound all the time: what is missing may also be known because fewer came than are due. */
export function dueFigures(sounds: WindowSounds, players: number): Figures {
  const packetsDue = Math.round(sounds.seconds * FRAMES_PER_SECOND) * players;
  const short = packetsDue - sounds.packets - EDGE_PACKETS * players;
  return { packetsDue, packetsMissing: Math.max(missingByRtp(sounds), short) };
}

function missingByRtp({ lostPackets, skippedFrames }: WindowSounds): number {
  return lostPackets + skippedFrames;
}
