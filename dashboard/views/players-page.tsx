// All players: what each plays, and first of all which of them stutter. In the browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { counted, wholeNumber } from "../state/format.ts";
import { PAGE_ROWS, type PageRoute } from "../state/page-route.ts";
import { AllMachinesChoice, MissingMachines } from "./all-machines.tsx";
import { useMovingPositions } from "./moving-positions.ts";
import type { PageProps } from "./page-props.ts";
import { PageTitle } from "./pieces.tsx";
import { PlayerTable } from "./player-table.tsx";

/** So long after the last letter the node is asked. */
const TYPING_MS = 250;

type PlayersRoute = Extract<PageRoute, { page: "players" }>;

/** The page that opens first. */
export function PlayersPage(props: PageProps & { readonly route: PlayersRoute }) {
  const { known, route, go } = props;
  const container = useRef<HTMLElement>(null);
  useMovingPositions(container, props);
  const { total = 0, matching = 0 } = known.latest?.players ?? {};
  const { allMachines = false } = route;
  const troubled = known.lines.filter(({ trouble }) => trouble !== "").length;
  return (
    <section ref={container}>
      <PageTitle>Players</PageTitle>
      <search class="tools">
        <FilterBox route={route} go={go} />
        <label class="check">
          <input
            type="checkbox"
            checked={route.onlyTrouble}
            onChange={(event) => go({ ...route, onlyTrouble: event.currentTarget.checked, number: 1 })}
          />
          Only with trouble
        </label>
        <AllMachinesChoice
          latest={known.latest}
          isChosen={allMachines}
          choose={(isChosen) => go({ ...route, allMachines: isChosen, number: 1 })}
        />
        <span class="quiet">
          {matching === total ? counted(total, "player") : `${wholeNumber(matching)} of ${counted(total, "player")}`}
          {troubled > 0 && (
            <>
              , <strong>{wholeNumber(troubled)} with trouble here</strong>
            </>
          )}
        </span>
      </search>
      {allMachines && <MissingMachines latest={known.latest} />}
      {known.lines.length === 0 ? (
        <p class="none">{emptyText(route, total)}</p>
      ) : (
        <PlayerTable lines={known.lines} allMachines={allMachines} />
      )}
      <Paging route={route} matching={matching} shown={known.lines.length} go={go} />
    </section>
  );
}

function FilterBox({ route, go }: { readonly route: PlayersRoute; readonly go: PageProps["go"] }) {
  const [text, setText] = useState(route.filter);
  const asked = useRef(route);
  asked.current = route;
  useEffect(() => setText(route.filter), [route.filter]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== asked.current.filter) go({ ...asked.current, filter: text, number: 1 });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      Filter
      <input
        type="search"
        maxLength={100}
        placeholder="title, link, guild, bot …"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

interface PagingProps {
  readonly route: PlayersRoute;
  readonly matching: number;
  readonly shown: number;
  readonly go: PageProps["go"];
}

function Paging({ route, matching, shown, go }: PagingProps) {
  const pages = Math.max(1, Math.ceil(matching / PAGE_ROWS));
  if (pages === 1 && route.number === 1) return null;
  const first = (route.number - 1) * PAGE_ROWS + 1;
  return (
    <nav class="paging" aria-label="Pages of players">
      <button type="button" disabled={route.number <= 1} onClick={() => go({ ...route, number: route.number - 1 })}>
        Previous {PAGE_ROWS}
      </button>
      <span>
        {shown === 0 ? "None" : `${wholeNumber(first)} to ${wholeNumber(first + shown - 1)}`} of {wholeNumber(matching)}
      </span>
      <button type="button" disabled={route.number >= pages} onClick={() => go({ ...route, number: route.number + 1 })}>
        Next {PAGE_ROWS}
      </button>
    </nav>
  );
}

function emptyText({ filter, onlyTrouble, allMachines }: PlayersRoute, total: number): string {
  if (total === 0 && allMachines) return "There is no player: no bot has joined a voice channel with these machines.";
  if (total === 0) return "There is no player: no bot has joined a voice channel with this node.";
  if (onlyTrouble) return "No player has stuttered within the last ten minutes.";
  return filter === "" ? "There are no more players." : "No player matches in title, link, guild, bot or requester.";
}
