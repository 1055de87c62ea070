// The health checks of the lab's balancer, as the HAProxy of docs/how-to/cluster.md has them: a machine that does not
// answer any more gets no connections, and those that it has are ended. Lab only.

import type { Balancer } from "./balancer.ts";

const EVERY_MS = 1000;
const ANSWER_MS_MAX = 2000;
const FAILURES_MAX = 3;

interface Target {
  readonly port: number;
  readonly url: string;
}

export class HealthChecks<Machine extends Target> {
  readonly #balancer: Balancer<Machine>;
  /** In a row, of each machine. */
  readonly #failures = new Map<Machine, number>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #asked = new Set<Machine>();

  /** Every machine of the balancer is taken for well until it fails. */
  constructor(balancer: Balancer<Machine>) {
    this.#balancer = balancer;
    this.#timers = balancer.machines.map((machine) => setInterval(() => void this.#check(machine), EVERY_MS));
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #check(machine: Machine): Promise<void> {
    if (this.#asked.has(machine)) return;
    this.#asked.add(machine);
    const isWell = await answers(machine.url);
    this.#asked.delete(machine);
    const before = this.#failures.get(machine) ?? 0;
    const failures = isWell ? 0 : before + 1;
    this.#failures.set(machine, failures);
    if (failures === FAILURES_MAX || (isWell && before >= FAILURES_MAX)) this.#choose();
    if (failures === FAILURES_MAX) this.#balancer.drop(machine);
  }

  #choose(): void {
    const well = this.#balancer.machines.filter((machine) => (this.#failures.get(machine) ?? 0) < FAILURES_MAX);
    this.#balancer.only(...well);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/version`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    await answer.arrayBuffer();
    // Any answer but an error of the machine; without the password it is 401.
    return answer.status < 500;
  } catch {
    return false;
  }
}
