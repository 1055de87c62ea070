// All machines of the cluster: which of them is unwell and why, and what each has to do. In the browser.

import type { MachineRow } from "../../src/control/dashboard/live-messages.ts";
import { bytes, counted, dateAndTime, duration, percent, wholeNumber } from "../state/format.ts";
import { writeRoute } from "../state/page-route.ts";
import type { PageProps } from "./page-props.ts";
import { Badge, HeadRow, type Mood, PageTitle, Untrusted, WideTable } from "./pieces.tsx";

const NAMES = [
  ...["Machine", "State", "Players", "Playing", "Load", "Processor", "Memory", "Up for", "Roles", "Regions", "Version"],
];
/** From here on newcomers go elsewhere. */
const [LOAD_WARN, LOAD_BAD] = [0.6, 0.85];

/** The page for a look at night: one row a machine, and all that is wrong in words. */
export function MachinesPage({ known }: PageProps) {
  const machines = known.latest?.machines ?? null;
  return (
    <section>
      <PageTitle>Machines</PageTitle>
      {machines === null ? (
        <p class="wait">Asking the other machines…</p>
      ) : (
        <>
          <Summary machines={machines} />
          <WideTable label="Machines">
            <HeadRow names={NAMES} />
            <tbody>
              {machines.map((machine) => (
                <Row key={machine.id} machine={machine} />
              ))}
            </tbody>
          </WideTable>
          <p>
            <a href={writeRoute({ page: "players", filter: "", onlyTrouble: false, number: 1, allMachines: true })}>
              Players of all machines
            </a>
            {", "}
            <a href={writeRoute({ page: "players", filter: "", onlyTrouble: true, number: 1, allMachines: true })}>
              those with trouble
            </a>
          </p>
        </>
      )}
    </section>
  );
}

function Summary({ machines }: { readonly machines: readonly MachineRow[] }) {
  const present = machines.filter(({ goneSinceMs }) => goneSinceMs === null);
  const unwell = present.filter(({ troubles }) => troubles.length > 0);
  const sum = (countOf: (machine: MachineRow) => number | null): number =>
    present.reduce((total, machine) => total + (countOf(machine) ?? 0), 0);
  const versions = new Set(present.map(({ version }) => version));
  return (
    <p>
      {unwell.length === 0 ? (
        <Badge mood="good">all {counted(present.length, "machine")} well</Badge>
      ) : (
        <Badge mood="bad">
          {unwell.length} of {counted(present.length, "machine")} unwell
        </Badge>
      )}{" "}
      {wholeNumber(sum(({ playing }) => playing))} playing of{" "}
      {counted(
        sum(({ players }) => players),
        "player",
      )}
      {versions.size > 1 && (
        <>
          {" "}
          <Badge mood="warn">{versions.size} versions</Badge>
        </>
      )}
    </p>
  );
}

function Row({ machine }: { readonly machine: MachineRow }) {
  const { name, isThis, players, playing, load, cpu, memoryBytes, uptimeMs, roles, regions, version } = machine;
  return (
    <tr class={machine.troubles.length > 0 ? "unwell" : ""}>
      <th scope="row">
        <Untrusted text={name} />
        {isThis && <div class="below">this one</div>}
      </th>
      <td>
        <State machine={machine} />
      </td>
      <td class="number">{players === null ? "–" : wholeNumber(players)}</td>
      <td class="number">{playing === null ? "–" : wholeNumber(playing)}</td>
      <td class="number">{load === null ? "–" : <Badge mood={moodOf(load)}>{percent(load)}</Badge>}</td>
      <td class="number">{cpu === null ? "–" : percent(cpu)}</td>
      <td class="number">{memoryBytes === null ? "–" : bytes(memoryBytes)}</td>
      <td class="number">{uptimeMs === null ? "–" : duration(uptimeMs)}</td>
      <td>{roles.join(", ")}</td>
      <td>
        <Untrusted text={regions.join(", ") || "–"} />
      </td>
      <td>
        <Untrusted text={version} />
      </td>
    </tr>
  );
}

function State({ machine }: { readonly machine: MachineRow }) {
  const { troubles, goneSinceMs, isDraining } = machine;
  if (goneSinceMs !== null) {
    return (
      <>
        <Badge mood="warn">gone</Badge>
        <div class="below">stopped or lost at {dateAndTime(goneSinceMs)}</div>
      </>
    );
  }
  return (
    <>
      {troubles.length > 0 ? <Badge mood="bad">unwell</Badge> : !isDraining && <Badge mood="good">well</Badge>}
      {isDraining && <Badge mood="warn">draining</Badge>}
      {troubles.map((trouble) => (
        <div key={trouble} class="prose">
          {trouble}
        </div>
      ))}
    </>
  );
}

function moodOf(load: number): Mood {
  if (load >= LOAD_BAD) return "bad";
  return load >= LOAD_WARN ? "warn" : "good";
}
