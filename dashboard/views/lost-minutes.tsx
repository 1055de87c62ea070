// When a player lost frames: a bar for each minute of the last hour that has some. In the browser.

import type { PlayerDiagnosisJson } from "../../src/control/protocol/player-diagnosis-json.ts";
import { counted, timeOfDay } from "../state/format.ts";
import { barsOf } from "../state/lost-minutes.ts";

const [WIDTH, HEIGHT] = [1000, 40];

interface LostMinutesProps {
  readonly minutes: PlayerDiagnosisJson["frames"]["lostMinutes"];
  /** Epoch milliseconds of the node. */
  readonly nowMs: number;
}

/** Nothing for a player that lost none within the hour. */
export function LostMinutes({ minutes, nowMs }: LostMinutesProps) {
  const { bars, worst, startMs, total } = barsOf(minutes, nowMs);
  if (worst === undefined) return null;
  const text = `${counted(total, "frame")} lost in the last hour, most at ${timeOfDay(worst.time)}: ${worst.lost}`;
  return (
    <figure class="lost-minutes">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={text}>
        <line class="axis" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        {bars.map(({ time, start, width, height }) => (
          <rect
            key={time}
            class="over"
            x={start * WIDTH}
            width={width * WIDTH}
            y={HEIGHT - height * HEIGHT}
            height={height * HEIGHT}
          />
        ))}
      </svg>
      <figcaption>
        <span>{timeOfDay(startMs)}</span>
        <span>{text}</span>
        <span>{timeOfDay(nowMs)}</span>
      </figcaption>
    </figure>
  );
}
