// The clients: which bots are there, and which are away. In the browser.

import type { SessionRow } from "../../src/control/dashboard/live-messages.ts";
import { dateAndTime, duration, wholeNumber } from "../state/format.ts";
import { type PageRoute, writeRoute } from "../state/page-route.ts";
import { clientNameOf } from "../state/player-line.ts";
import { AllMachinesChoice, MissingMachines } from "./all-machines.tsx";
import type { PageProps } from "./page-props.ts";
import { Badge, HeadRow, PageTitle, Untrusted, WideTable } from "./pieces.tsx";

type SessionsRoute = Extract<PageRoute, { page: "sessions" }>;

/** One row a client. */
export function SessionsPage({ known, route, go }: PageProps & { readonly route: SessionsRoute }) {
  const { allMachines = false } = route;
  const { sessions = [], atMs: nowMs = 0 } = known.latest ?? {};
  return (
    <section>
      <PageTitle>Sessions</PageTitle>
      <p class="tools">
        <AllMachinesChoice
          latest={known.latest}
          isChosen={allMachines}
          choose={(isChosen) => go({ ...route, allMachines: isChosen })}
        />
      </p>
      {allMachines && <MissingMachines latest={known.latest} />}
      {sessions.length === 0 ? (
        <p class="none">No client is connected.</p>
      ) : (
        <WideTable label="Sessions">
          <HeadRow names={["Client", "State", "Since", "From", "Bot", "Key", "Players", "Playing", "Session"]} />
          <tbody>
            {sessions.map((session) => (
              <tr key={session.id}>
                <th scope="row">
                  <Untrusted text={clientNameOf(session)} />
                  <div class="below">
                    <Untrusted text={session.connection?.userAgent ?? ""} />
                  </div>
                </th>
                <td>
                  <Badge mood={session.isConnected ? "good" : "warn"}>
                    {session.isConnected ? "connected" : "away, may come back"}
                  </Badge>
                </td>
                <td>{session.connection ? <Since {...session.connection} nowMs={nowMs} /> : "–"}</td>
                <td>
                  <Untrusted text={session.connection?.address ?? "–"} />
                  <div class="below">
                    <Untrusted text={forwardedText(session)} />
                  </div>
                </td>
                <td class="id">{session.userId}</td>
                <td>{session.key === null ? "the password" : <Untrusted text={session.key} />}</td>
                <td class="number">
                  <a
                    href={writeRoute({
                      page: "players",
                      filter: session.id,
                      onlyTrouble: false,
                      number: 1,
                      allMachines,
                    })}
                  >
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

type Connection = NonNullable<SessionRow["connection"]>;

/** When its connection was opened; a resumed session was there before. */
function Since({ sinceMs, isResumed, nowMs }: Connection & { readonly nowMs: number }) {
  return (
    <>
      {dateAndTime(sinceMs)}
      <div class="below">
        {duration(nowMs - sinceMs)} ago{isResumed && ", resumed"}
      </div>
    </>
  );
}

function forwardedText({ connection }: SessionRow): string {
  return connection?.forwardedFor ? `for ${connection.forwardedFor}` : "";
}
