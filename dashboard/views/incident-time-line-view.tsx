// Why a player stuttered: its incidents on a line of time, and as a table with what each means. In the browser.

import type { SharedIncidentJson } from "../../src/control/protocol/node-load-json.ts";
import type { IncidentJson } from "../../src/control/protocol/player-diagnosis-json.ts";
import { counted, duration, timeOfDay, wholeNumber } from "../state/format.ts";
import { marksOf, othersIn, sinceIncidentMs, spanOf } from "../state/incident-time-line.ts";
import { CAUSES, REPAIRS } from "../state/words.ts";
import { Badge, HeadRow, WideTable } from "./pieces.tsx";

const WIDTH = 1000;

interface IncidentsProps {
  readonly incidents: readonly IncidentJson[];
  /** Those of several players at once. */
  readonly shared: readonly SharedIncidentJson[];
  /** Epoch milliseconds of the node. */
  readonly nowMs: number;
}

/** The incidents of one player, newest first. */
export function IncidentTimeLine({ incidents, shared, nowMs }: IncidentsProps) {
  return (
    <section>
      <h2>Why it stuttered</h2>
      {incidents.length === 0 ? (
        <p class="none">It has not stuttered.</p>
      ) : (
        <>
          <Line incidents={incidents} nowMs={nowMs} />
          <WideTable label="Incidents, newest first">
            <HeadRow names={["When", "Cause", "For", "Frames lost", "Repair", "Meaning"]} />
            <tbody>
              {incidents.map((incident) => (
                <tr key={incident.start}>
                  <td>{timeOfDay(incident.start)}</td>
                  <th scope="row">
                    <Badge mood={incident.isOver ? "warn" : "bad"}>{CAUSES[incident.cause].short}</Badge>
                  </th>
                  <td class="number">{incident.isOver ? duration(incident.length) : "ongoing"}</td>
                  <td class="number">{wholeNumber(incident.framesLost)}</td>
                  <td>{incident.repair === null ? "–" : REPAIRS[incident.repair]}</td>
                  <td class="prose">
                    {CAUSES[incident.cause].long} {togetherText(othersIn(incident, shared))}
                  </td>
                </tr>
              ))}
            </tbody>
          </WideTable>
        </>
      )}
    </section>
  );
}

function togetherText(others: number): string {
  return others === 0 ? "" : `${counted(others, "other player")} lost frames at the same time.`;
}

function Line({ incidents, nowMs }: Omit<IncidentsProps, "shared">) {
  const spanMs = spanOf(incidents, nowMs);
  const marks = marksOf(incidents, nowMs, spanMs);
  const [newest] = incidents;
  const since = newest === undefined ? 0 : sinceIncidentMs(newest, nowMs);
  const text = since === 0 ? "it stutters now" : `the last was ${duration(since)} ago`;
  return (
    <figure class="time-line">
      <svg viewBox={`0 0 ${WIDTH} 40`} preserveAspectRatio="none" role="img" aria-label={`Stutters, ${text}`}>
        <line class="axis" x1="0" x2={WIDTH} y1="39" y2="39" />
        {marks.map(({ incident, start, width }) => (
          <rect
            key={incident.start}
            class={incident.isOver ? "over" : "now"}
            x={start * WIDTH}
            width={width * WIDTH}
            y="4"
            height="35"
          />
        ))}
      </svg>
      <figcaption>
        <span>{timeOfDay(nowMs - spanMs)}</span>
        <span>{text}</span>
        <span>{timeOfDay(nowMs)}</span>
      </figcaption>
    </figure>
  );
}
