// A route planner for tests of the threads that use it: assigns given addresses, in rotation or each until it fails, or
// a requested one where it is free; leaves out those reported as failing, and records its requests and reports.

import { NodeError } from "../../src/errors.ts";
import type { OutgoingRoutesOptions } from "../../src/network/outgoing-routes.ts";

type Report = Parameters<OutgoingRoutesOptions["send"]>[0];

export class FakeRoutePlanner {
  readonly asked: (readonly number[])[] = [];
  readonly reports: Report[] = [];
  readonly #addresses: readonly string[];
  readonly #choice: "rotating" | "first";
  #next = 0;

  constructor(addresses: readonly string[], choice: "rotating" | "first" = "rotating") {
    this.#addresses = addresses;
    this.#choice = choice;
  }

  /** `count` addresses of 127.16.0.0/16 from `127.16.0.1` on, all of which Linux lets a test send from. */
  static loopback(count: number, choice: "rotating" | "first" = "rotating"): FakeRoutePlanner {
    const at = (index: number): string => `127.16.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    return new FakeRoutePlanner(
      Array.from({ length: count }, (_, index) => at(index)),
      choice,
    );
  }

  readonly requestRoute: OutgoingRoutesOptions["requestRoute"] = async (families, preferred) => {
    this.asked.push(families);
    const fitting = this.#addresses.filter((address) => families.includes(address.includes(":") ? 6 : 4));
    if (fitting.length === 0) return undefined;
    const free = fitting.filter((address) => !this.reports.some((report) => report.address === address));
    if (free.length === 0) throw new NodeError("routes-exhausted", "every address is failing");
    if (preferred !== undefined && free.includes(preferred)) return preferred;
    return this.#choice === "first" ? free[0] : free[this.#next++ % free.length];
  };

  readonly send: OutgoingRoutesOptions["send"] = (report) => {
    this.reports.push(report);
  };

  get failed(): string[] {
    return this.reports.map(({ address }) => address);
  }
}
