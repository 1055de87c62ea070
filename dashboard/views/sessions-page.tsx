// The clients: which bots are there, and which are away. In the browser.

import { wholeNumber } from "../state/format.ts";
import { writeRoute } from "../state/page-route.ts";
import { clientNameOf } from "../state/player-line.ts";
import type { PageProps } from "./page-props.ts";
import { Badge, HeadRow, PageTitle, Untrusted, WideTable } from "./pieces.tsx";

/** One row a client. */
export function SessionsPage({ known }: PageProps) {
  const sessions = known.latest?.sessions ?? [];
  return (
    <section>
      <PageTitle>Sessions</PageTitle>
      {sessions.length === 0 ? (
        <p class="none">No client is connected.</p>
      ) : (
        <WideTable label="Sessions">
          <HeadRow names={["Client", "State", "Bot", "Key", "Players", "Playing", "Session"]} />
          <tbody>
            {sessions.map((session) => (
              <tr key={session.id}>
                <th scope="row">
                  <Untrusted text={clientNameOf(session)} />
                </th>
                <td>
                  <Badge mood={session.isConnected ? "good" : "warn"}>
                    {session.isConnected ? "connected" : "away, may come back"}
                  </Badge>
                </td>
                <td class="id">{session.userId}</td>
                <td>{session.key === null ? "the password" : <Untrusted text={session.key} />}</td>
                <td class="number">
                  <a href={writeRoute({ page: "players", filter: session.id, onlyTrouble: false, number: 1 })}>
                    {wholeNumber(session.players)}
                    <span class="unseen"> players of session {session.id}</span>
                  </a>
                </td>
                <td class="number">{wholeNumber(session.playing)}</td>
                <td class="id">{session.id}</td>
              </tr>
            ))}
          </tbody>
        </WideTable>
      )}
    </section>
  );
}
