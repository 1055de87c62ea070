// All that a run of the chaos lab needs: the fake Discord and a site, NATS servers, machines that reach them through
// proxies, and a balancer in front of the gateways, which checks their health. Lab only.

import { Balancer } from "../cluster/balancer.ts";
import { HealthChecks } from "../cluster/health-checks.ts";
import { type Machine, type MachinePlan, type MachineRole, Machines } from "../cluster/machines.ts";
import { NatsProxies } from "../cluster/nats-proxies.ts";
import { type NatsServer, NatsServers } from "../cluster/nats-servers.ts";
import { Surroundings } from "../restart/surroundings.ts";
import type { Subject } from "./schedule.ts";

export interface StageOptions {
  readonly gateways: number;
  readonly audio: number;
  /** Machines that do both. */
  readonly both: number;
  readonly natsServers: 1 | 3;
  readonly hasDave: boolean;
  /** Folder for the machines' log files. Default: none. */
  readonly logFolder?: string | undefined;
}

export interface Stage {
  readonly surroundings: Surroundings;
  readonly machines: readonly Machine[];
  readonly nats: readonly NatsServer[];
  /** Of each machine, by its name. */
  readonly proxies: ReadonlyMap<string, NatsProxies>;
  readonly balancer: Balancer<Machine>;
  readonly subjects: readonly Subject[];
  close(): Promise<void>;
}

/** Nothing is left when that fails. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const closing: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const part of closing.splice(0).reverse()) await part();
  };
  try {
    const surroundings = await Surroundings.start({ hasDave: options.hasDave });
    closing.push(() => surroundings.close());
    // A server that tells of the others would show a machine the way around its proxies.
    const args = options.natsServers === 3 ? ["--no_advertise"] : [];
    const natsServers = await NatsServers.start({ count: options.natsServers, args });
    closing.push(() => natsServers.close());
    const { servers: nats } = natsServers;
    const proxies = new Map<string, NatsProxies>();
    const plans: MachinePlan[] = [];
    for (const { name, role } of namesOf(options)) {
      const own = await NatsProxies.start(nats);
      closing.push(() => own.close());
      proxies.set(name, own);
      plans.push({ name, role, natsUrls: own.urls });
    }
    const machines = await Machines.start({ plans, logFolder: options.logFolder });
    closing.push(() => machines.close());
    const balancer = await Balancer.start(machines.all.filter(({ role }) => role !== "audio"));
    closing.push(() => balancer.close());
    const checks = new HealthChecks(balancer);
    closing.push(() => checks.close());
    const subjects: readonly Subject[] = [
      ...plans.map(({ name, role }) => ({ name, role })),
      ...nats.map(({ name }) => ({ name, role: "nats" as const })),
    ];
    return { surroundings, machines: machines.all, nats, proxies, balancer, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function namesOf({ gateways, audio, both }: StageOptions): readonly { name: string; role: MachineRole }[] {
  const some = (count: number, role: MachineRole, word: string): { name: string; role: MachineRole }[] =>
    Array.from({ length: count }, (_, index) => ({ name: `${word}-${index + 1}`, role }));
  return [...some(gateways, "gateway", "gateway"), ...some(audio, "audio", "audio"), ...some(both, "both", "machine")];
}
