// Sends what is due: walks over the outlets of all voice sessions and lets out every frame whose moment has come. When
// it is called is its thread's to decide (pacer-thread.ts), or a timer's where everything runs in one thread
// (local-pacer.ts). Pacer thread.

import { LATENESS_BOUNDS_MS } from "../../bridge/events.ts";
import type { Clock } from "../../lib/clock.ts";
import { Histogram } from "../../lib/histogram.ts";
import type { Sockets } from "../../network/sockets.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { RING_FRAMES } from "./frame-ring.ts";
import { Outlet, reasonOf } from "./outlet.ts";
import type { OpenOutlet, OutletId, PacerCommand, PacerEvent } from "./pacer-messages.ts";

/** How often a worker is told how late its packets are. */
const REPORT_MS = 500;
/** All that a ring holds has left by then. */
const GRACE_MS = 2 * RING_FRAMES * FRAME_MS;

/** One worker's end, as the pacer sees it. */
interface Tenant {
  readonly outlets: Map<OutletId, Outlet>;
  readonly lateness: Histogram;
  readonly send: (event: PacerEvent) => void;
  reportedAtMs: number;
}

export interface PacerOptions {
  /** Of its thread. */
  readonly clock: Clock;
  readonly sockets: Sockets;
  /** Added to the clock, it gives the time in which frames are due. */
  readonly offsetMs: number;
}

/** What one worker says. */
export interface PacerDesk {
  execute(command: PacerCommand): void;
  /** The worker is gone: what it has put into its rings still leaves. */
  leave(): void;
}

/** One for the node, or one for each worker of a simulation. Throws nothing: what an outlet throws ends that outlet. */
export class Pacer {
  readonly #options: PacerOptions;
  readonly #tenants = new Set<Tenant>();
  /** All outlets of all tenants, in one row to walk over. */
  #outlets: { readonly outlet: Outlet; readonly tenant: Tenant }[] = [];
  #joiningCount = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
  }

  /** Answers are awaited from sockets. */
  get isJoining(): boolean {
    return this.#joiningCount > 0;
  }

  get hasOutlets(): boolean {
    return this.#outlets.length > 0;
  }

  /** Another worker. */
  serve(send: (event: PacerEvent) => void): PacerDesk {
    const lateness = new Histogram({ widthMs: 0.25, buckets: 400 });
    const tenant: Tenant = { outlets: new Map(), lateness, send, reportedAtMs: this.#options.clock.now() };
    this.#tenants.add(tenant);
    return { execute: (command) => this.#execute(tenant, command), leave: () => this.#dismiss(tenant) };
  }

  /** Sends all that is due; returns when the next frame will be, in the time of frames, Infinity without one. */
  run(): number {
    const { clock, offsetMs } = this.#options;
    let nowMs = clock.now() + offsetMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { outlet, tenant } of this.#outlets) {
      // Several when it is late: they follow each other at once, listeners' buffers even it out.
      while (outlet.dueMs <= nowMs) {
        const dueMs = outlet.sendNext(nowMs);
        nowMs = clock.now() + offsetMs;
        if (dueMs !== undefined) tenant.lateness.add(nowMs - dueMs);
      }
      nextMs = Math.min(nextMs, outlet.dueMs);
    }
    this.#report(nowMs - offsetMs);
    return nextMs;
  }

  /** Closes everything. */
  close(): void {
    for (const { outlet } of this.#outlets) outlet.close();
    this.#outlets = [];
    this.#tenants.clear();
  }

  #execute(tenant: Tenant, command: PacerCommand): void {
    if (command.type === "wake") return;
    const { outletId } = command;
    if (command.type === "open") {
      this.#open(tenant, command);
      return;
    }
    const outlet = tenant.outlets.get(outletId);
    if (command.type === "start") outlet?.start(command.key, command.rtp);
    else if (command.type === "rekey") outlet?.rekey(command.key);
    else this.#close(tenant, outletId);
  }

  #open(tenant: Tenant, open: OpenOutlet): void {
    const { clock, sockets } = this.#options;
    const { outletId } = open;
    let outlet: Outlet;
    try {
      outlet = new Outlet({ open, socket: sockets.createUdp(), clock, send: tenant.send });
    } catch (error) {
      tenant.send({ type: "unreachable", outletId, reason: reasonOf(error) });
      return;
    }
    tenant.outlets.set(outletId, outlet);
    this.#outlets.push({ outlet, tenant });
    this.#joiningCount += 1;
    void outlet.discover().finally(() => {
      this.#joiningCount -= 1;
    });
  }

  #close(tenant: Tenant, outletId: OutletId): void {
    const outlet = tenant.outlets.get(outletId);
    if (outlet === undefined) return;
    outlet.close();
    tenant.outlets.delete(outletId);
    this.#outlets = this.#outlets.filter((entry) => entry.outlet !== outlet);
  }

  /** What lies ready is heard to its end, so that those whose worker is lost miss as little as can be. */
  #dismiss(tenant: Tenant): void {
    this.#tenants.delete(tenant);
    this.#options.clock.after(GRACE_MS, () => {
      for (const outletId of [...tenant.outlets.keys()]) this.#close(tenant, outletId);
    });
  }

  #report(nowMs: number): void {
    for (const tenant of this.#tenants) {
      if (nowMs - tenant.reportedAtMs < REPORT_MS) continue;
      tenant.reportedAtMs = nowMs;
      const { lateness, send } = tenant;
      if (lateness.max === 0) continue;
      send({
        type: "lateness",
        lateness: {
          latenessMsP50: lateness.quantile(0.5),
          latenessMsP99: lateness.quantile(0.99),
          latenessMsMax: lateness.max,
          latenessCounts: lateness.classCounts(LATENESS_BOUNDS_MS),
          latenessMsSum: lateness.sumMs,
        },
      });
      lateness.clear();
    }
  }
}
