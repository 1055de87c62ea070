// The choice between the machine that the page is connected to and all of its cluster, and which machines are missing in
// what is shown. In the browser.

import type { StateMessage } from "../../src/control/dashboard/live-messages.ts";
import { Badge, Untrusted } from "./pieces.tsx";

interface ChoiceProps {
  readonly latest: StateMessage | null;
  readonly isChosen: boolean;
  choose(isChosen: boolean): void;
}

/** Nothing without a cluster. */
export function AllMachinesChoice({ latest, isChosen, choose }: ChoiceProps) {
  if (latest === null || latest.cluster.status.kind === "disabled") return null;
  return (
    <label class="check">
      <input type="checkbox" checked={isChosen} onChange={(event) => choose(event.currentTarget.checked)} />
      All machines
    </label>
  );
}

/** Nothing while all have answered. */
export function MissingMachines({ latest }: { readonly latest: StateMessage | null }) {
  if (latest === null) return null;
  if (latest.machines === null) return <p class="quiet">Asking the other machines…</p>;
  const silent = latest.machines.filter(({ playing, goneSinceMs }) => playing === null && goneSinceMs === null);
  if (silent.length === 0) return null;
  return (
    <p>
      <Badge mood="bad">missing here</Badge>{" "}
      {silent.map(({ id, name, troubles }, index) => (
        <span key={id}>
          {index > 0 && "; "}
          <Untrusted text={name} /> {troubles.join(", ")}
        </span>
      ))}
    </p>
  );
}
