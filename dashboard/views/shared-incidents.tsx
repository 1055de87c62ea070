// The times that several players were interrupted at once, one row each. In the browser.

import type { SharedIncidentJson } from "../../src/control/protocol/node-load-json.ts";
import { dateAndTime, duration, wholeNumber } from "../state/format.ts";
import { HeadRow, WideTable } from "./pieces.tsx";

/** Newest first. */
export function SharedIncidents({ incidents }: { readonly incidents: readonly SharedIncidentJson[] }) {
  return (
    <section>
      <h2>Interruptions of several players</h2>
      {incidents.length === 0 ? (
        <p class="none">No audio thread has stood still.</p>
      ) : (
        <>
          <p class="prose">An audio thread or the whole machine stood still, and all of these players lost frames.</p>
          <WideTable label="Interruptions of several players, newest first">
            <HeadRow names={["When", "For", "Players", "Frames lost"]} />
            <tbody>
              {incidents.map(({ start, length, players, framesLost }) => (
                <tr key={start}>
                  <th scope="row">{dateAndTime(start)}</th>
                  <td class="number">{duration(length)}</td>
                  <td class="number">{wholeNumber(players)}</td>
                  <td class="number">{wholeNumber(framesLost)}</td>
                </tr>
              ))}
            </tbody>
          </WideTable>
        </>
      )}
    </section>
  );
}
